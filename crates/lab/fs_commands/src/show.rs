//! Describes and reads files of images, and draws directories.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use iolab_activity::Failure;
use iolab_logfs::{InodeId, InodeKind, Volume};
use iolab_text::counted;

use crate::FsError;
use crate::facts::{as_json, kind_text, mode_text, shown, size_text, target, time_text};
use crate::image_access::{inside, look};

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 4 << 20;

/// A file of an image, described as text or as JSON.
///
/// # Errors
/// The image or the path cannot be read.
pub fn describe_file(image: &Path, path: &OsStr, json: bool) -> Result<String, FsError> {
    let path = path.as_bytes();
    look(image, async |fs: &Volume| stat_text(fs, path, json).await.map_err(inside(image, path)))
}

async fn stat_text(fs: &Volume, path: &[u8], json: bool) -> Result<String, iolab_logfs::Error> {
    let inode = fs.resolve(path).await?;
    let (attributes, stored_bytes) = (fs.stat(inode).await?, fs.stored_bytes(inode).await?);
    let target = target(fs, inode, attributes.kind).await;
    if json {
        let mut value = as_json(path, inode, &attributes, stored_bytes);
        if let Some(target) = target {
            value["target"] = String::from_utf8_lossy(&target).into();
        }
        return Ok(format!("{value:#}\n"));
    }
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<9} {value}");
    };
    row("path", shown(path));
    row("inode", inode.0.to_string());
    row("kind", kind_text(attributes.kind).to_owned());
    if let Some(target) = target {
        row("target", shown(&target));
    }
    row("mode", format!("{:04o} ({})", attributes.mode, mode_text(attributes.kind, attributes.mode)));
    row("owner", format!("{} group {}", attributes.uid, attributes.gid));
    row("links", attributes.links.to_string());
    row("size", format!("{} ({})", attributes.size, size_text(attributes.size)));
    row("stored", format!("{stored_bytes} ({})", size_text(stored_bytes)));
    for (name, time) in [
        ("accessed", attributes.accessed_ns),
        ("modified", attributes.modified_ns),
        ("changed", attributes.changed_ns),
        ("born", attributes.born_ns),
    ] {
        row(name, format!("{}.{:09} UTC", time_text(time), time % 1_000_000_000));
    }
    Ok(text)
}

/// Passes the content of files of an image to `take`, from `offset` on and up to `length` bytes of
/// each, until `take` answers that there is no reader any more.
///
/// # Errors
/// The image or a path cannot be read, or `take` fails.
pub fn read_files(
    image: &Path,
    paths: &[OsString],
    offset: u64,
    length: Option<u64>,
    mut take: impl FnMut(&[u8]) -> Result<bool, Failure>,
) -> Result<(), FsError> {
    look(image, async |fs: &Volume| {
        for path in paths {
            let path = path.as_bytes();
            let wrong = inside(image, path);
            let inode = fs.resolve(path).await.map_err(&wrong)?;
            let mut at = offset;
            let end = at.saturating_add(length.unwrap_or(u64::MAX));
            loop {
                let piece = fs.read(inode, at, PIECE_BYTES.min(end - at) as usize).await.map_err(&wrong)?;
                if piece.is_empty() || !take(&piece)? {
                    break;
                }
                at += piece.len() as u64;
            }
        }
        Ok(())
    })
}

/// A directory of an image with all that is below it, and with the sizes of files.
///
/// # Errors
/// The image or the path cannot be read.
pub fn tree(image: &Path, path: &OsStr, size: bool) -> Result<String, FsError> {
    let path = path.as_bytes();
    look(image, async |fs: &Volume| {
        let mut drawing = Drawing { fs, size, text: format!("{}\n", shown(path)), directories: 0, files: 0 };
        let root = fs.resolve(path).await.map_err(inside(image, path))?;
        drawing.below(root).await.map_err(inside(image, path))?;
        let Drawing { text, directories, files, .. } = drawing;
        Ok(format!("{text}\n{}, {}\n", counted(directories, "directory"), counted(files, "file")))
    })
}

struct Drawing<'a> {
    fs: &'a Volume,
    size: bool,
    text: String,
    directories: u64,
    files: u64,
}

impl Drawing<'_> {
    /// Draws the tree below a directory, without recursion, so that deep trees cannot overflow the
    /// stack.
    async fn below(&mut self, root: InodeId) -> Result<(), iolab_logfs::Error> {
        let entries = self.fs.read_directory(root, b"", usize::MAX).await?;
        let mut open = vec![(String::new(), entries.into_iter().peekable())];
        while let Some((indent, rest)) = open.last_mut() {
            let Some(entry) = rest.next() else {
                open.pop();
                continue;
            };
            let is_last = rest.peek().is_none();
            let attributes = self.fs.stat(entry.inode).await?;
            let branch = if is_last { "└── " } else { "├── " };
            let _ = write!(self.text, "{indent}{branch}{}", shown(&entry.name));
            if let Some(target) = target(self.fs, entry.inode, entry.kind).await {
                let _ = write!(self.text, " -> {}", shown(&target));
            } else if self.size && entry.kind == InodeKind::File {
                let _ = write!(self.text, "  {}", size_text(attributes.size));
            }
            self.text.push('\n');
            if entry.kind == InodeKind::Directory {
                self.directories += 1;
                let deeper = format!("{indent}{}", if is_last { "    " } else { "│   " });
                let below = self.fs.read_directory(entry.inode, b"", usize::MAX).await?.into_iter().peekable();
                open.push((deeper, below));
            } else {
                self.files += 1;
            }
        }
        Ok(())
    }
}
