//! Copies between this machine and an image.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use iolab_activity::{Console, Failure, ProgressLine, ProgressUnit};
use iolab_image::{Copied, CopyError, CopySource, CopyTarget, Image, ImageAccess, from_host_told, to_host_told};
use iolab_logfs::{InodeId, Volume};
use iolab_process::INTERRUPTS;

use crate::FsError;
use crate::image_access::{folder, inside, look};

fn add(sum: &mut Copied, copied: Copied) {
    sum.files += copied.files;
    sum.directories += copied.directories;
    sum.bytes += copied.bytes;
    sum.left_out.extend(copied.left_out);
}

/// What is copied, and how.
#[derive(Debug, Clone, Copy)]
pub struct CopyRequest<'a> {
    /// Regular file or block device.
    pub image: &'a Path,
    /// One or several sources, then the destination; a path inside the image begins with a colon.
    pub paths: &'a [OsString],
    /// Directories with all that is in them.
    pub recursive: bool,
}

/// Shows the progress of the copies, and ends them when the user asks for it.
struct Onlooker<'c> {
    progress: ProgressLine<'c>,
    /// Bytes of the copies before this one.
    before: u64,
}

impl<'c> Onlooker<'c> {
    fn new(console: &'c dyn Console, total: Option<u64>) -> Onlooker<'c> {
        Onlooker { progress: ProgressLine::new(console, "copying", ProgressUnit::Bytes, total), before: 0 }
    }

    fn go_on(&mut self, done: &Copied) -> bool {
        self.progress.at(self.before + done.bytes);
        INTERRUPTS.load(Ordering::Relaxed) == 0
    }
}

/// Bytes of files of this machine, including those in folders. Files that cannot be examined count
/// as 0 here, and fail when they are copied.
fn bytes_of(path: &Path) -> u64 {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.len();
    }
    std::fs::read_dir(path).map_or(0, |entries| entries.flatten().map(|entry| bytes_of(&entry.path())).sum())
}

/// Copies into an image or out of it, until it is done or a counted signal requests the end.
///
/// # Errors
/// Neither end or both ends are inside the image, something cannot be copied, or the copy was
/// interrupted.
pub fn copy(request: &CopyRequest<'_>, console: &dyn Console) -> Result<Copied, FsError> {
    let Some((destination, sources)) = request.paths.split_last() else { return Ok(Copied::default()) };
    let inside = |path: &OsString| path.as_bytes().strip_prefix(b":").map(<[u8]>::to_vec);
    if let Some(destination) = inside(destination) {
        if let Some(both) = sources.iter().find(|source| inside(source).is_some()) {
            let text = format!("{}: both source and destination are in the image", both.display());
            return Err(Failure::mistake(format!("{text}; use `iolab fs mv` to rename")).into());
        }
        let total = sources.iter().map(|source| bytes_of(Path::new(source))).sum();
        return into_image(request, sources, &destination, Onlooker::new(console, Some(total)));
    }
    let inside: Option<Vec<Vec<u8>>> = sources.iter().map(inside).collect();
    let Some(sources) = inside else {
        let text = "either source or destination must be in the image: such paths begin with a colon (`:/notes.txt`)";
        return Err(Failure::mistake(text).into());
    };
    out_of_image(request, &sources, Path::new(destination), Onlooker::new(console, None))
}

fn into_image(
    request: &CopyRequest<'_>,
    sources: &[OsString],
    destination: &[u8],
    mut onlooker: Onlooker<'_>,
) -> Result<Copied, FsError> {
    Image::open(request.image, ImageAccess::Write)?.with_fs(async |fs: &Volume| {
        let end = destination.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let destination = &destination[..end];
        let wrong = inside(request.image, destination);
        let folder = folder(fs, destination).await;
        if folder.is_none() && sources.len() > 1 {
            return Err(wrong(iolab_logfs::Error::NotDirectory));
        }
        let mut sum = Copied::default();
        for source in sources {
            onlooker.before = sum.bytes;
            let from = Path::new(source);
            let (parent, name) = match folder {
                // A path without a last name (`.`, `/`) stands for its content.
                Some(folder) => match from.file_name() {
                    Some(name) => (folder, name.as_bytes().to_vec()),
                    None => {
                        add(&mut sum, copy_contents(fs, from, folder, request, destination, &mut onlooker).await?);
                        continue;
                    }
                },
                None => {
                    let (parent, name) = fs.resolve_parent(destination).await.map_err(&wrong)?;
                    (parent, name.to_vec())
                }
            };
            let path = if folder.is_some() { [destination, b"/", &name].concat() } else { destination.to_vec() };
            let source = CopySource { path: from, recursive: request.recursive };
            let told = &mut |done: &Copied| onlooker.go_on(done);
            add(&mut sum, from_host_told(fs, source, parent, &name, &path, told).await?);
        }
        Ok(sum)
    })
}

/// The content of a folder, without the folder itself.
async fn copy_contents(
    fs: &Volume,
    from: &Path,
    folder: InodeId,
    request: &CopyRequest<'_>,
    destination: &[u8],
    onlooker: &mut Onlooker<'_>,
) -> Result<Copied, FsError> {
    if !request.recursive {
        return Err(CopyError::Directory(from.display().to_string()).into());
    }
    let wrong = |error| FsError::from(Failure::failed(format!("{}: {error}", from.display())));
    let mut sum = Copied::default();
    let before = onlooker.before;
    for entry in std::fs::read_dir(from).map_err(wrong)? {
        let name = entry.map_err(wrong)?.file_name();
        let path = [destination, b"/", name.as_bytes()].concat();
        let source = from.join(&name);
        let source = CopySource { path: &source, recursive: true };
        onlooker.before = before + sum.bytes;
        let told = &mut |done: &Copied| onlooker.go_on(done);
        add(&mut sum, from_host_told(fs, source, folder, name.as_bytes(), &path, told).await?);
    }
    Ok(sum)
}

fn out_of_image(
    request: &CopyRequest<'_>,
    sources: &[Vec<u8>],
    destination: &Path,
    mut onlooker: Onlooker<'_>,
) -> Result<Copied, FsError> {
    if sources.len() > 1 && !destination.is_dir() {
        let text = format!("{}: not a folder, but there are several sources", destination.display());
        return Err(Failure::mistake(text).into());
    }
    look(request.image, async |fs: &Volume| {
        let mut sum = Copied::default();
        for source in sources {
            onlooker.before = sum.bytes;
            let name = source.rsplit(|byte| *byte == b'/').find(|name| !name.is_empty() && *name != b".");
            let target = if destination.is_dir() {
                // The root has no name: its content goes into the folder.
                CopyTarget { folder: destination, name: name.map(OsStr::from_bytes) }
            } else {
                CopyTarget::at(destination)
            };
            let told = &mut |done: &Copied| onlooker.go_on(done);
            add(&mut sum, to_host_told(fs, source, target, request.recursive, told).await?);
        }
        Ok(sum)
    })
}
