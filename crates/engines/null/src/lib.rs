//! The engines that touch no storage: `null` measures the laboratory itself, `cpuio` burns CPU and
//! `exec` runs a program beside jobs that do I/O.

mod cpuio;
mod exec;
mod null;

pub use cpuio::{CPUIO_OPTIONS, Cpuio, CpuioLane};
pub use exec::{EXEC_OPTIONS, Exec, ExecLane};
pub use null::{NullEngine, NullLane};
