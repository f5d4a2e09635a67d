//! `iolab fs mkdir`, `rm` and `mv`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use iolab_image::{Access, Image, move_within, remove_tree};
use iolab_logfs::{Error, InodeId, Kind, Occupied, Owner, Volume};

use super::inside;
use crate::exit::Failure;

/// What to make.
#[derive(Debug, clap::Args)]
pub(crate) struct MkdirArguments {
    /// Regular file or block device
    image: PathBuf,
    /// Paths inside of the image
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// Parents, too; a directory that exists already is no error
    #[arg(short, long)]
    parents: bool,
}

pub(crate) fn mkdir(arguments: &MkdirArguments) -> Result<u8, Failure> {
    let owner = super::owner_of_new(0o755);
    Image::open(&arguments.image, Access::Write)?.with_fs(async |fs: &Volume| {
        for path in &arguments.paths {
            let path = path.as_bytes();
            let made = make(fs, path, owner, arguments.parents).await;
            made.map_err(inside(&arguments.image, path))?;
        }
        Ok(0)
    })
}

async fn make(fs: &Volume, path: &[u8], owner: Owner, parents: bool) -> Result<(), Error> {
    if !parents {
        let (parent, name) = fs.resolve_parent(path).await?;
        return fs.make_directory(parent, name, owner).await.map(drop);
    }
    let mut directory = InodeId::ROOT;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".") {
        directory = match fs.lookup(directory, name).await {
            Ok(entry) if entry.kind == Kind::Directory => entry.inode,
            Ok(_) => return Err(Error::NotDirectory),
            Err(Error::NotFound) => fs.make_directory(directory, name, owner).await?,
            Err(error) => return Err(error),
        };
    }
    Ok(())
}

/// What to remove.
#[derive(Debug, clap::Args)]
pub(crate) struct RmArguments {
    /// Regular file or block device
    image: PathBuf,
    /// Paths inside of the image
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// Directories with all that is in them
    #[arg(short, long)]
    recursive: bool,
    /// What does not exist is no error
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn rm(arguments: &RmArguments) -> Result<u8, Failure> {
    Image::open(&arguments.image, Access::Write)?.with_fs(async |fs: &Volume| {
        for path in &arguments.paths {
            let path = path.as_bytes();
            match remove(fs, path, arguments.recursive).await {
                Err(Error::NotFound) if arguments.force => {}
                Err(Error::IsDirectory) => {
                    let failure = inside(&arguments.image, path)(Error::IsDirectory);
                    return Err(Failure {
                        message: format!("{} (-r removes it with all in it)", failure.message),
                        ..failure
                    });
                }
                other => other.map_err(inside(&arguments.image, path))?,
            }
        }
        Ok(0)
    })
}

async fn remove(fs: &Volume, path: &[u8], recursive: bool) -> Result<(), Error> {
    let (parent, name) = fs.resolve_parent(path).await?;
    let entry = fs.lookup(parent, name).await?;
    if entry.kind != Kind::Directory {
        return fs.unlink(parent, name).await;
    }
    if !recursive {
        return Err(Error::IsDirectory);
    }
    remove_tree(fs, (parent, name)).await
}

/// What to rename.
#[derive(Debug, clap::Args)]
pub(crate) struct MvArguments {
    /// Regular file or block device
    image: PathBuf,
    /// Path inside of the image
    from: OsString,
    /// New path inside of the image; a directory takes it in
    to: OsString,
    /// Do not replace what exists
    #[arg(short, long)]
    no_clobber: bool,
}

pub(crate) fn mv(arguments: &MvArguments) -> Result<u8, Failure> {
    let (from, to) = (arguments.from.as_bytes(), arguments.to.as_bytes());
    let occupied = if arguments.no_clobber { Occupied::Refuse } else { Occupied::Replace };
    Image::open(&arguments.image, Access::Write)?.with_fs(async |fs: &Volume| {
        let source = fs.resolve_parent(from).await.map_err(inside(&arguments.image, from))?;
        fs.lookup(source.0, source.1).await.map_err(inside(&arguments.image, from))?;
        let target = match super::folder(fs, to).await {
            Some(directory) => (directory, source.1),
            None => fs.resolve_parent(to).await.map_err(inside(&arguments.image, to))?,
        };
        move_within(fs, source, target, occupied).await.map_err(inside(&arguments.image, to))?;
        Ok(0)
    })
}
