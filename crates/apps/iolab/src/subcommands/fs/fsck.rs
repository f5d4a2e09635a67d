//! `iolab fs fsck`: exit codes are those of fsck(8).

use std::fmt::Write;
use std::path::PathBuf;

use iolab_image::{Access, Image, ImageError};
use iolab_logfs::{BadContent, ContentReport, Error, FaultKind, FsckReport, Repair};
use serde_json::json;

use super::facts::size_text;
use crate::exit::Failure;
use crate::output;

/// Errors were found and mended.
const MENDED: u8 = 1;
/// Errors were found and are still there.
const ERRORS_LEFT: u8 = 4;
/// The check could not be made.
const OPERATIONAL: u8 = 8;

/// What to check.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Regular file or block device
    image: PathBuf,
    /// Mend what can be mended; without it nothing is changed
    #[arg(long, short)]
    repair: bool,
    /// Read the content of all files too, and hold it against its checksums; what is wrong there
    /// cannot be mended
    #[arg(long)]
    content: bool,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    let operational = |error: ImageError| Failure { code: OPERATIONAL, ..Failure::from(error) };
    let access = if arguments.repair { Access::Write } else { Access::Read };
    let repair = if arguments.repair { Repair::Yes } else { Repair::No };
    let mut image = Image::open(&arguments.image, access).map_err(operational)?;
    let report =
        image.run(async |disk, context| iolab_logfs::fsck(&disk, repair, context).await).map_err(operational)?;
    let (code, text) = match report {
        Ok(report) => {
            let content = match arguments.content {
                true => Some(look_at_content(arguments, &mut image)?),
                false => None,
            };
            let is_bad = content.as_ref().is_some_and(|content| !content.bad.is_empty());
            let code = match (report.is_sound() && !is_bad, report.repaired && !is_bad) {
                (true, _) => 0,
                (false, true) => MENDED,
                (false, false) => ERRORS_LEFT,
            };
            let said = (&report, content.as_ref());
            (code, if arguments.json { as_json(said, code) } else { as_text(arguments, said) })
        }
        Err(error @ (Error::Unusable(_) | Error::Corrupt(_))) => (ERRORS_LEFT, hopeless(arguments, &error)),
        Err(source) => return Err(operational(ImageError::FileSystem { path: arguments.image.clone(), source })),
    };
    output::print(&text)?;
    Ok(code)
}

fn look_at_content(arguments: &Arguments, image: &mut Image) -> Result<ContentReport, Failure> {
    let operational = |error: ImageError| Failure { code: OPERATIONAL, ..Failure::from(error) };
    let report = image.run(async |disk, _| iolab_logfs::check_content(&disk).await).map_err(operational)?;
    report.map_err(|source| operational(ImageError::FileSystem { path: arguments.image.clone(), source }))
}

/// A file as people know it.
fn bad_text(bad: &BadContent) -> String {
    let name = if bad.path.is_empty() { format!("inode {}", bad.inode.0) } else { bad.path.escape_ascii().to_string() };
    match &bad.error {
        Some(error) => format!("{name}: cannot read from byte {} on: {error}", bad.offset),
        None => format!("{name}: the content at byte {} is not what was written", bad.offset),
    }
}

/// What cannot even be read: there is no other copy to go by.
fn hopeless(arguments: &Arguments, error: &Error) -> String {
    if arguments.json {
        return format!("{:#}\n", json!({ "readable": false, "why": error.to_string(), "exit_code": ERRORS_LEFT }));
    }
    let image = arguments.image.display();
    format!("{image}: {error}\n{image}: this cannot be repaired; `iolab fs dump-log {image}` shows what is left\n")
}

fn as_text(arguments: &Arguments, (report, content): (&FsckReport, Option<&ContentReport>)) -> String {
    let image = arguments.image.display();
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
        (false, true) => format!("{count}, mended"),
        (false, false) => format!("{count}; --repair fixes what can be fixed"),
    };
    let (inodes, bytes, frames) = (report.inodes, size_text(report.content_bytes), report.recovery.frames);
    let _ = writeln!(text, "{image}: {verdict} ({inodes} inodes, {bytes} of content, {frames} frames in the log)");
    let _ = match content {
        Some(content) if content.bad.is_empty() => {
            let (good, unproven) = (size_text(content.good_bytes), size_text(content.unproven_bytes));
            writeln!(text, "{image}: content matches its checksums: {good} verified, {unproven} without a checksum")
        }
        Some(content) => {
            let count = content.bad.len();
            writeln!(
                text,
                "{image}: {count} parts of files are lost: reading them fails; restore them from a copy"
            )
        }
        None => writeln!(text, "{image}: file content was not checked; --content checks it"),
    };
    text
}

fn as_json((report, content): (&FsckReport, Option<&ContentReport>), code: u8) -> String {
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
fn kind_text(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Bootstrap => "bootstrap record",
        FaultKind::Anchor => "anchor",
        FaultKind::Checkpoint => "checkpoint",
        FaultKind::OlderCheckpoint => "older checkpoint",
        FaultKind::LostTail => "lost changes",
        FaultKind::Root => "root directory",
        FaultKind::ImpossibleName => "impossible name",
        FaultKind::BadName => "bad name",
        FaultKind::NoName => "inode without a name",
        FaultKind::LinkCount => "link count",
        FaultKind::Parent => "parent directory",
        FaultKind::BeyondEnd => "content beyond the end",
        FaultKind::Overlap => "overlapping content",
        FaultKind::OwnerMap => "owner map",
        FaultKind::ForeignNumber => "inode number of another domain",
        FaultKind::DoubleName => "name in two domains",
    }
}
