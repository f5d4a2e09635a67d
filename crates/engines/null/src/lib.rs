//! The engines that touch no storage: `null` measures the laboratory itself, `cpuio` burns CPU
//! beside jobs that do I/O.

mod cpuio;
mod null;

pub use cpuio::{CPUIO_OPTIONS, Cpuio, CpuioLane};
pub use null::{NullEngine, NullLane};
