//! The files of a worker, and how they are made, opened and removed.

use std::path::{Path, PathBuf};

use iolab_engine::FileUse;
use iolab_options::Direction;
use iolab_plan::{FadviseHint, Fallocate, FileLock, FileOrigin, FileSync, LayoutPlan, Pattern, WriteHint};

use crate::job::Job;
use crate::names::{Keywords, below, generate, split};
use crate::request::Mode;
use crate::{PathKind, ranks, readings};

/// Largest number of files of one worker: operations name files by 32-bit numbers, and plans list
/// them.
pub(crate) const MOST_FILES: u32 = 2_000_000;

/// One file before its size is determined.
pub(crate) struct Target {
    pub(crate) path: String,
    pub(crate) kind: PathKind,
    pub(crate) origin: FileOrigin,
    /// Operations on it cover whole blocks of this many bytes, if that is known.
    pub(crate) block_bytes: u32,
}

/// How files are made, opened, flushed and removed.
pub(crate) fn layout(job: &Job<'_>, pattern: &Pattern) -> LayoutPlan {
    let reads = pattern.directions.contains(&Direction::Read);
    let atomic = job.on("atomic");
    let pre_read = job.on("pre_read");
    LayoutPlan {
        direct: direct(job) || atomic,
        atomic,
        sync: match job.word("sync").as_str() {
            "sync" => FileSync::Sync,
            "dsync" => FileSync::Dsync,
            _ => FileSync::None,
        },
        lock: lock(job),
        // Data that was read beforehand must not be dropped again.
        invalidate: job.on("invalidate") && !pre_read,
        overwrite: job.on("overwrite") || reads,
        create_on_open: job.on("create_on_open"),
        create_serialize: job.on("create_serialize"),
        create_fsync: job.on("create_fsync"),
        create_only: job.on("create_only"),
        allow_create: job.on("allow_file_create"),
        // A missing folder is more often a mistake than intended; only fio mode creates it.
        make_folders: job.request.mode == Mode::Fio && job.on("allow_file_create"),
        fallocate: fallocate(job),
        fadvise: fadvise(job),
        write_hint: write_hint(job),
        pre_read,
        end_fsync: job.on("end_fsync"),
        fsync_on_close: job.on("fsync_on_close"),
        end_syncfs: job.on("end_syncfs"),
        unlink: job.on("unlink"),
        unlink_each_loop: job.on("unlink_each_loop"),
        allow_mounted_write: job.on("allow_mounted_write"),
        append: job.on("file_append") && pattern.directions.contains(&Direction::Write),
        fill_device: job.on("fill_device"),
        read_only: job.request.overrides.readonly,
        device_settings: crate::device_settings::device_settings(job),
    }
}

/// `lockfile`, which has a loop of its own.
fn lock(job: &Job<'_>) -> FileLock {
    const NEVER: [&str; 7] =
        ["verify", "flow", "follow", "latency_target", "serialize_overlap", "write_iolog", "read_iolog"];
    let lock = match job.word("lockfile").as_str() {
        "exclusive" => FileLock::Exclusive,
        "readwrite" => FileLock::ReadWrite,
        _ => return FileLock::None,
    };
    let is_off = |name: &'static str| matches!(job.written(name), "0" | "none");
    if let Some(name) = NEVER.into_iter().find(|name| job.has(name) && !is_off(name)) {
        job.error("lockfile", format!("lockfile does not work together with {name}"), "remove one of them");
    }
    lock
}

/// `direct` and `buffered` are inverse; the later one counts.
fn direct(job: &Job<'_>) -> bool {
    let (direct, buffered) = (job.given("direct", readings::flag), job.given("buffered", readings::flag));
    let winner = job.later("direct", "buffered");
    if let (Some(direct), Some(buffered), Some(winner)) = (direct, buffered, winner)
        && direct == buffered
    {
        let reason = format!(
            "direct={0} and buffered={0} contradict each other; {winner} is later, so it counts",
            u8::from(direct)
        );
        job.warn(winner, reason, "use only one of them");
    }
    match (winner, buffered) {
        (Some("buffered"), Some(buffered)) => !buffered,
        _ => job.on("direct"),
    }
}

fn fallocate(job: &Job<'_>) -> Fallocate {
    match job.word("fallocate").as_str() {
        "none" => Fallocate::None,
        "posix" => Fallocate::Posix,
        "keep" => Fallocate::Keep,
        "truncate" => Fallocate::Truncate,
        _ => Fallocate::Native,
    }
}

fn fadvise(job: &Job<'_>) -> FadviseHint {
    match job.word("fadvise_hint").as_str() {
        "none" => FadviseHint::None,
        "random" => FadviseHint::Random,
        "sequential" => FadviseHint::Sequential,
        "noreuse" => FadviseHint::Noreuse,
        _ => FadviseHint::ByPattern,
    }
}

fn write_hint(job: &Job<'_>) -> WriteHint {
    match job.given("write_hint", readings::word).as_deref() {
        Some("none") => WriteHint::None,
        Some("short") => WriteHint::Short,
        Some("medium") => WriteHint::Medium,
        Some("long") => WriteHint::Long,
        Some("extreme") => WriteHint::Extreme,
        _ => WriteHint::Unset,
    }
}

/// The worker's files, with their current state.
pub(crate) fn targets(job: &Job<'_>, job_name: &str, layout: &LayoutPlan) -> Vec<Target> {
    let client = job.request.overrides.client.as_deref().unwrap_or_default();
    let unique = if job.on("unique_filename") { client } else { "" };
    let directories = directories(job);
    let nrfiles = job.given("nrfiles", readings::count);
    let mut files = nrfiles.unwrap_or(1);
    let format = match job.text("filename_format") {
        Some(format) => format,
        None => job.text_or_default("filename_format") + &ranks::file_suffix(job),
    };
    if files > MOST_FILES {
        job.error("nrfiles", format!("nrfiles={files} is more than {MOST_FILES}"), "");
        files = 1;
    }
    if let FileUse::DeviceNamedBy(option) = job.engine.capabilities.files
        && let Some(device) = job.section.engine_settings.text(option)
    {
        if job.has("filename") {
            let reason = format!("{option} names the device, so filename has no effect");
            job.warn("filename", reason, "use only one of them");
        }
        return vec![own_device(job, device.to_owned(), FileOrigin::Named)];
    }
    if let Some(below) = job.text("opendir") {
        return opened_directory(job, &below);
    }
    if let Some(list) = job.text("filename") {
        let directory = directories.first().map(String::as_str);
        let mut names = named(job, &list, &|name| below(directory, unique, name), layout);
        if let Some(count) = nrfiles.filter(|count| *count > 0) {
            if count as usize > names.len() {
                job.warn(
                    "nrfiles",
                    format!("filename has only {}", iolab_text::counted(names.len() as u64, "name")),
                    "give as many names as nrfiles",
                );
            }
            names.truncate(count as usize);
        }
        return names;
    }
    // A job named after a device works on that device.
    if files == 1 && is_device(job, job_name) {
        return vec![target(job, job_name.to_owned(), FileOrigin::Named, layout)];
    }
    let directory = directories.get(job.clone as usize % directories.len().max(1)).map(String::as_str);
    let names = (0..files.clamp(1, MOST_FILES) as usize)
        .map(|file| generate(&format, &Keywords { job: job_name, clone: job.clone, file, client }));
    // A pattern given by the job can name devices: one of each number.
    if job.engine.capabilities.files.is_devices() && job.has("filename_format") {
        return names.map(|name| own_device(job, name, FileOrigin::Named)).collect();
    }
    let targets = names.map(|name| {
        let origin = FileOrigin::Generated { folder: folder_of(directory, &name) };
        target(job, below(directory, unique, &name), origin, layout)
    });
    targets.collect()
}

/// The folder that a generated name must stay below: the job's directory, otherwise the current
/// folder. An absolute name says itself which folder is meant.
fn folder_of(directory: Option<&str>, name: &str) -> PathBuf {
    match directory {
        Some(directory) => PathBuf::from(directory),
        None if name.starts_with('/') => Path::new(name).parent().unwrap_or(Path::new("/")).to_owned(),
        None => PathBuf::new(),
    }
}

fn is_device(job: &Job<'_>, path: &str) -> bool {
    job.engine.capabilities.files == FileUse::Descriptors
        && matches!(job.request.machine.at(Path::new(path)), PathKind::BlockDevice(_) | PathKind::CharacterDevice)
}

fn directories(job: &Job<'_>) -> Vec<String> {
    let directories = split(&job.text("directory").unwrap_or_default());
    for directory in &directories {
        let is_there = || job.request.machine.at(Path::new(directory)) == PathKind::Directory;
        if !job.request.overrides.only_reads_jobs && !is_there() {
            job.error(
                "directory",
                format!("{directory} is not a directory"),
                "create it first, or name an existing directory",
            );
        }
    }
    directories
}

/// The notation of a list in SPDK's own form here, where a colon separates names; `None` for any
/// other list.
fn in_this_form(list: &str) -> Option<String> {
    let words: Option<Vec<String>> = list
        .split_ascii_whitespace()
        .map(|word| {
            let (key, value) = word.split_once(':')?;
            let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphabetic());
            is_key.then(|| format!("{key}={}", value.replace(':', ".")))
        })
        .collect();
    let words = words?;
    words.iter().any(|word| word.to_ascii_lowercase().starts_with("trtype=")).then(|| words.join(" "))
}

fn named(job: &Job<'_>, list: &str, place: &dyn Fn(&str) -> String, layout: &LayoutPlan) -> Vec<Target> {
    if job.engine.capabilities.files.is_devices()
        && let Some(right) = in_this_form(list)
    {
        let reason = "in filename, `:` separates names, so this is not read as one device";
        job.error(
            "filename",
            reason.to_owned(),
            &format!("write '--filename={right}' (`=` after keys, `.` in the address)"),
        );
        return Vec::new();
    }
    let names = split(list);
    if names.is_empty() {
        job.error("filename", "filename is empty", "give a path, or several separated by ':'");
    }
    if names.iter().any(|name| name == "-") {
        job.error("filename", "standard input and output cannot be used as a file", "name a file or device");
    }
    // The names of an engine's own devices are not paths.
    let are_paths = !job.engine.capabilities.files.is_devices();
    let path = |name: String| if are_paths { place(&name) } else { name };
    names.into_iter().map(|name| target(job, path(name), FileOrigin::Named, layout)).collect()
}

fn opened_directory(job: &Job<'_>, directory: &str) -> Vec<Target> {
    let paths = match job.request.machine.files_below(Path::new(directory)) {
        Ok(paths) => paths,
        Err(reason) => {
            job.error("opendir", format!("cannot list {directory}: {reason}"), "name an existing directory");
            return Vec::new();
        }
    };
    if paths.is_empty() {
        job.error("opendir", format!("{directory} contains no files"), "name a directory with files, or use nrfiles");
    }
    let kind = |path: &PathBuf| job.request.machine.at(path);
    let each = paths.iter().map(|path| (path, kind(path)));
    each.map(|(path, kind)| Target {
        path: path.to_string_lossy().into_owned(),
        kind,
        origin: FileOrigin::Found,
        block_bytes: 1,
    })
    .collect()
}

/// A device that the engine opens by itself: the engine reports its size.
fn own_device(job: &Job<'_>, path: String, origin: FileOrigin) -> Target {
    let at = match job.engine.capabilities.files {
        FileUse::DeviceNamedBy(option) if !job.has("filename") || job.section.engine_settings.has(option) => option,
        _ => "filename",
    };
    if matches!(origin, FileOrigin::Generated { .. }) {
        job.error(at, format!("engine {} needs the name of a device", job.engine.name), &format!("give {at}="));
        return Target { path, kind: PathKind::Missing, origin, block_bytes: 1 };
    }
    match job.request.machine.device(job.engine.name, &path, &job.section.engine_settings) {
        Ok(facts) => {
            let kind = PathKind::BlockDevice(facts.size_bytes);
            Target { path, kind, origin, block_bytes: facts.block_bytes.max(1) }
        }
        Err(error) => {
            match error.is_refusal() {
                true => job.refuse(at, error.message),
                false => job.error(at, error.message, ""),
            }
            Target { path, kind: PathKind::Missing, origin, block_bytes: 1 }
        }
    }
}

fn target(job: &Job<'_>, path: String, origin: FileOrigin, layout: &LayoutPlan) -> Target {
    match job.engine.capabilities.files {
        FileUse::Descriptors => {}
        FileUse::Devices | FileUse::DeviceNamedBy(_) => return own_device(job, path, origin),
        FileUse::Paths | FileUse::Objects | FileUse::Nothing => {
            return Target { path, kind: PathKind::Missing, origin, block_bytes: 1 };
        }
    }
    let kind = job.request.machine.at(Path::new(&path));
    let at = if job.has("filename") { "filename" } else { "directory" };
    match kind {
        PathKind::Directory => {
            job.error(at, format!("{path} is a directory"), "name a file in it, or use directory=");
        }
        PathKind::Missing if !layout.allow_create => {
            job.error(
                "allow_file_create",
                format!("{path} does not exist, and allow_file_create=0 forbids creating it"),
                "",
            );
        }
        PathKind::Missing if path.starts_with("/dev/") => {
            job.refuse_unless_fio(
                at,
                format!("there is no device {path}"),
                "iolab does not create regular files below /dev",
            );
        }
        _ => {}
    }
    Target { path, kind, origin, block_bytes: 1 }
}
