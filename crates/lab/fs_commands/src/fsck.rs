//! The check of an image; its exit codes are those of fsck(8).

use std::fmt::Write;
use std::path::Path;

use iolab_activity::{Console, ProgressLine, ProgressUnit, watched};
use iolab_image::{Image, ImageAccess, ImageError};
use iolab_logfs::{BadContent, ContentReport, Error, FsckReport, InconsistencyKind, Repair};
use iolab_text::counted;
use serde_json::json;

use crate::facts::size_text;

/// Errors were found and repaired.
const MENDED: u8 = 1;
/// Errors were found and are still there.
const ERRORS_LEFT: u8 = 4;
/// The check failed to run.
pub const CHECK_IMPOSSIBLE: u8 = 8;

/// What is checked, and how.
#[derive(Debug, Clone, Copy)]
pub struct CheckRequest<'a> {
    /// Regular file or block device.
    pub image: &'a Path,
    /// Repair what can be repaired; without it nothing is changed.
    pub repair: bool,
    /// Also read the content of all files, and compare it with its checksums.
    pub content: bool,
    /// JSON instead of text.
    pub json: bool,
}

/// Checks an image. Returns the exit code of fsck(8) for the outcome, and the report.
///
/// # Errors
/// The check failed to run.
pub fn check(request: &CheckRequest<'_>, console: &dyn Console) -> Result<(u8, String), ImageError> {
    let access = if request.repair { ImageAccess::Write } else { ImageAccess::Read };
    let repair = if request.repair { Repair::Yes } else { Repair::No };
    let mut image = Image::open(request.image, access)?;
    let wrong = |source| ImageError::FileSystem { path: request.image.to_owned(), source };
    let (read, what) = (image.read_bytes(), format!("checking {}", request.image.display()));
    let checked = watched(console, what, ProgressUnit::Bytes, None, &read, || {
        image.run(async |disk, runtime| iolab_logfs::fsck(&disk, repair, runtime).await)
    });
    match checked? {
        Ok(report) => {
            let content = match request.content {
                true => {
                    let what = format!("reading the content of {}", request.image.display());
                    let mut progress =
                        ProgressLine::new(console, what, ProgressUnit::Bytes, Some(report.content_bytes));
                    let looked = image.run(async |disk, _| {
                        iolab_logfs::check_content_told(&disk, &mut |bytes| progress.at(bytes)).await
                    });
                    Some(looked?.map_err(wrong)?)
                }
                false => None,
            };
            let is_bad = content.as_ref().is_some_and(|content| !content.bad.is_empty());
            let code = match (report.is_sound() && !is_bad, report.repaired && !is_bad) {
                (true, _) => 0,
                (false, true) => MENDED,
                (false, false) => ERRORS_LEFT,
            };
            let text = match request.json {
                true => as_json(&report, content.as_ref(), code),
                false => as_text(request.image, &report, content.as_ref()),
            };
            Ok((code, text))
        }
        Err(error @ (Error::Unusable(_) | Error::Corrupt(_))) => Ok((ERRORS_LEFT, hopeless(request, &error))),
        Err(source) => Err(wrong(source)),
    }
}

/// A file, as shown to people.
fn bad_text(bad: &BadContent) -> String {
    let name = if bad.path.is_empty() { format!("inode {}", bad.inode.0) } else { bad.path.escape_ascii().to_string() };
    match &bad.error {
        Some(error) => format!("{name}: cannot read from byte {} on: {error}", bad.offset),
        None => format!("{name}: the content at byte {} is not what was written", bad.offset),
    }
}

/// Data that cannot be read: there is no other copy.
fn hopeless(request: &CheckRequest<'_>, error: &Error) -> String {
    if request.json {
        return format!("{:#}\n", json!({ "readable": false, "why": error.to_string(), "exit_code": ERRORS_LEFT }));
    }
    let image = request.image.display();
    format!("{image}: {error}\n{image}: this cannot be repaired; `iolab fs dump-log {image}` shows what is left\n")
}

fn as_text(image: &Path, report: &FsckReport, content: Option<&ContentReport>) -> String {
    let image = image.display();
    let mut text = String::new();
    for fault in &report.faults {
        let _ = writeln!(text, "{image}: {}: {}", kind_text(fault.kind), fault.what);
    }
    let dropped = report.recovery.dropped_frames;
    if dropped > 0 {
        let _ = writeln!(
            text,
            "{image}: {dropped} frames at the end of the log were being written during a crash and are ignored"
        );
    }
    for bad in content.into_iter().flat_map(|content| &content.bad) {
        let _ = writeln!(text, "{image}: content: {}", bad_text(bad));
    }
    let count = match report.faults.len() {
        1 => "1 error".to_owned(),
        many => format!("{many} errors"),
    };
    let verdict = match (report.is_sound(), report.repaired) {
        (true, _) if report.recovery.closed => "clean".to_owned(),
        (true, _) => "healthy, but not closed: the process that used it ended without closing it".to_owned(),
        (false, true) => format!("{count}, repaired"),
        (false, false) => format!("{count}; --repair fixes what can be fixed"),
    };
    let (inodes, frames) = (counted(report.inodes, "inode"), counted(report.recovery.frames, "frame"));
    let bytes = size_text(report.content_bytes);
    let _ = writeln!(text, "{image}: {verdict} ({inodes}, {bytes} of content, {frames} in the log)");
    let _ = match content {
        Some(content) if content.bad.is_empty() => {
            let (good, unproven) = (size_text(content.good_bytes), size_text(content.unproven_bytes));
            writeln!(text, "{image}: content matches its checksums: {good} verified, {unproven} without a checksum")
        }
        Some(content) => {
            let count = content.bad.len();
            writeln!(text, "{image}: {count} parts of files are lost: reading them fails; restore them from a copy")
        }
        None => writeln!(text, "{image}: file content was not checked; --content checks it"),
    };
    text
}

fn as_json(report: &FsckReport, content: Option<&ContentReport>, code: u8) -> String {
    let faults: Vec<_> =
        report.faults.iter().map(|fault| json!({ "kind": kind_text(fault.kind), "what": fault.what })).collect();
    let value = json!({
        "readable": true,
        "faults": faults,
        "repaired": report.repaired,
        "closed": report.recovery.closed,
        "frames": report.recovery.frames,
        "records": report.recovery.records,
        "dropped_frames": report.recovery.dropped_frames,
        "inodes": report.inodes,
        "content_bytes": report.content_bytes,
        "content": content.map(|content| json!({
            "good_bytes": content.good_bytes,
            "unproven_bytes": content.unproven_bytes,
            "bad": content.bad.iter().map(|bad| json!({
                "inode": bad.inode.0,
                "path": bad.path.escape_ascii().to_string(),
                "offset": bad.offset,
                "what": bad_text(bad),
            })).collect::<Vec<_>>(),
        })),
        "older_checkpoint": report.recovery.by_older_checkpoint,
        "exit_code": code,
    });
    format!("{value:#}\n")
}

/// The kind in a few words.
fn kind_text(kind: InconsistencyKind) -> &'static str {
    match kind {
        InconsistencyKind::Bootstrap => "bootstrap record",
        InconsistencyKind::Anchor => "anchor",
        InconsistencyKind::Checkpoint => "checkpoint",
        InconsistencyKind::OlderCheckpoint => "older checkpoint",
        InconsistencyKind::LostTail => "lost changes",
        InconsistencyKind::Root => "root directory",
        InconsistencyKind::ImpossibleName => "impossible name",
        InconsistencyKind::BadName => "bad name",
        InconsistencyKind::NoName => "inode without a name",
        InconsistencyKind::LinkCount => "link count",
        InconsistencyKind::Parent => "parent directory",
        InconsistencyKind::BeyondEnd => "content beyond the end",
        InconsistencyKind::Overlap => "overlapping content",
        InconsistencyKind::OwnerMap => "owner map",
        InconsistencyKind::ForeignNumber => "inode number of another domain",
        InconsistencyKind::DoubleName => "name in two domains",
    }
}
