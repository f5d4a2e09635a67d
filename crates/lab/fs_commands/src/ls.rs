//! Directories of images, listed.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use iolab_logfs::{Attributes, DirectoryEntry, InodeKind, Volume};

use crate::FsError;
use crate::facts::{as_json, mode_text, shown, target, time_text};
use crate::image_access::{inside, look};

/// What is listed, and how.
#[derive(Debug, Clone, Copy)]
pub struct ListRequest<'a> {
    /// Regular file or block device.
    pub image: &'a Path,
    /// Path inside of the image.
    pub path: &'a OsStr,
    /// Kind, mode, links, owner, group, size and time of each.
    pub long: bool,
    /// Also the content of directories.
    pub recursive: bool,
    /// A JSON object for each, on a line of its own.
    pub json: bool,
}

/// The list of a directory, or of one file.
///
/// # Errors
/// The image or the path cannot be read.
pub fn list(request: &ListRequest<'_>) -> Result<String, FsError> {
    look(request.image, async |fs: &Volume| {
        lines(fs, request).await.map_err(inside(request.image, request.path.as_bytes()))
    })
}

async fn lines(fs: &Volume, request: &ListRequest<'_>) -> Result<String, iolab_logfs::Error> {
    let path = trimmed(request.path.as_bytes());
    let inode = fs.resolve(path).await?;
    let attributes = fs.stat(inode).await?;
    let mut text = String::new();
    if attributes.kind != InodeKind::Directory {
        let entry = DirectoryEntry { name: path.to_vec(), inode, kind: attributes.kind };
        row(fs, request, &entry, path, &attributes, &mut text).await?;
        return Ok(text);
    }
    let mut open = vec![(path.to_vec(), inode)];
    while let Some((path, directory)) = open.pop() {
        if request.recursive && !request.json {
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{}:", if path.is_empty() { "/".to_owned() } else { shown(&path) });
        }
        let mut below = Vec::new();
        for entry in fs.read_directory(directory, b"", usize::MAX).await? {
            let full = [&path, &b"/"[..], &entry.name].concat();
            row(fs, request, &entry, &full, &fs.stat(entry.inode).await?, &mut text).await?;
            if request.recursive && entry.kind == InodeKind::Directory {
                below.push((full, entry.inode));
            }
        }
        open.extend(below.into_iter().rev());
    }
    Ok(text)
}

async fn row(
    fs: &Volume,
    request: &ListRequest<'_>,
    entry: &DirectoryEntry,
    path: &[u8],
    attributes: &Attributes,
    text: &mut String,
) -> Result<(), iolab_logfs::Error> {
    let target = target(fs, entry.inode, entry.kind).await;
    if request.json {
        let mut value = as_json(path, entry.inode, attributes, fs.stored_bytes(entry.inode).await?);
        if let Some(target) = target {
            value["target"] = String::from_utf8_lossy(&target).into();
        }
        let _ = writeln!(text, "{value}");
        return Ok(());
    }
    let Attributes { kind, mode, links, uid, gid, size, modified_ns, .. } = attributes;
    if request.long {
        let mode = mode_text(*kind, *mode);
        let _ = write!(text, "{mode} {links:>3} {uid:>5} {gid:>5} {size:>12} {} ", time_text(*modified_ns));
    }
    text.push_str(&shown(&entry.name));
    if let Some(target) = target.filter(|_| request.long) {
        let _ = write!(text, " -> {}", shown(&target));
    }
    text.push('\n');
    Ok(())
}

/// A path without the slashes at its end; the root is empty.
fn trimmed(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    &path[..end]
}
