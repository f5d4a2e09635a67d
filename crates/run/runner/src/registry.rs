//! The engines as the runner knows them: their descriptions, and the code of a worker compiled for
//! their lane.

use std::path::{Path, PathBuf};

use iolab_engine::{DeviceFacts, DeviceZones, Engine, EngineDescription, EngineLibrary, Lane, LaneRequest, OpenError};
use iolab_options::Settings;
use iolab_recording::WorkerRecording;

use crate::lane_opening::BoxedLane;
use crate::task::Task;
use crate::{choice, worker};

/// One engine: its description, and the code that runs a worker on it.
#[derive(Debug, Clone, Copy)]
pub struct EngineEntry {
    /// Its description.
    pub description: &'static EngineDescription,
    /// The facts about a device named in a job, for engines that open devices by themselves.
    pub device: fn(&str, &Settings) -> Result<DeviceFacts, OpenError>,
    /// How such a device is divided into zones.
    pub zones: fn(&str, &Settings) -> Result<Option<DeviceZones>, OpenError>,
    /// Files and block devices that the engine opens by its own options.
    pub opens: fn(&Settings) -> Vec<PathBuf>,
    /// Whether it overwrites them as a whole.
    pub remakes: fn(&Settings) -> bool,
    /// Why a job must not write to a device that the engine opens by itself, if it must not.
    pub overwrite_refusal: fn(&Path, &Settings, &str, &[PathBuf]) -> Option<String>,
    /// The library that it loads at run time.
    pub library: fn() -> Option<EngineLibrary>,
    /// Passes on what the user allows to be overwritten.
    pub allow_overwriting: fn(&[PathBuf]),
    pub(crate) live: fn(&Task<'_>) -> WorkerRecording,
    pub(crate) lane: LaneKind,
}

impl EngineEntry {
    /// The entry of an engine with loops compiled for its lane. Only its detailed jobs share loops
    /// with other engines.
    pub const fn fast<E: Engine>() -> EngineEntry {
        EngineEntry::living::<E>(|task| {
            if choice::is_detailed(task) {
                return boxed::<E>(task);
            }
            worker::live(task, &E::DESCRIPTION, E::open, worker::plain_loops)
        })
    }

    /// The entry of an engine whose operations take a microsecond or more. It shares its loops with
    /// all others of this kind.
    pub const fn slow<E: Engine>() -> EngineEntry {
        EngineEntry::living::<E>(boxed::<E>)
    }

    const fn living<E: Engine>(live: fn(&Task<'_>) -> WorkerRecording) -> EngineEntry {
        let lane = LaneKind::of(E::Lane::SYNCHRONOUS, E::Lane::FUSES);
        EngineEntry {
            description: const { &E::DESCRIPTION },
            device: E::device,
            zones: E::zones,
            opens: E::opens,
            remakes: E::remakes,
            overwrite_refusal: E::overwrite_refusal,
            library: E::library,
            allow_overwriting: E::allow_overwriting,
            live,
            lane,
        }
    }
}

/// Runs a worker on the lanes of an engine, which share loops with other engines.
fn boxed<E: Engine>(task: &Task<'_>) -> WorkerRecording {
    let open = |request: &LaneRequest<'_>| E::open(request).map(BoxedLane::new);
    worker::live(task, &E::DESCRIPTION, open, worker::all_loops)
}

/// The engines of a program.
#[derive(Debug, Clone, Copy)]
pub struct Engines(&'static [EngineEntry]);

impl Engines {
    /// The engines of this table.
    pub const fn new(entries: &'static [EngineEntry]) -> Engines {
        Engines(entries)
    }

    /// The table.
    pub fn entries(self) -> &'static [EngineEntry] {
        self.0
    }

    /// The description of each engine, in the order of the table.
    pub fn descriptions(self) -> Vec<&'static EngineDescription> {
        self.0.iter().map(|engine| engine.description).collect()
    }

    /// The description of the engine of this name or alias.
    pub fn description(self, name: &str) -> Option<&'static EngineDescription> {
        self.descriptions().into_iter().find(|engine| engine.name == name || engine.aliases.contains(&name))
    }

    /// The entry of this name.
    pub fn entry(self, name: &str) -> Option<&'static EngineEntry> {
        self.0.iter().find(|entry| entry.description.name == name)
    }

    /// The facts about the device that a job of this engine names, with these options.
    ///
    /// # Errors
    /// There is no such engine, or no such device.
    pub fn device(self, engine: &str, name: &str, options: &Settings) -> Result<DeviceFacts, OpenError> {
        let none = || OpenError { message: format!("there is no engine {engine}"), errno: None };
        (self.entry(engine).ok_or_else(none)?.device)(name, options)
    }

    /// How the device that a job of this engine names is divided into zones, if it is.
    ///
    /// # Errors
    /// There is no such device.
    pub fn zones(self, engine: &str, name: &str, options: &Settings) -> Result<Option<DeviceZones>, OpenError> {
        self.entry(engine).map_or(Ok(None), |entry| (entry.zones)(name, options))
    }
}

/// The properties of a lane that the loop knows at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneKind {
    Synchronous,
    Fusing,
    Plain,
}

impl LaneKind {
    pub(crate) const fn of(synchronous: bool, fuses: bool) -> LaneKind {
        match (synchronous, fuses) {
            (true, _) => LaneKind::Synchronous,
            (false, true) => LaneKind::Fusing,
            (false, false) => LaneKind::Plain,
        }
    }
}
