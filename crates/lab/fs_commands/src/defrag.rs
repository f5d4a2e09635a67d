//! Defragments files, at a limited rate.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use iolab_activity::Failure;
use iolab_image::{Image, ImageAccess};
use iolab_logfs::{DefragmentProgress, Error, InodeId, InodeKind, Volume};
use iolab_text::counted;

use crate::image_access::inside;
use crate::{FsError, facts};

/// Defragments the files at these paths and below them, or all files; reports to `say` line by
/// line.
///
/// # Errors
/// A path does not exist, or the image fails.
pub fn defragment(
    image: &Path,
    paths: &[OsString],
    rate: Option<u64>,
    mut say: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), FsError> {
    Image::open(image, ImageAccess::Write)?.with_fs(async |fs: &Volume| {
        let mut files = Vec::new();
        for path in paths {
            let path = path.as_bytes();
            let inode = fs.resolve(path).await.map_err(inside(image, path))?;
            files.push((path.to_vec(), inode));
        }
        if files.is_empty() {
            files.push((b"/".to_vec(), InodeId::ROOT));
        }
        let (mut before, mut after, mut count) = (0, 0, 0_u64);
        for (path, inode) in below(fs, files).await {
            let wrong = inside(image, &path);
            let old = fs.fragments(inode).await.map_err(&wrong)?;
            let moved = put_together(fs, inode, rate).await.map_err(&wrong)?;
            let new = fs.fragments(inode).await.map_err(&wrong)?;
            (before, after, count) = (before + old, after + new, count + 1);
            if moved > 0 {
                say(&format!(
                    "{}: {} before, {new} after, {} moved\n",
                    facts::shown(&path),
                    counted(old, "extent"),
                    facts::size_text(moved)
                ))?;
            }
        }
        say(&format!("{}: {} before, {after} after\n", counted(count, "file"), counted(before, "extent")))?;
        Ok(())
    })
}

/// The files at these paths and below them, each once.
async fn below(fs: &Volume, mut open: Vec<(Vec<u8>, InodeId)>) -> Vec<(Vec<u8>, InodeId)> {
    let (mut files, mut seen) = (Vec::new(), std::collections::BTreeSet::new());
    while let Some((path, inode)) = open.pop() {
        let Ok(attributes) = fs.stat(inode).await else { continue };
        if !seen.insert(inode) {
            continue;
        }
        match attributes.kind {
            InodeKind::File => files.push((path, inode)),
            InodeKind::Directory => {
                let entries = fs.read_directory(inode, b"", usize::MAX).await.unwrap_or_default();
                let prefix = path.strip_suffix(b"/").unwrap_or(&path).to_vec();
                open.extend(
                    entries.into_iter().rev().map(|entry| ([&prefix[..], b"/", &entry.name].concat(), entry.inode)),
                );
            }
            // Links and special files have no content of their own.
            _ => {}
        }
    }
    files
}

/// Moves the parts of one file that must be moved. Returns the number of bytes.
async fn put_together(fs: &Volume, inode: InodeId, rate: Option<u64>) -> Result<u64, Error> {
    let mut progress = DefragmentProgress::default();
    loop {
        progress = fs.defragment_step(inode, progress).await?;
        if progress.is_done {
            return Ok(progress.moved_bytes);
        }
        if let Some(rate) = rate {
            // Only this thread uses the file system, so it may sleep.
            std::thread::sleep(Duration::from_nanos(progress.pause_ns(rate)));
        }
    }
}
