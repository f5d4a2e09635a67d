//! A fictitious machine, a set of engines, and the path from job text to plan for the tests.

use std::path::{Path, PathBuf};

use iolab_engine::{Capabilities, DeviceFacts, DeviceZones, EngineDescription, FileUse, OpenError};
use iolab_jobfile::{Diagnostic, JobSet};
use iolab_options::{Category, DefaultValue, OptionEntry, Settings, SupportStatus, ValueKind};
use iolab_plan::{Plan, ReplayFile, ReplayRules, ReplayShare, ReplaySurvey, WorkerPlan};
use iolab_resolve::{MachineFacts, Mode, Overrides, PathKind, ResolveRequest, Resolved, resolve};

mod text;

pub(crate) use text::jobs;

pub(crate) const GIB: u64 = 1 << 30;

/// Four CPUs, a disk of 8 GiB, an existing file of 1 GiB, a directory with two files.
pub(crate) struct Lab;

impl MachineFacts for Lab {
    fn at(&self, path: &Path) -> PathKind {
        match path.to_str().unwrap_or_default() {
            "/dev/disk" | "/dev/other" | "/dev/ram0" => PathKind::BlockDevice(8 * GIB),
            "/dev/zoned" => PathKind::BlockDevice(8 * GIB),
            "/dev/odd" => PathKind::BlockDevice(10_000),
            "/dev/char" => PathKind::CharacterDevice,
            "/data/big" => PathKind::File(GIB),
            "/data/small" => PathKind::File(100),
            "/data" | "/more" | "." => PathKind::Directory,
            _ => PathKind::Missing,
        }
    }
    fn files_below(&self, directory: &Path) -> Result<Vec<PathBuf>, String> {
        match directory.to_str() {
            Some("/data") => Ok(vec!["/data/big".into(), "/data/small".into()]),
            Some("/more") => Ok(Vec::new()),
            _ => Err("no such directory".into()),
        }
    }
    fn free_bytes(&self, _: &Path) -> Option<u64> {
        Some(3 * GIB)
    }
    fn cpus_online(&self) -> Vec<usize> {
        vec![0, 1, 2, 3]
    }
    fn huge_page_bytes(&self) -> u64 {
        2 << 20
    }
    fn zones(&self, path: &Path) -> Option<DeviceZones> {
        (path == Path::new("/dev/zoned")).then_some(DeviceZones { zone_bytes: 256 << 20, most_open: 14 })
    }
    fn device(&self, engine: &str, name: &str, _options: &Settings) -> Result<DeviceFacts, OpenError> {
        assert!(["drives", "exports"].contains(&engine), "{engine}");
        match name {
            "far://shelf" => Ok(DeviceFacts { size_bytes: GIB, block_bytes: 1 }),
            "bus=7 unit=1" => Ok(DeviceFacts { size_bytes: GIB, block_bytes: 4096 }),
            "bus=7 unit=2" => Err(OpenError { message: format!("{name}: somebody's"), errno: Some(1) }),
            _ => Err(OpenError { message: format!("{name}: there is no such drive"), errno: None }),
        }
    }
    fn survey(&self, paths: &[String], _rules: &ReplayRules) -> Result<ReplaySurvey, String> {
        if paths != ["trace.log"] {
            return Err(format!("{}: no such file", paths.join(":")));
        }
        let file = |number, path: &str, read_end_bytes| ReplayFile {
            number,
            path: path.to_owned(),
            size_bytes: Some(4096),
            end_bytes: 1 << 20,
            read_end_bytes,
            ..ReplayFile::default()
        };
        let share = |files: &[u32], most_in_flight| ReplayShare {
            files: files.to_vec(),
            operations: 30,
            bytes: [40_960, 81_920, 0],
            counts: [10, 10, 0, 10],
            longest_bytes: 8192,
            most_in_flight,
            span_ns: 7_000_000,
            ..ReplayShare::default()
        };
        Ok(ReplaySurvey {
            shares: vec![share(&[1], 1), share(&[1, 4], 5)],
            share_of_thread: vec![0, 1, 0],
            files: vec![file(1, "/var/lib/db/log", 0), file(4, "/srv/table", 65_536)],
            span_ns: 7_000_000,
            left_out: vec![("calls".to_owned(), 3)],
            ..ReplaySurvey::default()
        })
    }
    fn text(&self, path: &Path) -> Result<String, String> {
        match path.to_str() {
            Some("trace") => Ok("# us\n0\n250.5\n1000\n".into()),
            Some("at-once") => Ok("0\n0\n".into()),
            Some("odd") => Ok("0\n\n9\n8\n".into()),
            _ => Err(format!("{}: no such file", path.display())),
        }
    }
}

const fn engine(name: &'static str, capabilities: Capabilities, options: &'static [OptionEntry]) -> EngineDescription {
    EngineDescription { name, aliases: &[], summary: "", details: "", options, capabilities, trials: &[] }
}

const SYNCHRONOUS: Capabilities = Capabilities { synchronous: true, syncs: false, ..Capabilities::FILES };

static RING_OPTIONS: [OptionEntry; 4] = [
    OptionEntry { name: "fixedbufs", kind: ValueKind::Switch, default: DefaultValue::Automatic, ..OptionEntry::BLANK },
    OptionEntry {
        name: "hipri",
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        category: Category::Engine,
        ..OptionEntry::BLANK
    },
    OptionEntry { name: "sqthread_poll_cpu", kind: ValueKind::Integer { min: 0, max: 1024 }, ..OptionEntry::BLANK },
    OptionEntry {
        name: "uncached",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        status: SupportStatus::Refused("for tests"),
        ..OptionEntry::BLANK
    },
];

static PSYNC: EngineDescription = engine("psync", SYNCHRONOUS, &[]);
static MMAP: EngineDescription =
    engine("mmap", Capabilities { direct: false, trims: false, syncs: true, extends_files: false, ..SYNCHRONOUS }, &[]);
static LIBAIO: EngineDescription =
    engine("libaio", Capabilities { synchronous: false, ..SYNCHRONOUS }, &[OptionEntry::ATOMIC]);
static URING: EngineDescription = engine("io_uring", Capabilities { synchronous: false, ..SYNCHRONOUS }, &RING_OPTIONS);
static NULL: EngineDescription =
    engine("null", Capabilities { synchronous: false, files: FileUse::Nothing, ..SYNCHRONOUS }, &[]);
static CPUIO: EngineDescription =
    engine("cpuio", Capabilities { files: FileUse::Nothing, moves_data: false, ..SYNCHRONOUS }, &[]);
static FILECREATE: EngineDescription =
    engine("filecreate", Capabilities { files: FileUse::Paths, moves_data: false, ..SYNCHRONOUS }, &[]);

static DRIVES: EngineDescription =
    engine("drives", Capabilities { synchronous: false, files: FileUse::Devices, syncs: true, ..SYNCHRONOUS }, &[]);

static EXPORTS: EngineDescription = engine(
    "exports",
    Capabilities {
        synchronous: false,
        files: FileUse::DeviceNamedBy("address"),
        trims_ranges: true,
        syncs: true,
        ..SYNCHRONOUS
    },
    &[OptionEntry { name: "address", kind: ValueKind::Text, ..OptionEntry::BLANK }],
);

static OBJECTS: EngineDescription =
    engine("objects", Capabilities { synchronous: false, files: FileUse::Objects, ..SYNCHRONOUS }, &[]);

pub(crate) static ENGINES: [&EngineDescription; 10] =
    [&PSYNC, &MMAP, &LIBAIO, &URING, &NULL, &CPUIO, &FILECREATE, &DRIVES, &EXPORTS, &OBJECTS];

/// A request for a job set, with everything at its defaults.
pub(crate) fn request(jobs: &JobSet) -> ResolveRequest<'_> {
    ResolveRequest {
        jobs,
        options: iolab_jobfile::OPTIONS,
        engines: &ENGINES,
        machine: &Lab,
        mode: Mode::Iolab,
        overrides: Overrides { entropy: 0xfeed, ..Overrides::default() },
    }
}

/// Resolves text, which must be accepted.
pub(crate) fn resolved(text: &str, change: impl FnOnce(&mut ResolveRequest<'_>)) -> Resolved {
    let jobs = jobs(text);
    let mut request = request(&jobs);
    change(&mut request);
    resolve(&request).unwrap_or_else(|findings| panic!("{text}\nis refused: {findings:#?}"))
}

/// The plan of a text, which must be accepted.
pub(crate) fn plan(text: &str) -> Plan {
    resolved(text, |_| {}).plan
}

/// The only worker of a job given as options separated by blanks.
pub(crate) fn worker(options: &str) -> WorkerPlan {
    let mut plan = plan(&section(options));
    assert_eq!(plan.workers.len(), 1, "{options}");
    plan.workers.remove(0)
}

/// `a=1 b=2` as the text of a job named `job`.
pub(crate) fn section(options: &str) -> String {
    format!("[job]\n{}\n", options.replace(' ', "\n"))
}

/// The errors of a text, which must be refused.
pub(crate) fn refusals(text: &str, change: impl FnOnce(&mut ResolveRequest<'_>)) -> Vec<Diagnostic> {
    let jobs = jobs(text);
    let mut request = request(&jobs);
    change(&mut request);
    match resolve(&request) {
        Ok(_) => panic!("{text}\nis accepted"),
        Err(findings) => findings.into_iter().filter(|finding| finding.severity.is_error()).collect(),
    }
}
