//! The machine's answers to the job language and the resolver.

use std::io::Read;
use std::path::{Path, PathBuf};

use iolab_bounded_read::{ARRIVALS, JOB_FILE};
use iolab_engine::{DeviceFacts, DeviceZones, OpenError};
use iolab_jobfile::{KeywordFacts, Surroundings};
use iolab_observe::{FileKind, System, file_facts, free_bytes, page_bytes};
use iolab_options::{OptionEntry, Rank, Settings};
use iolab_order::Arrange;
use iolab_plan::{ReplayRules, ReplaySurvey};
use iolab_resolve::{MachineFacts, PathKind};
use iolab_runner::Engines;

/// This machine, with the engines of the program.
#[derive(Debug)]
pub struct ThisMachine {
    system: System,
    engines: Engines,
    rank: Option<Rank>,
}

impl ThisMachine {
    /// As it is now.
    pub fn new(engines: Engines) -> ThisMachine {
        ThisMachine { system: System::live(), engines, rank: None }
    }

    /// As this rank sees it.
    #[must_use]
    pub fn seen_by(self, rank: Option<&Rank>) -> ThisMachine {
        ThisMachine { rank: rank.cloned(), ..self }
    }
}

impl Surroundings for ThisMachine {
    fn include(&self, name: &str, from: &str) -> Result<String, String> {
        let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
        let tried = match iolab_bounded_read::read_text(Path::new(name), JOB_FILE) {
            Err(error) if error.is_missing() => iolab_bounded_read::read_text(&beside, JOB_FILE),
            tried => tried,
        };
        tried.map_err(|error| error.to_string())
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn keywords(&self) -> KeywordFacts {
        KeywordFacts {
            cpus: u64::from(self.system.cpus_online()),
            page_bytes: page_bytes(),
            memory_mib: self.system.memory_bytes() >> 20,
            rank: self.rank.clone().unwrap_or_else(|| Rank::only(iolab_observe::host_name())),
        }
    }

    fn engine_names(&self) -> Vec<&'static str> {
        self.engines.descriptions().iter().map(|engine| engine.name).collect()
    }

    fn engine_options(&self, engine: &str) -> Option<&'static [OptionEntry]> {
        self.engines.description(engine).map(|description| description.options)
    }
}

impl MachineFacts for ThisMachine {
    fn at(&self, path: &Path) -> PathKind {
        match file_facts(path) {
            Ok(facts) => match facts.kind {
                FileKind::Missing => PathKind::Missing,
                FileKind::Regular => PathKind::File(facts.size_bytes),
                FileKind::BlockDevice => PathKind::BlockDevice(facts.size_bytes),
                FileKind::Directory => PathKind::Directory,
                FileKind::CharacterDevice | FileKind::Other => PathKind::CharacterDevice,
            },
            Err(_) => PathKind::Missing,
        }
    }

    fn files_below(&self, directory: &Path) -> Result<Vec<PathBuf>, String> {
        let mut found = Vec::new();
        let mut folders = vec![directory.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            for entry in entries.flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(kind) if kind.is_file() => found.push(entry.path()),
                    _ => {}
                }
            }
        }
        found.arrange();
        Ok(found)
    }

    fn free_bytes(&self, path: &Path) -> Option<u64> {
        path.ancestors().find_map(|part| {
            let part = if part.as_os_str().is_empty() { Path::new(".") } else { part };
            free_bytes(part).ok()
        })
    }

    fn cpus_online(&self) -> Vec<usize> {
        iolab_process::cpus_allowed()
    }

    fn text(&self, path: &Path) -> Result<String, String> {
        iolab_bounded_read::read_text(path, ARRIVALS).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn content(&self, path: &Path, most: usize) -> Result<Vec<u8>, String> {
        let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = iolab_bounded_read::open(path).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes).map_err(|error| said(&error))?;
        if bytes.is_empty() { Err(said(&"the file is empty")) } else { Ok(bytes) }
    }

    fn survey(&self, paths: &[String], rules: &ReplayRules) -> Result<ReplaySurvey, String> {
        iolab_replay::survey(paths, rules)
    }

    fn device(&self, engine: &str, name: &str, options: &Settings) -> Result<DeviceFacts, OpenError> {
        self.engines.device(engine, name, options)
    }

    fn zones(&self, path: &Path) -> Option<DeviceZones> {
        let disk = self.system.zones(path)?;
        Some(DeviceZones { zone_bytes: disk.zone_bytes, most_open: disk.most_open })
    }

    fn zones_of_device(&self, engine: &str, name: &str, options: &Settings) -> Result<Option<DeviceZones>, OpenError> {
        self.engines.zones(engine, name, options)
    }

    fn huge_page_bytes(&self) -> u64 {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Hugepagesize:"));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        kib.unwrap_or(2048) << 10
    }
}

/// This machine, except for files and devices: each exists and is large.
pub(crate) struct ImaginedFiles<'a>(pub(crate) &'a ThisMachine);

/// Bytes of a file that is imagined.
const IMAGINED_BYTES: u64 = 1 << 42;

impl MachineFacts for ImaginedFiles<'_> {
    fn at(&self, path: &Path) -> PathKind {
        match self.0.at(path) {
            PathKind::Missing | PathKind::File(_) | PathKind::CharacterDevice => PathKind::File(IMAGINED_BYTES),
            other => other,
        }
    }

    fn files_below(&self, directory: &Path) -> Result<Vec<PathBuf>, String> {
        self.0.files_below(directory).or_else(|_| Ok(vec![directory.join("file")]))
    }

    fn free_bytes(&self, _path: &Path) -> Option<u64> {
        None
    }

    fn cpus_online(&self) -> Vec<usize> {
        self.0.cpus_online()
    }

    fn text(&self, path: &Path) -> Result<String, String> {
        self.0.text(path)
    }

    fn content(&self, path: &Path, most: usize) -> Result<Vec<u8>, String> {
        self.0.content(path, most)
    }

    fn survey(&self, paths: &[String], rules: &ReplayRules) -> Result<ReplaySurvey, String> {
        self.0.survey(paths, rules)
    }

    fn device(&self, engine: &str, name: &str, options: &Settings) -> Result<DeviceFacts, OpenError> {
        let imagined = DeviceFacts { size_bytes: IMAGINED_BYTES, block_bytes: 512 };
        self.0.device(engine, name, options).or(Ok(imagined))
    }

    fn zones(&self, path: &Path) -> Option<DeviceZones> {
        self.0.zones(path)
    }

    fn zones_of_device(&self, engine: &str, name: &str, options: &Settings) -> Result<Option<DeviceZones>, OpenError> {
        let imagined = DeviceZones { zone_bytes: 1 << 28, most_open: 0 };
        self.0.zones_of_device(engine, name, options).or(Ok(Some(imagined)))
    }

    fn huge_page_bytes(&self) -> u64 {
        self.0.huge_page_bytes()
    }
}
