//! What `iolab bench` measures: a file of its own in a folder, or what the user named, which is
//! only read unless the user allows more.

use std::fs::{self, Metadata};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use iolab_activity::Failure;
use iolab_bench::MeasuredTarget;
use iolab_engine_nvme::{DeviceName, DevicePlace};
use iolab_observe::{DirectIo, direct_io_at};
use iolab_options::Settings;
use iolab_runner::Engines;
use tempfile::TempDir;

use crate::request::BenchRequest;

/// The largest block of a pattern: the target holds at least some of them, and ends with a whole
/// one.
const BLOCK_BYTES: u64 = 1 << 20;

/// MiB of the temporary file by default.
const FILE_MIB: u64 = 1024;
const QUICK_FILE_MIB: u64 = 256;

/// What is measured, and what must be undone afterwards.
pub(crate) struct Target {
    pub(crate) measured: MeasuredTarget,
    /// What may be overwritten, whatever it contains.
    pub(crate) allowed: Vec<PathBuf>,
    /// The folder of the temporary file, which is removed when this is dropped.
    _folder: Option<TempDir>,
}

/// What a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    File,
    Block,
}

impl Target {
    /// Examines what the user named; makes a folder for the temporary file if there will be one.
    pub(crate) fn choose(engines: Engines, request: &BenchRequest<'_>) -> Result<Target, Failure> {
        let path = Path::new(request.target);
        match fs::metadata(path) {
            Ok(metadata) => Target::on_path(engines, request, path, &metadata),
            Err(_) if request.target.contains("trtype") => Target::on_nvme(engines, request),
            Err(error) => Err(mistake(request, &error.to_string())),
        }
    }

    fn on_path(
        engines: Engines,
        request: &BenchRequest<'_>,
        path: &Path,
        metadata: &Metadata,
    ) -> Result<Target, Failure> {
        let kind = match metadata.file_type() {
            kind if kind.is_dir() => Kind::Folder,
            kind if kind.is_file() => Kind::File,
            kind if kind.is_block_device() => Kind::Block,
            _ => return Err(mistake(request, "not a folder, a file or a block device")),
        };
        let cannot = |error: std::io::Error| mistake(request, &error.to_string());
        let path = path.canonicalize().map_err(cannot)?;
        let wanted_bytes = request.size_bytes;
        let engine = best_engine(engines);
        let direct = direct_io_at(&path) == DirectIo::Works;
        if kind == Kind::Folder {
            let folder = tempfile::Builder::new().prefix("iolab-bench-").tempdir_in(&path).map_err(cannot)?;
            let file = folder.path().join("bench.0.0");
            let mib = if request.is_quick { QUICK_FILE_MIB } else { FILE_MIB };
            let measured = MeasuredTarget {
                target: request.target.to_owned(),
                what: "folder, with a temporary file".to_owned(),
                filename: file.display().to_string(),
                size_bytes: wanted_bytes.unwrap_or(mib << 20),
                engine,
                direct,
                writable: true,
                is_new_each_time: false,
            };
            // Without marks, the guard would not recognise iolab's own file.
            return Ok(Target { measured, allowed: vec![file], _folder: Some(folder) });
        }
        let length = length(&path).map_err(cannot)?;
        let size_bytes = wanted_bytes.unwrap_or(length).min(length) / BLOCK_BYTES * BLOCK_BYTES;
        if size_bytes == 0 {
            return Err(mistake(request, "too small: the patterns need at least 1 MiB"));
        }
        let measured = MeasuredTarget {
            target: request.target.to_owned(),
            what: if kind == Kind::Block { "block device" } else { "file" }.to_owned(),
            filename: path.display().to_string(),
            size_bytes,
            engine,
            direct,
            writable: is_named(&path, request.allowed),
            is_new_each_time: false,
        };
        Ok(Target { measured, allowed: request.allowed.to_owned(), _folder: None })
    }

    fn on_nvme(engines: Engines, request: &BenchRequest<'_>) -> Result<Target, Failure> {
        let device = DeviceName::parse(request.target).map_err(|error| mistake(request, &error.to_string()))?;
        let facts = engines.device("nvme", request.target, &Settings::default());
        let facts = facts.map_err(|error| {
            let text = format!("{}: {}", request.target, error.message);
            if error.is_refusal() { Failure::refused(text) } else { Failure::failed(text) }
        })?;
        let allows = |text: &PathBuf| DeviceName::parse(&text.to_string_lossy()).is_ok_and(|named| named == device);
        let is_embedded = matches!(device.place, DevicePlace::Embedded(_));
        let what = match device.place {
            DevicePlace::Embedded(_) => "virtual SSD inside this program",
            DevicePlace::Served(_) => "served virtual SSD",
            DevicePlace::VfioUser(_) => "NVMe device behind vfio-user, driven from user space",
            DevicePlace::Fabric(_) => "NVMe device behind a network, driven from user space",
            DevicePlace::Pcie(_) => "NVMe device, driven from user space",
        };
        let size_bytes = request.size_bytes.map_or(facts.size_bytes, |bytes| bytes.min(facts.size_bytes));
        let measured = MeasuredTarget {
            target: request.target.to_owned(),
            what: what.to_owned(),
            filename: request.target.to_owned(),
            size_bytes: size_bytes / BLOCK_BYTES * BLOCK_BYTES,
            engine: "nvme",
            direct: true,
            writable: is_embedded || request.allowed.iter().any(allows),
            is_new_each_time: is_embedded,
        };
        Ok(Target { measured, allowed: request.allowed.to_owned(), _folder: None })
    }
}

fn mistake(request: &BenchRequest<'_>, reason: &str) -> Failure {
    Failure::mistake(format!("{}: {reason}", request.target))
}

/// Whether the user named this path, links resolved.
fn is_named(path: &Path, allowed: &[PathBuf]) -> bool {
    allowed.iter().any(|named| named.canonicalize().is_ok_and(|named| named == path))
}

/// Bytes of a file or block device.
fn length(path: &Path) -> std::io::Result<u64> {
    use std::io::{Seek, SeekFrom};
    fs::File::open(path)?.seek(SeekFrom::End(0))
}

/// The best engine for files that this machine has; each is tried by a small job.
fn best_engine(engines: Engines) -> &'static str {
    ["io_uring", "libaio"].into_iter().find(|name| iolab_doctor::engine_works(engines, name)).unwrap_or("psync")
}
