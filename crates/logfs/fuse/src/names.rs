//! Requests that create, move and remove names.

use iolab_fuse::abi::{self, u32_at, u64_at};
use iolab_fuse::channel::Message;
use iolab_logfs::{InodeId, InodeKind, Occupied, Owner};

use crate::acl;
use crate::attributes::{kind_of, negative_entry};
use crate::server::{Answer, Server, built, open_out};

/// `RENAME_NOREPLACE` and `RENAME_EXCHANGE` of linux/fs.h.
const NO_REPLACE: u32 = 1;
const EXCHANGE: u32 = 2;

/// The name up to the first zero byte.
pub(crate) fn one_name(tail: &[u8]) -> Result<&[u8], i32> {
    tail.split(|byte| *byte == 0).next().filter(|name| !name.is_empty()).ok_or(libc::EINVAL)
}

/// The two names of a request.
fn two_names(tail: &[u8]) -> Result<(Vec<u8>, Vec<u8>), i32> {
    let first = one_name(tail)?;
    let second = one_name(tail.get(first.len() + 1..).unwrap_or_default())?;
    Ok((first.to_vec(), second.to_vec()))
}

/// A new inode.
#[derive(Debug)]
pub(crate) struct New {
    directory: InodeId,
    name: Vec<u8>,
    kind: InodeKind,
    device: u32,
    owner: Owner,
    umask: u32,
    /// Target of a symbolic link.
    target: Vec<u8>,
    /// TMPFILE: it gets no name, whatever `name` is.
    is_unnamed: bool,
    /// CREATE and TMPFILE also open it, with these flags of open(2).
    opened: Option<u32>,
}

impl New {
    /// The arguments of MKNOD, MKDIR, SYMLINK, CREATE and TMPFILE.
    pub(crate) fn parse(server: &Server, message: &Message) -> Result<New, i32> {
        let (header, args, tail) = (message.header, message.args(), message.tail());
        let word = |at| u32_at(args, at).ok_or(libc::EINVAL);
        let (mut device, mut target) = (0, Vec::new());
        let (mode, umask) = match header.opcode {
            abi::opcode::MKNOD => {
                device = word(4)?;
                (word(0)?, word(8)?)
            }
            abi::opcode::MKDIR => (libc::S_IFDIR | word(0)? & 0o7777, word(4)?),
            abi::opcode::SYMLINK => {
                target = two_names(tail)?.1;
                (libc::S_IFLNK | 0o777, 0)
            }
            _ => (libc::S_IFREG | word(4)? & 0o7777, word(8)?),
        };
        let kind = kind_of(mode).ok_or(libc::EINVAL)?;
        let directory = InodeId(header.node);
        let parent = server.fs.stat(directory).map_err(|error| error.errno())?;
        let mut owner = Owner { mode: (mode & 0o7777) as u16, uid: header.uid, gid: header.gid };
        // In a directory with the set-group-id bit, new inodes get its group, and new directories
        // also the bit (inode(7)).
        if u32::from(parent.mode) & libc::S_ISGID != 0 {
            owner.gid = parent.gid;
            owner.mode |= if kind == InodeKind::Directory { libc::S_ISGID as u16 } else { 0 };
        }
        let name = one_name(tail)?.to_vec();
        let is_unnamed = header.opcode == abi::opcode::TMPFILE;
        let opened = if is_unnamed || header.opcode == abi::opcode::CREATE { Some(word(0)?) } else { None };
        Ok(New { directory, name, kind, device, owner, umask, target, is_unnamed, opened })
    }

    pub(crate) async fn make(self, server: Server) -> Answer {
        let New { directory, name, kind, device, mut owner, umask, target, is_unnamed, opened } = self;
        let fs = &server.fs;
        let (mode, inherited) =
            acl::inherit(&server, directory, kind, owner.mode, umask).await.map_err(|error| error.errno())?;
        owner.mode = mode;
        let made = match kind {
            InodeKind::File if is_unnamed => fs.create_unnamed(directory, owner).await,
            InodeKind::File => fs.create(directory, &name, owner).await,
            InodeKind::Directory => fs.make_directory(directory, &name, owner).await,
            InodeKind::Symlink => fs.symlink(directory, &name, &target, owner).await,
            special => fs.make_special(directory, &name, special, device, owner).await,
        };
        let inode = made.map_err(|error| error.errno())?;
        inherited.give(fs, inode).await.map_err(|error| error.errno())?;
        let entry = server.entry_anywhere(inode, opened).await;
        if is_unnamed {
            // From now on the kernel holds it.
            server.fs.clone().into_volume().release(inode).await;
        }
        let mut answer = entry?;
        if let Some(open_flags) = opened {
            answer.extend(built(|body| open_out(body, open_flags)));
        }
        Ok(answer)
    }
}

/// LINK.
pub(crate) async fn link(server: Server, directory: InodeId, inode: InodeId, name: Vec<u8>) -> Answer {
    server.fs.link(inode, directory, &name).await.map_err(|error| match error {
        // link(2): a directory cannot have a second name.
        iolab_logfs::Error::IsDirectory => libc::EPERM,
        error => error.errno(),
    })?;
    server.entry_anywhere(inode, None).await
}

/// LOOKUP of an inode of another thread.
pub(crate) async fn look_up(server: Server, found: Option<InodeId>) -> Answer {
    match found {
        Some(inode) => server.entry_anywhere(inode, None).await,
        None => Ok(built(negative_entry)),
    }
}

/// The arguments of LINK: the inode and the name.
pub(crate) fn parse_link(message: &Message) -> Result<(InodeId, Vec<u8>), i32> {
    let inode = u64_at(message.args(), 0).ok_or(libc::EINVAL)?;
    Ok((InodeId(inode), one_name(message.tail())?.to_vec()))
}

/// UNLINK and RMDIR.
pub(crate) async fn remove(server: Server, directory: InodeId, name: Vec<u8>, is_directory: bool) -> Answer {
    let removed = match is_directory {
        true => server.fs.remove_directory(directory, &name).await,
        false => server.fs.unlink(directory, &name).await,
    };
    removed.map(|()| Vec::new()).map_err(|error| error.errno())
}

/// A move of a name.
#[derive(Debug)]
pub(crate) struct Move {
    from: (InodeId, Vec<u8>),
    to: (InodeId, Vec<u8>),
    occupied: Occupied,
}

impl Move {
    /// The arguments of RENAME and RENAME2.
    pub(crate) fn parse(message: &Message) -> Result<Move, i32> {
        let args = message.args();
        let flags = if message.header.opcode == abi::opcode::RENAME { Some(0) } else { u32_at(args, 8) };
        let occupied = match flags.ok_or(libc::EINVAL)? {
            0 => Occupied::Replace,
            NO_REPLACE => Occupied::Refuse,
            EXCHANGE => Occupied::Exchange,
            // Leaving a whiteout: rename(2) specifies EINVAL for file systems without it.
            _ => return Err(libc::EINVAL),
        };
        let directory = InodeId(u64_at(args, 0).ok_or(libc::EINVAL)?);
        let (old, new) = two_names(message.tail())?;
        Ok(Move { from: (InodeId(message.header.node), old), to: (directory, new), occupied })
    }

    pub(crate) async fn perform(self, server: Server) -> Answer {
        let Move { from, to, occupied } = self;
        let moved = server.fs.rename((from.0, &from.1), (to.0, &to.1), occupied).await;
        moved.map(|()| Vec::new()).map_err(|error| error.errno())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_zeroes() {
        assert_eq!(one_name(b"one\0two\0"), Ok(&b"one"[..]));
        assert_eq!(two_names(b"one\0two\0").unwrap(), (b"one".to_vec(), b"two".to_vec()));
        for bad in [&b""[..], b"\0", b"one\0", b"one"] {
            assert_eq!(two_names(bad), Err(libc::EINVAL), "{bad:?}");
        }
    }
}
