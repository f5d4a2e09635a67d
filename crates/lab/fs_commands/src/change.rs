//! Makes directories in images, and removes and renames files.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use iolab_activity::Failure;
use iolab_image::{Image, ImageAccess, move_within, remove_tree};
use iolab_logfs::{Error, InodeId, InodeKind, Occupied, Owner, Volume};

use crate::FsError;
use crate::image_access::{folder, inside};

/// Makes directories; with `parents` also their parents, and an existing one is no error.
///
/// # Errors
/// The first that cannot be made.
pub fn make_directories(image: &Path, paths: &[OsString], parents: bool) -> Result<(), FsError> {
    let owner = owner_of_new(0o755);
    Image::open(image, ImageAccess::Write)?.with_fs(async |fs: &Volume| {
        for path in paths {
            let path = path.as_bytes();
            make(fs, path, owner, parents).await.map_err(inside(image, path))?;
        }
        Ok(())
    })
}

/// The owner of new files: the user who runs the program.
fn owner_of_new(mode: u16) -> Owner {
    let (uid, gid) = iolab_image::user();
    Owner { mode, uid, gid }
}

async fn make(fs: &Volume, path: &[u8], owner: Owner, parents: bool) -> Result<(), Error> {
    if !parents {
        let (parent, name) = fs.resolve_parent(path).await?;
        return fs.make_directory(parent, name, owner).await.map(drop);
    }
    let mut directory = InodeId::ROOT;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".") {
        directory = match fs.lookup(directory, name).await {
            Ok(entry) if entry.kind == InodeKind::Directory => entry.inode,
            Ok(_) => return Err(Error::NotDirectory),
            Err(Error::NotFound) => fs.make_directory(directory, name, owner).await?,
            Err(error) => return Err(error),
        };
    }
    Ok(())
}

/// Removes files; with `recursive` directories with all that is in them; with `force`, a missing
/// one is no error.
///
/// # Errors
/// The first that cannot be removed.
pub fn remove_paths(image: &Path, paths: &[OsString], recursive: bool, force: bool) -> Result<(), FsError> {
    Image::open(image, ImageAccess::Write)?.with_fs(async |fs: &Volume| {
        for path in paths {
            let path = path.as_bytes();
            match remove(fs, path, recursive).await {
                Err(Error::NotFound) if force => {}
                Err(Error::IsDirectory) => {
                    let reason = inside(image, path)(Error::IsDirectory);
                    return Err(Failure::failed(format!("{reason} (-r removes it and everything in it)")).into());
                }
                other => other.map_err(inside(image, path))?,
            }
        }
        Ok(())
    })
}

async fn remove(fs: &Volume, path: &[u8], recursive: bool) -> Result<(), Error> {
    let (parent, name) = fs.resolve_parent(path).await?;
    let entry = fs.lookup(parent, name).await?;
    if entry.kind != InodeKind::Directory {
        return fs.unlink(parent, name).await;
    }
    if !recursive {
        return Err(Error::IsDirectory);
    }
    remove_tree(fs, (parent, name)).await
}

/// Renames a file of an image; if the new path is a directory, moves it there.
///
/// # Errors
/// It does not exist, or something else is in the way.
pub fn rename(image: &Path, from: &OsStr, to: &OsStr, occupied: Occupied) -> Result<(), FsError> {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    Image::open(image, ImageAccess::Write)?.with_fs(async |fs: &Volume| {
        let source = fs.resolve_parent(from).await.map_err(inside(image, from))?;
        fs.lookup(source.0, source.1).await.map_err(inside(image, from))?;
        let target = match folder(fs, to).await {
            Some(directory) => (directory, source.1),
            None => fs.resolve_parent(to).await.map_err(inside(image, to))?,
        };
        move_within(fs, source, target, occupied).await.map_err(inside(image, to))
    })
}
