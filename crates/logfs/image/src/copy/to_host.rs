//! Copies out of an image. Everything is created below one directory ([`super::beneath`]), whatever
//! the names in the image are.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use iolab_logfs::{Attributes, Error, InodeId, InodeKind, Volume};
use rustix::fs::{Gid, Mode, Timespec, Timestamps, Uid};
use rustix::io::Errno;

use super::beneath::{Beneath, CopyTarget, is_one_name};
use super::{Copied, CopyError, CopyProgress, PIECE_BYTES, host, inside};

/// Copies what is at `from` in the image to a target on this machine; with `recursive`, directories
/// with their content. An existing file is replaced, an existing directory is merged into. What
/// cannot be copied faithfully is skipped and reported: special files, invalid names, and files
/// whose content does not match its checksum.
///
/// # Errors
/// The first [`CopyError`].
pub async fn to_host(fs: &Volume, from: &[u8], target: CopyTarget<'_>, recursive: bool) -> Result<Copied, CopyError> {
    to_host_told(fs, from, target, recursive, &mut |_| true).await
}

/// As [`to_host`], reporting progress to `told`.
///
/// # Errors
/// The first [`CopyError`].
pub async fn to_host_told(
    fs: &Volume,
    from: &[u8],
    target: CopyTarget<'_>,
    recursive: bool,
    told: CopyProgress<'_>,
) -> Result<Copied, CopyError> {
    let inode = fs.resolve(from).await.map_err(inside(from))?;
    let opened = Beneath::open(target.folder);
    let beneath = opened.map_err(|errno| host(target.folder, "opening the folder")(errno.into()))?;
    let folder = target.folder.to_owned();
    let mut copy = Copy { fs, folder, beneath, done: Copied::default(), linked: HashMap::new(), told };
    let mut open = vec![(inode, from.to_vec(), PathBuf::from(target.name.unwrap_or_default()))];
    // Directories get their mode and times once their content is complete.
    let mut filled = Vec::new();
    let mut visited = HashSet::new();
    while let Some((inode, from, to)) = open.pop() {
        let attributes = fs.stat(inode).await.map_err(inside(&from))?;
        if attributes.kind != InodeKind::Directory {
            copy.one(inode, &attributes, &from, &to).await?;
            continue;
        }
        if !recursive {
            return Err(CopyError::Directory(from.escape_ascii().to_string()));
        }
        if !visited.insert(inode) {
            return Err(inside(&from)(Error::Corrupt("a directory has two names".to_owned())));
        }
        let made = copy.beneath.make_folder(&to);
        made.map_err(copy.failed(&to, "creating the folder"))?;
        copy.done.directories += 1;
        for entry in fs.read_directory(inode, b"", usize::MAX).await.map_err(inside(&from))? {
            let path = [&from, &b"/"[..], &entry.name].concat();
            if is_one_name(&entry.name) {
                open.push((entry.inode, path, to.join(OsStr::from_bytes(&entry.name))));
            } else {
                copy.done.left_out.push(format!("{}: its name is invalid", path.escape_ascii()));
            }
        }
        filled.push((to, attributes));
    }
    for (to, attributes) in filled.iter().rev() {
        copy.set_attributes(to, attributes)?;
    }
    Ok(copy.done)
}

struct Copy<'a> {
    fs: &'a Volume,
    /// For messages.
    folder: PathBuf,
    beneath: Beneath,
    done: Copied,
    /// Inodes with several names.
    linked: HashMap<InodeId, PathBuf>,
    told: CopyProgress<'a>,
}

impl Copy<'_> {
    fn failed(&self, to: &Path, what: &'static str) -> impl Fn(Errno) -> CopyError + use<> {
        let path = self.folder.join(to);
        move |errno| host(&path, what)(errno.into())
    }

    async fn one(&mut self, inode: InodeId, attributes: &Attributes, from: &[u8], to: &Path) -> Result<(), CopyError> {
        if !matches!(attributes.kind, InodeKind::File | InodeKind::Symlink) {
            let text = format!("{}: neither a file, a directory nor a symbolic link", from.escape_ascii());
            self.done.left_out.push(text);
            return Ok(());
        }
        // Do not write through a link, nor into a file that has other names.
        let removed = self.beneath.remove(to);
        removed.map_err(self.failed(to, "replacing it"))?;
        if let Some(first) = self.linked.get(&inode).filter(|_| attributes.links > 1) {
            let linked = self.beneath.link(first, to);
            linked.map_err(self.failed(to, "linking it"))?;
            self.done.files += 1;
            return Ok(());
        }
        if attributes.kind == InodeKind::Symlink {
            let target = self.fs.read_link(inode).await.map_err(inside(from))?;
            let made = self.beneath.make_symlink(&target, to);
            made.map_err(self.failed(to, "creating the link"))?;
        } else {
            let made = self.beneath.make_file(to);
            let file = made.map_err(self.failed(to, "making it"))?;
            match self.content(inode, from, &file, to, attributes.size).await {
                Err(CopyError::Inside { source: error @ Error::Content { .. }, .. }) => {
                    // Remove the whole file: a partial one is easily taken for a complete one.
                    let removed = self.beneath.remove(to);
                    removed.map_err(self.failed(to, "removing the incomplete copy"))?;
                    self.done.left_out.push(format!("{}: {error}", from.escape_ascii()));
                    return Ok(());
                }
                other => other?,
            }
        }
        self.done.files += 1;
        self.set_attributes(to, attributes)?;
        self.linked.insert(inode, to.to_owned());
        Ok(())
    }

    async fn content(
        &mut self,
        inode: InodeId,
        from: &[u8],
        file: &File,
        to: &Path,
        size: u64,
    ) -> Result<(), CopyError> {
        let path = self.folder.join(to);
        file.set_len(size).map_err(host(&path, "setting its size"))?;
        let mut at = 0;
        while let Some(start) = self.fs.next_data(inode, at).await.map_err(inside(from))? {
            let end = self.fs.next_hole(inode, start).await.map_err(inside(from))?.unwrap_or(size);
            at = start;
            while at < end {
                let piece = self.fs.read(inode, at, PIECE_BYTES.min(end - at) as usize).await.map_err(inside(from))?;
                file.write_all_at(&piece, at).map_err(host(&path, "writing it"))?;
                at += piece.len() as u64;
                self.done.bytes += piece.len() as u64;
                if !(self.told)(&self.done) {
                    return Err(CopyError::Ended(self.done.clone()));
                }
            }
        }
        Ok(())
    }

    fn set_attributes(&mut self, to: &Path, attributes: &Attributes) -> Result<(), CopyError> {
        let (uid, gid) = (Uid::from_raw(attributes.uid), Gid::from_raw(attributes.gid));
        match self.beneath.set_owner(to, uid, gid) {
            // Only root may change the owner: as with cp(1), the files then belong to the user.
            Ok(()) | Err(Errno::PERM) => {}
            Err(errno) => return Err(self.failed(to, "setting its owner")(errno)),
        }
        if attributes.kind != InodeKind::Symlink {
            let mode = Mode::from_raw_mode(u32::from(attributes.mode));
            self.beneath.set_mode(to, mode).map_err(self.failed(to, "setting its mode"))?;
        }
        let time = |ns: u64| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let times =
            Timestamps { last_access: time(attributes.accessed_ns), last_modification: time(attributes.modified_ns) };
        self.beneath.set_times(to, &times).map_err(self.failed(to, "setting its times"))
    }
}
