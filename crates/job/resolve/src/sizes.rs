//! Which bytes of each file a worker may touch, and how many it moves in one pass.
//!
//! The rules are those of fio's file setup. `size` is divided among the files; without it a file is
//! used as it is. `filesize` fixes the files and leaves `size` as the amount of I/O. Percentages
//! refer to the existing size (or, for new files, to the planned one) and are rounded down to a
//! block.

use std::path::{Path, PathBuf};

use iolab_engine::FileUse;
use iolab_options::{Direction, SizeSpec};
use iolab_plan::{FileOrigin, FilePlan, LayoutPlan, Pattern};

use crate::blocks::Blocks;
use crate::files::Target;
use crate::job::Job;
use crate::request::Mode;
use crate::seeds::{Purpose, between, derive};
use crate::{PathKind, ranks, readings, zones};

/// "No end", if nothing limits a file: far above any device, with room for sums.
const ENDLESS: u64 = 1 << 62;

/// The files with their extents, and the amount of one pass.
pub(crate) struct Extents {
    pub(crate) files: Vec<FilePlan>,
    pub(crate) io_bytes: u64,
}

/// The job's size options.
struct Wanted {
    size: Option<u64>,
    size_percent: Option<u32>,
    io_bytes: Option<u64>,
    io_percent: Option<u32>,
    file_range: Option<(u64, u64)>,
    offset: SizeSpec,
    increment: SizeSpec,
    /// How many parts of `offset_increment` come before this worker's.
    increments: u64,
    align: Option<u64>,
    min_block: u64,
    append: bool,
    /// Nothing is stored or moved: sizes have no meaning.
    sizeless: bool,
}

/// Determines the size of every file.
pub(crate) fn resolve(
    job: &Job<'_>,
    pattern: &Pattern,
    blocks: &Blocks,
    layout: &LayoutPlan,
    targets: Vec<Target>,
) -> Extents {
    let mut wanted = wanted(job, blocks, layout);
    fill(job, layout, &targets, &mut wanted);
    if !check_known(job, &wanted, &targets) {
        return Extents { files: Vec::new(), io_bytes: 0 };
    }
    let count = targets.len() as u64;
    let share = wanted.size.unwrap_or(0) / count.max(1);
    let mut extra = if wanted.file_range.is_none() {
        (wanted.size.unwrap_or(0) - share * count) / wanted.min_block.max(1)
    } else {
        0
    };
    // Files that are only written need no data, but get their length (and, by `fallocate`, their
    // space) beforehand: writing into existing space has another cost than growing a file. An
    // engine that cannot extend a file (a mapping) always needs it whole.
    let writes_on = layout.fill_device && !pattern.directions.contains(&Direction::Read);
    let grows = job.engine.capabilities.extends_files;
    let laid_out = !grows || (!layout.create_on_open && !layout.append && !writes_on);
    check_whole_blocks(job, blocks, &targets);
    let mut files = Vec::with_capacity(targets.len());
    let mut total = 0u64;
    for (index, target) in targets.into_iter().enumerate() {
        let given = share + if extra > 0 { wanted.min_block } else { 0 };
        extra = extra.saturating_sub(1);
        let extent = extent(job, &wanted, &target, given, index as u64);
        let extent = zones::whole(job, job.zone_bytes.get(), &target.path, extent);
        total = total.saturating_add(wanted.io_percent.map_or(extent.1, |percent| percent_of(extent.1, percent)));
        files.push(file_plan(job, target, extent.0, extent.1, laid_out));
    }
    check_blocks(job, &wanted, &files, total);
    let pass = wanted.size.filter(|size| *size > 0 && *size <= total).unwrap_or(total);
    Extents { files, io_bytes: wanted.io_bytes.filter(|bytes| *bytes > 0).unwrap_or(pass) }
}

/// Regular files whose bytes must exist before the job starts are laid out; devices are used as
/// they are.
fn file_plan(job: &Job<'_>, target: Target, start: u64, length: u64, laid_out: bool) -> FilePlan {
    let regular = job.engine.capabilities.files == FileUse::Descriptors
        && matches!(target.kind, PathKind::File(_) | PathKind::Missing);
    // Files found by `opendir` are used as they are.
    let laid_out = laid_out && target.origin != FileOrigin::Found;
    let layout_bytes = if regular && laid_out { start.saturating_add(length) } else { 0 };
    check_read_only(job, &target, layout_bytes);
    FilePlan {
        path: PathBuf::from(target.path),
        start_bytes: start,
        length_bytes: length,
        layout_bytes,
        origin: target.origin,
        block_device: matches!(target.kind, PathKind::BlockDevice(_)),
    }
}

fn wanted(job: &Job<'_>, blocks: &Blocks, layout: &LayoutPlan) -> Wanted {
    let parts = |spec: Option<SizeSpec>| match spec {
        Some(SizeSpec::Bytes(bytes)) => (Some(bytes), None),
        Some(SizeSpec::Percent(percent)) => (None, Some(percent)),
        _ => (None, None),
    };
    let (size, size_percent) = parts(job.given_size("size"));
    let (io_bytes, io_percent) = parts(job.given_size("io_size"));
    let can = job.engine.capabilities;
    let file_range = job.given("filesize", readings::byte_range).filter(|range| range.1 > 0);
    if file_range.is_some_and(|(low, high)| low > high) {
        job.error("filesize", "the first value of the range is larger than the second", "give the smaller size first");
    }
    for (name, percent) in [("size", size_percent), ("io_size", io_percent)] {
        if percent.is_some_and(|percent| percent > 10_000 || percent == 0) {
            job.error(name, format!("{name} must be 1 to 100 percent"), "");
        }
    }
    Wanted {
        size: size.filter(|size| *size > 0),
        size_percent: size_percent.filter(|percent| *percent < 10_000),
        io_bytes,
        io_percent: io_percent.filter(|percent| *percent < 10_000),
        file_range: file_range.map(|(low, high)| (low, high.max(low))),
        offset: job.size("offset"),
        increment: job.size("offset_increment"),
        increments: ranks::clones_before(job).saturating_add(u64::from(job.clone)),
        align: Some(job.bytes("offset_align")).filter(|bytes| *bytes > 0),
        min_block: blocks.min(),
        append: layout.append,
        sizeless: can.files == FileUse::Nothing && !can.moves_data,
    }
}

/// `fill_device` without a size: as much as the file system has room for.
fn fill(job: &Job<'_>, layout: &LayoutPlan, targets: &[Target], wanted: &mut Wanted) {
    let Some(first) = targets.iter().find(|target| matches!(target.kind, PathKind::Missing | PathKind::File(_))) else {
        return;
    };
    if layout.fill_device && wanted.size.is_none() && wanted.file_range.is_none() {
        let free = job.request.machine.free_bytes(Path::new(&first.path));
        wanted.size = Some(free.map_or(ENDLESS, |free| free.max(wanted.min_block)));
    }
}

/// Whether sizes can be determined: given, or visible.
fn check_known(job: &Job<'_>, wanted: &Wanted, targets: &[Target]) -> bool {
    if targets.is_empty() {
        return false;
    }
    let lost = |target: &Target| target.kind == PathKind::Missing;
    if job.engine.capabilities.files.is_devices() && targets.iter().any(lost) {
        // The reason why the device is missing was reported when it was looked up.
        return false;
    }
    let known = wanted.size.is_some() || wanted.file_range.is_some() || wanted.sizeless;
    let there = targets.iter().any(|target| real_bytes(target.kind).is_some_and(|bytes| bytes > 0));
    if !known && !there {
        let path = &targets[0].path;
        let reason = match (wanted.size_percent, targets[0].kind) {
            (Some(_), _) => format!("size is a percentage, but {path} has no size yet"),
            (None, PathKind::Missing) if job.engine.capabilities.files == FileUse::Descriptors => {
                format!("{path} does not exist and size is not set, so there would be no I/O")
            }
            _ => format!("the size of {path} is unknown, and size is not set"),
        };
        let at = if job.has("size") {
            "size"
        } else if job.has("filename") {
            "filename"
        } else {
            "rw"
        };
        job.error(at, reason, "set size=, for example size=1g");
        return false;
    }
    true
}

/// Start and length of one file.
fn extent(job: &Job<'_>, wanted: &Wanted, target: &Target, share: u64, index: u64) -> (u64, u64) {
    let real = real_bytes(target.kind).unwrap_or(0);
    if wanted.sizeless && share == 0 && wanted.file_range.is_none() {
        return (0, ENDLESS);
    }
    let planned = wanted.file_range.map_or(share, |range| range.0);
    let start = start(wanted, target, if real > 0 { real } else { planned });
    let mut length = match wanted.file_range {
        None if share > 0 => share,
        Some((low, high)) if real < low || real > high => {
            let bytes = if low == high { low } else { random_size(job, wanted, low, high, index) };
            rest(job, target, bytes, start)
        }
        _ => rest(job, target, real, start),
    };
    if let Some(percent) = wanted.size_percent {
        length = percent_of(start + length, percent).min(length);
        length -= length % wanted.min_block.max(1);
    }
    if target.origin == FileOrigin::Found {
        length = length.min(real.saturating_sub(start));
    }
    if length == 0 {
        job.warn("size", format!("{} is empty and is ignored", target.path), "");
    }
    (start, within_device(job, target, start, length))
}

/// The bytes after `start` in a file of this many bytes.
fn rest(job: &Job<'_>, target: &Target, bytes: u64, start: u64) -> u64 {
    if start > bytes {
        let at = if job.has("offset") { "offset" } else { "offset_increment" };
        let reason = format!("the offset {start} is beyond the end of {} ({bytes} bytes)", target.path);
        job.error(at, reason, "use a smaller offset or a larger file");
    }
    bytes.saturating_sub(start)
}

fn random_size(job: &Job<'_>, wanted: &Wanted, low: u64, high: u64, index: u64) -> u64 {
    let drawn = between(derive(job, Purpose::FileSizes), index, low, high);
    (drawn - drawn % wanted.min_block.max(1)).max(low)
}

/// `offset` plus the clone's share of `offset_increment`; percentages are rounded up to a block.
fn start(wanted: &Wanted, target: &Target, base: u64) -> u64 {
    if wanted.append && matches!(target.kind, PathKind::File(_) | PathKind::Missing) {
        return real_bytes(target.kind).unwrap_or(0);
    }
    let bytes = |spec| match spec {
        SizeSpec::Bytes(bytes) => bytes,
        SizeSpec::Percent(percent) => percent_of(base, percent),
        SizeSpec::Zones(_) => 0,
    };
    let offset = bytes(wanted.offset).saturating_add(bytes(wanted.increment).saturating_mul(wanted.increments));
    let relative = [wanted.offset, wanted.increment].iter().any(|spec| matches!(spec, SizeSpec::Percent(_)));
    if !relative {
        return offset;
    }
    offset.checked_next_multiple_of(wanted.align.unwrap_or(wanted.min_block).max(1)).unwrap_or(offset)
}

/// A device cannot grow: an extent beyond its end is refused, or cut off in fio mode.
fn within_device(job: &Job<'_>, target: &Target, start: u64, length: u64) -> u64 {
    let PathKind::BlockDevice(device) = target.kind else { return length };
    let Some(end) = start.checked_add(length).filter(|end| *end > device) else {
        if start.checked_add(length).is_some() {
            return length;
        }
        job.error("size", "offset plus size is larger than any device", "");
        return 0;
    };
    if start >= device {
        job.error("offset", format!("the offset {start} is beyond the end of {} ({device} bytes)", target.path), "");
        return 0;
    }
    let at = if job.has("size") { "size" } else { "filesize" };
    let reason = format!("the job would reach byte {end} of {}, which has only {device} bytes", target.path);
    job.refuse_unless_fio(at, reason, "reduce size or offset, or remove size to use the whole device");
    if job.request.mode == Mode::Fio { device - start } else { length }
}

fn check_read_only(job: &Job<'_>, target: &Target, layout_bytes: u64) {
    let real = real_bytes(target.kind).unwrap_or(0);
    if job.request.overrides.readonly && layout_bytes > real {
        let reason = format!(
            "{} would have to be created or extended to {layout_bytes} bytes, but --readonly is set",
            target.path
        );
        job.error("size", reason, "use an existing file, or remove --readonly");
    }
}

/// At least one operation must fit, in total and into some file.
fn check_blocks(job: &Job<'_>, wanted: &Wanted, files: &[FilePlan], total: u64) {
    let at = if job.has("size") { "size" } else { "bs" };
    let block = wanted.min_block;
    let pass = wanted.size.unwrap_or(total).min(total);
    if pass < block {
        job.error(
            at,
            format!("{pass} bytes are less than one block ({block} bytes)"),
            "use a larger size or a smaller bs",
        );
    } else if files.iter().all(|file| file.length_bytes < block) {
        let longest = files.iter().map(|file| file.length_bytes).max().unwrap_or(0);
        let reason = format!("each file gets at most {longest} bytes, less than one block ({block} bytes)");
        job.refuse_unless_fio(at, reason, "size is divided among the files: use a larger size, or set filesize");
    }
}

/// A device whose smallest unit is known takes nothing smaller.
fn check_whole_blocks(job: &Job<'_>, blocks: &Blocks, targets: &[Target]) {
    for target in targets.iter().filter(|target| target.block_bytes > 1) {
        let unit = u64::from(target.block_bytes);
        if !blocks.min().is_multiple_of(unit) {
            let reason = format!(
                "{} has blocks of {unit} bytes, and bs={} is not a multiple of that",
                target.path,
                blocks.min()
            );
            job.error("bs", reason, "use a bs that is a multiple of the device's block size");
        }
    }
}

/// The existing size; `None` for character devices, which have none.
fn real_bytes(kind: PathKind) -> Option<u64> {
    match kind {
        PathKind::File(bytes) | PathKind::BlockDevice(bytes) => Some(bytes),
        PathKind::Missing | PathKind::Directory => Some(0),
        PathKind::CharacterDevice => None,
    }
}

/// Hundredths of a percent of an amount, rounded down.
fn percent_of(bytes: u64, percent: u32) -> u64 {
    (u128::from(bytes) * u128::from(percent) / 10_000).min(u128::from(u64::MAX)) as u64
}
