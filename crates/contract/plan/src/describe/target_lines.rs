//! A worker's values as lines: its files, how they are laid out, its buffers.

use super::Line;
use super::amounts::{bytes, or, variant, yes};
use super::worker_lines::add;
use crate::{BufferContent, BufferMemory, FileOrigin, FilePlan, WorkerPlan};

/// Files listed one by one; of more, only the first and the last.
const MOST_FILES: usize = 8;

/// The files and their extents.
pub(super) fn files(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let mut list = |index: usize| {
        let file = &worker.files[index];
        let options = &["filename", "directory", "filename_format", "size", "filesize", "offset"];
        lines.push(Line { chapter: "files", label: format!("file {index}"), value: file_text(file), options });
    };
    let count = worker.files.len();
    if count <= MOST_FILES {
        (0..count).for_each(list);
    } else {
        list(0);
        list(count - 1);
    }
}

fn file_text(file: &FilePlan) -> String {
    let mut text = format!("{}: {} from {}", file.path.display(), bytes(file.length_bytes), bytes(file.start_bytes));
    if file.block_device {
        text.push_str(", block device");
    }
    if file.layout_bytes > 0 {
        text.push_str(&format!(", laid out to {}", bytes(file.layout_bytes)));
    }
    match file.origin {
        FileOrigin::Named => {}
        FileOrigin::Generated { .. } => text.push_str(", named by iolab"),
        FileOrigin::Found => text.push_str(", found by opendir"),
    }
    text
}

/// How files are made, opened and removed.
pub(super) fn layout(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let layout = &worker.layout;
    add(
        lines,
        "files",
        vec![
            ("direct", yes(layout.direct), &["direct", "buffered", "atomic"]),
            ("atomic", yes(layout.atomic), &["atomic"]),
            ("sync", variant(layout.sync), &["sync"]),
            ("invalidate", yes(layout.invalidate), &["invalidate", "pre_read"]),
            ("laid out before writing", yes(layout.overwrite), &["overwrite"]),
            ("create_on_open", yes(layout.create_on_open), &["create_on_open"]),
            ("create_serialize", yes(layout.create_serialize), &["create_serialize"]),
            ("create_fsync", yes(layout.create_fsync), &["create_fsync"]),
            ("create_only", yes(layout.create_only), &["create_only"]),
            ("allow_file_create", yes(layout.allow_create), &["allow_file_create"]),
            ("fallocate", variant(layout.fallocate), &["fallocate"]),
            ("fadvise_hint", variant(layout.fadvise), &["fadvise_hint"]),
            ("write_hint", variant(layout.write_hint), &["write_hint"]),
            ("pre_read", yes(layout.pre_read), &["pre_read"]),
            ("end_fsync", yes(layout.end_fsync), &["end_fsync"]),
            ("fsync_on_close", yes(layout.fsync_on_close), &["fsync_on_close"]),
            ("end_syncfs", yes(layout.end_syncfs), &["end_syncfs"]),
            ("unlink", yes(layout.unlink), &["unlink"]),
            ("unlink_each_loop", yes(layout.unlink_each_loop), &["unlink_each_loop"]),
            ("allow_mounted_write", yes(layout.allow_mounted_write), &["allow_mounted_write"]),
            ("file_append", yes(layout.append), &["file_append"]),
            ("fill_device", yes(layout.fill_device), &["fill_device"]),
            ("read-only run", yes(layout.read_only), &[]),
            ("device settings", device_settings(worker), DEVICE_OPTIONS),
        ],
    );
}

/// Options that set devices.
const DEVICE_OPTIONS: &[&str] = &[
    "device.scheduler",
    "device.nomerges",
    "device.max_sectors_kb",
    "device.nr_requests",
    "device.read_ahead_kb",
    "device.wbt_lat_usec",
    "device.io_poll",
    "device.rq_affinity",
    "device.rotational",
    "device.add_random",
    "device.iostats",
    "device.io_timeout",
    "device.write_cache",
];

fn device_settings(worker: &WorkerPlan) -> String {
    let settings = &worker.layout.device_settings;
    let words: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if words.is_empty() { "as they are".into() } else { words.join(", ") }
}

/// Memory and content.
pub(super) fn buffers(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let buffers = &worker.buffers;
    let memory = match &buffers.memory {
        BufferMemory::Anonymous => "anonymous".into(),
        BufferMemory::Shared => "shared".into(),
        BufferMemory::Huge { page_bytes } => format!("huge pages of {}", bytes(*page_bytes)),
        BufferMemory::File { path, shared } => format!("{path} mapped, {}", if *shared { "shared" } else { "private" }),
    };
    let content = match &buffers.content {
        BufferContent::Random => "random".into(),
        BufferContent::Zero => "zeroes".into(),
        BufferContent::Pattern(pattern) => format!("a pattern of {} bytes", pattern.len()),
    };
    let compress =
        buffers.compress_percent.map(|percent| format!("{percent} % of each {}", bytes(buffers.compress_chunk_bytes)));
    let dedupe = match (buffers.dedupe_percent, buffers.dedupe_working_set_percent) {
        (0, _) => "none".into(),
        (percent, None) => format!("{percent} % repeat the one before"),
        (percent, Some(share)) => format!("{percent} % from a working set of {share} %"),
    };
    add(
        lines,
        "buffers",
        vec![
            ("size", bytes(buffers.slot_bytes), &["bs", "bsrange", "bssplit"]),
            ("iomem_align", bytes(buffers.offset_bytes), &["iomem_align"]),
            ("mem", memory, &["mem", "hugepage-size"]),
            ("content", content, &["zero_buffers", "buffer_pattern"]),
            ("refill_buffers", yes(buffers.refill), &["refill_buffers"]),
            ("scramble_buffers", yes(buffers.scramble), &["scramble_buffers"]),
            ("compressible", or(compress, "no"), &["buffer_compress_percentage"]),
            ("duplicates", dedupe, &["dedupe_percentage"]),
        ],
    );
}
