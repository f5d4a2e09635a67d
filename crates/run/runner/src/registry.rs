//! How engines are known to the runner: their descriptions, and a worker's life with their lane
//! compiled in.

use std::path::PathBuf;

use iolab_engine::{DeviceFacts, Engine, EngineDescription, Lane, OpenError};
use iolab_options::Settings;
use iolab_recording::WorkerRecording;

use crate::calibration::LaneKind;
use crate::worker::{self, Task};

/// One engine: what it says of itself, and the code that runs a worker on it.
#[derive(Debug, Clone, Copy)]
pub struct EngineEntry {
    /// Its description.
    pub description: &'static EngineDescription,
    /// What a device named in a job is, for engines that open devices by themselves.
    pub device: fn(&str) -> Result<DeviceFacts, OpenError>,
    /// Files and block devices that the engine opens by its own options.
    pub opens: fn(&Settings) -> Vec<PathBuf>,
    /// Whether it overwrites them as a whole.
    pub remakes: fn(&Settings) -> bool,
    pub(crate) live: fn(&Task<'_>) -> WorkerRecording,
    pub(crate) lane: LaneKind,
}

impl EngineEntry {
    /// The entry of engine `E`.
    pub const fn of<E: Engine>() -> EngineEntry {
        let lane = LaneKind::of(E::Lane::SYNCHRONOUS, E::Lane::FUSES);
        EngineEntry {
            description: const { &E::DESCRIPTION },
            device: E::device,
            opens: E::opens,
            remakes: E::remakes,
            live: worker::live::<E>,
            lane,
        }
    }
}
