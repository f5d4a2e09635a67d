//! Out of an image.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use iolab_logfs::{Attributes, InodeId, Kind, Volume};
use rustix::fs::{AtFlags, CWD, Gid, Mode, Timespec, Timestamps, Uid, chmod, chownat, utimensat};
use rustix::io::Errno;

use super::{Copied, CopyError, PIECE_BYTES, host, inside};

/// Copies what is at `from` in the image to `to` on this machine: with `recursive`, directories with all that is in them. An existing file is
/// replaced, an existing folder filled.
///
/// # Errors
/// The first of [`CopyError`].
pub async fn to_host(fs: &Volume, from: &[u8], to: &Path, recursive: bool) -> Result<Copied, CopyError> {
    let inode = fs.resolve(from).await.map_err(inside(from))?;
    let mut copy = Copy { fs, done: Copied::default(), linked: HashMap::new() };
    let mut open = vec![(inode, from.to_vec(), to.to_owned())];
    // Directories get their mode and times when they are full.
    let mut filled = Vec::new();
    while let Some((inode, from, to)) = open.pop() {
        let attributes = fs.stat(inode).await.map_err(inside(&from))?;
        if attributes.kind != Kind::Directory {
            copy.one((inode, &attributes), &from, &to).await?;
            continue;
        }
        if !recursive {
            return Err(CopyError::Directory(from.escape_ascii().to_string()));
        }
        match std::fs::create_dir(&to) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && to.is_dir() => {}
            other => other.map_err(host(&to, "making the folder"))?,
        }
        copy.done.directories += 1;
        for entry in fs.read_directory(inode, b"", usize::MAX).await.map_err(inside(&from))? {
            let path = [&from, &b"/"[..], &entry.name].concat();
            open.push((entry.inode, path, to.join(OsStr::from_bytes(&entry.name))));
        }
        filled.push((to, attributes));
    }
    for (to, attributes) in filled.iter().rev() {
        set_attributes(to, attributes)?;
    }
    Ok(copy.done)
}

struct Copy<'a> {
    fs: &'a Volume,
    done: Copied,
    /// What has several names.
    linked: HashMap<InodeId, PathBuf>,
}

impl Copy<'_> {
    async fn one(
        &mut self,
        (inode, attributes): (InodeId, &Attributes),
        from: &[u8],
        to: &Path,
    ) -> Result<(), CopyError> {
        if !matches!(attributes.kind, Kind::File | Kind::Symlink) {
            let text = format!("{}: neither a file, a directory nor a symbolic link", from.escape_ascii());
            self.done.left_out.push(text);
            return Ok(());
        }
        // Not through a link, and not into a file that has other names.
        match std::fs::remove_file(to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(host(to, "replacing it")(error)),
            _ => {}
        }
        self.done.files += 1;
        if let Some(first) = self.linked.get(&inode).filter(|_| attributes.links > 1) {
            return std::fs::hard_link(first, to).map_err(host(to, "linking it"));
        }
        if attributes.kind == Kind::Symlink {
            let target = self.fs.read_link(inode).await.map_err(inside(from))?;
            std::os::unix::fs::symlink(OsStr::from_bytes(&target), to).map_err(host(to, "making the link"))?;
        } else {
            self.content(inode, from, to, attributes.size).await?;
        }
        set_attributes(to, attributes)?;
        self.linked.insert(inode, to.to_owned());
        Ok(())
    }

    async fn content(&mut self, inode: InodeId, from: &[u8], to: &Path, size: u64) -> Result<(), CopyError> {
        let file = File::create_new(to).map_err(host(to, "making it"))?;
        file.set_len(size).map_err(host(to, "setting its size"))?;
        let mut at = 0;
        while let Some(start) = self.fs.next_data(inode, at).await.map_err(inside(from))? {
            let end = self.fs.next_hole(inode, start).await.map_err(inside(from))?.unwrap_or(size);
            at = start;
            while at < end {
                let piece = self.fs.read(inode, at, PIECE_BYTES.min(end - at) as usize).await.map_err(inside(from))?;
                file.write_all_at(&piece, at).map_err(host(to, "writing it"))?;
                at += piece.len() as u64;
                self.done.bytes += piece.len() as u64;
            }
        }
        Ok(())
    }
}

fn set_attributes(to: &Path, attributes: &Attributes) -> Result<(), CopyError> {
    let (uid, gid) = (Uid::from_raw(attributes.uid), Gid::from_raw(attributes.gid));
    match chownat(CWD, to, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW) {
        // Only root gives files away: as cp(1) does, they are then the user's.
        Ok(()) | Err(Errno::PERM) => {}
        Err(errno) => return Err(host(to, "setting its owner")(errno.into())),
    }
    if attributes.kind != Kind::Symlink {
        let mode = Mode::from_raw_mode(u32::from(attributes.mode));
        chmod(to, mode).map_err(|errno| host(to, "setting its mode")(errno.into()))?;
    }
    let time = |ns: u64| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
    let times =
        Timestamps { last_access: time(attributes.accessed_ns), last_modification: time(attributes.modified_ns) };
    utimensat(CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| host(to, "setting its times")(errno.into()))
}
