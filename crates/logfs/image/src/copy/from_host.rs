//! Copies into an image.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use iolab_logfs::{AttributeChange, Error, InodeId, InodeKind, Owner, Volume};
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::{Copied, CopyError, CopyProgress, PIECE_BYTES, host, inside};

/// What to copy.
#[derive(Debug, Clone, Copy)]
pub struct CopySource<'a> {
    /// A file, or a directory when `recursive`.
    pub path: &'a Path,
    /// Whether directories are copied with their content.
    pub recursive: bool,
}

/// Copies what is at `source` to the name `name` in a directory of the image; `path` is used for it
/// in messages. An existing file is overwritten, an existing directory is merged into.
///
/// # Errors
/// The first [`CopyError`].
pub async fn from_host(
    fs: &Volume,
    source: CopySource<'_>,
    place: (InodeId, &[u8]),
    path: &[u8],
) -> Result<Copied, CopyError> {
    from_host_told(fs, source, place.0, place.1, path, &mut |_| true).await
}

/// As [`from_host`], reporting progress to `told`.
///
/// # Errors
/// The first [`CopyError`].
pub async fn from_host_told(
    fs: &Volume,
    source: CopySource<'_>,
    directory: InodeId,
    name: &[u8],
    path: &[u8],
    told: CopyProgress<'_>,
) -> Result<Copied, CopyError> {
    let mut copy = Copy { fs, recursive: source.recursive, done: Copied::default(), linked: HashMap::new(), told };
    let top = Item { from: source.path.to_owned(), directory, name: name.to_vec(), path: path.to_vec() };
    let mut open = vec![top];
    // Directories whose times are set once their content is complete.
    let mut filled = Vec::new();
    while let Some(item) = open.pop() {
        let metadata = std::fs::symlink_metadata(&item.from).map_err(host(&item.from, "examining it"))?;
        if metadata.is_dir() {
            let made = copy.directory(&item, &metadata).await?;
            open.extend(below(&item, made)?);
            filled.push((item, made, metadata));
        } else {
            copy.one(&item, &metadata).await?;
        }
    }
    for (item, made, metadata) in filled.iter().rev() {
        copy.attributes(*made, metadata).await.map_err(inside(&item.path))?;
    }
    Ok(copy.done)
}

/// Something to copy, and its destination.
struct Item {
    from: PathBuf,
    directory: InodeId,
    name: Vec<u8>,
    path: Vec<u8>,
}

/// The content of a directory.
fn below(item: &Item, made: InodeId) -> Result<Vec<Item>, CopyError> {
    let reading = |error| host(&item.from, "reading the folder")(error);
    let entries = std::fs::read_dir(&item.from).map_err(reading)?;
    entries
        .map(|entry| {
            let name = entry.map_err(reading)?.file_name();
            let path = [&item.path, &b"/"[..], name.as_bytes()].concat();
            Ok(Item { from: item.from.join(&name), directory: made, name: name.as_bytes().to_vec(), path })
        })
        .collect()
}

struct Copy<'a> {
    fs: &'a Volume,
    recursive: bool,
    done: Copied,
    /// Inodes with several names, by device and inode number.
    linked: HashMap<(u64, u64), InodeId>,
    told: CopyProgress<'a>,
}

impl Copy<'_> {
    async fn directory(&mut self, item: &Item, metadata: &Metadata) -> Result<InodeId, CopyError> {
        if !self.recursive {
            return Err(CopyError::Directory(item.from.display().to_string()));
        }
        self.done.directories += 1;
        match self.fs.lookup(item.directory, &item.name).await {
            Ok(entry) if entry.kind == InodeKind::Directory => Ok(entry.inode),
            Ok(_) => Err(inside(&item.path)(Error::NotDirectory)),
            Err(_) => {
                let made = self.fs.make_directory(item.directory, &item.name, owner(metadata)).await;
                made.map_err(inside(&item.path))
            }
        }
    }

    /// Copies a file or link.
    async fn one(&mut self, item: &Item, metadata: &Metadata) -> Result<(), CopyError> {
        if !metadata.is_file() && !metadata.is_symlink() {
            self.done.left_out.push(format!("{}: neither a file, a folder nor a symbolic link", item.from.display()));
            return Ok(());
        }
        let key = (metadata.dev(), metadata.ino());
        let existing = self.fs.lookup(item.directory, &item.name).await.ok();
        if existing.as_ref().is_some_and(|entry| entry.kind == InodeKind::Directory) {
            return Err(inside(&item.path)(Error::IsDirectory));
        }
        self.done.files += 1;
        if existing.is_some() {
            // A new inode, so that other names of the old one keep their content.
            self.fs.unlink(item.directory, &item.name).await.map_err(inside(&item.path))?;
        }
        if let Some(inode) = self.linked.get(&key).filter(|_| metadata.nlink() > 1) {
            return self.fs.link(*inode, item.directory, &item.name).await.map_err(inside(&item.path));
        }
        let owner = owner(metadata);
        let inode = if metadata.is_symlink() {
            let target = std::fs::read_link(&item.from).map_err(host(&item.from, "reading the link"))?;
            self.fs.symlink(item.directory, &item.name, target.as_os_str().as_bytes(), owner).await
        } else {
            self.fs.create(item.directory, &item.name, owner).await
        };
        let inode = inode.map_err(inside(&item.path))?;
        if metadata.is_file() {
            self.content(item, inode, metadata.len()).await?;
        }
        self.attributes(inode, metadata).await.map_err(inside(&item.path))?;
        self.linked.insert(key, inode);
        Ok(())
    }

    async fn content(&mut self, item: &Item, inode: InodeId, size: u64) -> Result<(), CopyError> {
        let file = File::open(&item.from).map_err(host(&item.from, "opening it"))?;
        let mut buffer = vec![0; PIECE_BYTES as usize];
        let mut at = 0;
        while let Some((start, end)) = next_data(&file, at, size).map_err(host(&item.from, "finding its holes"))? {
            at = start;
            while at < end {
                let wanted = PIECE_BYTES.min(end - at) as usize;
                let read = file.read_at(&mut buffer[..wanted], at).map_err(host(&item.from, "reading it"))?;
                if read == 0 {
                    // The file has become shorter meanwhile.
                    break;
                }
                self.fs.write(inode, at, &buffer[..read]).await.map_err(inside(&item.path))?;
                at += read as u64;
                self.done.bytes += read as u64;
                if !(self.told)(&self.done) {
                    return Err(CopyError::Ended(self.done.clone()));
                }
            }
            at = end;
        }
        if self.fs.stat(inode).await.map_err(inside(&item.path))?.size < size {
            self.fs.truncate(inode, size).await.map_err(inside(&item.path))?;
        }
        Ok(())
    }

    async fn attributes(&self, inode: InodeId, metadata: &Metadata) -> Result<(), Error> {
        let ns = |seconds: i64, rest: i64| u64::try_from(seconds).unwrap_or(0) * 1_000_000_000 + rest as u64;
        let change = AttributeChange {
            mode: Some((metadata.mode() & 0o7777) as u16),
            uid: Some(metadata.uid()),
            gid: Some(metadata.gid()),
            accessed_ns: Some(ns(metadata.atime(), metadata.atime_nsec())),
            modified_ns: Some(ns(metadata.mtime(), metadata.mtime_nsec())),
        };
        self.fs.set_attributes(inode, change).await.map(drop)
    }
}

fn owner(metadata: &Metadata) -> Owner {
    Owner { mode: (metadata.mode() & 0o7777) as u16, uid: metadata.uid(), gid: metadata.gid() }
}

/// The next stretch that is not a hole (`SEEK_DATA`, `SEEK_HOLE`, lseek(2)).
fn next_data(file: &File, from: u64, size: u64) -> io::Result<Option<(u64, u64)>> {
    if from >= size {
        return Ok(None);
    }
    let start = match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Err(Errno::NXIO) => return Ok(None),
        // Not supported by the file system: all is data.
        Err(Errno::INVAL) => return Ok(Some((from, size))),
        other => other?,
    };
    let end = rustix::fs::seek(file, SeekFrom::Hole(start))?;
    Ok((start < size).then(|| (start, end.min(size))))
}
