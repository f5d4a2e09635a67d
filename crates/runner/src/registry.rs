//! How engines are known to the runner: their descriptions, and a worker's life with their lane compiled in.

use iolab_engine::{Engine, EngineDescription, Lane};
use iolab_recording::WorkerRecording;

use crate::calibration::LaneKind;
use crate::worker::{self, Task};

/// One engine: what it says of itself, and the code that runs a worker on it.
#[derive(Debug, Clone, Copy)]
pub struct EngineEntry {
    /// Its description.
    pub description: &'static EngineDescription,
    pub(crate) live: fn(&Task<'_>) -> WorkerRecording,
    pub(crate) lane: LaneKind,
}

impl EngineEntry {
    /// The entry of engine `E`.
    pub const fn of<E: Engine>() -> EngineEntry {
        let lane = LaneKind::of(E::Lane::SYNCHRONOUS, E::Lane::FUSES);
        EngineEntry { description: const { &E::DESCRIPTION }, live: worker::live::<E>, lane }
    }
}
