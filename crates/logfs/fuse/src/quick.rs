//! Requests that are answered from memory: the reply is written directly to where the transport
//! takes it, without waiting.

use iolab_executor::Spawner;
use iolab_fuse::abi::{Body, TransferArgs, opcode, u32_at, u64_at};
use iolab_fuse::channel::Message;
use iolab_logfs::{Error, InodeId, InodeKind, LocalVolume, Space};

use crate::acl;
use crate::attributes::{KnownAttributes, negative_entry};
use crate::directories::Listing;
use crate::names::one_name;
use crate::server::{Server, open_out};

/// Length of the reply in the payload, or an errno.
pub(crate) type Quick = Result<usize, i32>;

/// Longest name, bytes.
pub(crate) const NAME_BYTES: usize = 255;

/// Replies to a message if that is possible from memory.
pub(crate) fn answer(server: &Server, message: &Message, payload: &mut [u8]) -> Option<Quick> {
    let (inode, args) = (InodeId(message.header.node), message.args());
    if server.must_ask_others(message.header.opcode, inode) {
        return None;
    }
    Some(match message.header.opcode {
        opcode::LOOKUP => return lookup(server, inode, message.tail(), payload).transpose(),
        opcode::GETATTR => {
            known_attributes(&server.fs, inode).and_then(|known| fitted(known.attr_out(Body::new(payload))))
        }
        opcode::STATX => {
            known_attributes(&server.fs, inode).and_then(|known| fitted(known.statx_out(Body::new(payload))))
        }
        opcode::READLINK => server.fs.read_link(inode).map_err(errno).and_then(|target| copied(&target, payload)),
        opcode::OPEN => open(server, inode, args, payload),
        opcode::OPENDIR => open_directory(server, inode, payload),
        code @ (opcode::READDIR | opcode::READDIRPLUS) => {
            list(server, inode, code == opcode::READDIRPLUS, args, payload)
        }
        opcode::RELEASEDIR => {
            server.directories.borrow_mut().close(u64_at(args, 0).unwrap_or_default());
            Ok(0)
        }
        opcode::STATFS => fitted(statistics(&server.fs.space(), Body::new(payload))),
        opcode::LSEEK => seek(&server.fs, inode, args, payload),
        opcode::GETXATTR => attribute(server, inode, message, payload),
        opcode::LISTXATTR => attribute_names(&server.fs, inode, args, payload),
        // The kernel checks modes by itself (mount option default_permissions).
        opcode::ACCESS | opcode::FLUSH | opcode::DESTROY => Ok(0),
        opcode::RELEASE => {
            server.nodes.borrow_mut().closed(inode, u64_at(args, 0).unwrap_or_default());
            Ok(0)
        }
        _ => return None,
    })
}

/// Processes requests that have no reply, such as FORGET; returns true for those.
pub(crate) fn is_silent(server: &Server, message: &Message, spawner: &Spawner) -> bool {
    let args = message.args();
    match message.header.opcode {
        opcode::FORGET => {
            server.forget(InodeId(message.header.node), u64_at(args, 0).unwrap_or_default(), spawner);
        }
        opcode::BATCH_FORGET => {
            let count = u32_at(args, 0).unwrap_or_default() as usize;
            for one in args.get(8..).unwrap_or_default().chunks_exact(16).take(count) {
                let (Some(inode), Some(times)) = (u64_at(one, 0), u64_at(one, 8)) else { continue };
                server.forget(InodeId(inode), times, spawner);
            }
        }
        // Operations are not aborted half-way: a request in progress is completed.
        opcode::INTERRUPT => {}
        _ => return false,
    }
    true
}

fn errno(error: Error) -> i32 {
    error.errno()
}

fn fitted(body: Body<'_>) -> Quick {
    body.length().ok_or(libc::EIO)
}

fn copied(bytes: &[u8], payload: &mut [u8]) -> Quick {
    payload.get_mut(..bytes.len()).ok_or(libc::EIO)?.copy_from_slice(bytes);
    Ok(bytes.len())
}

fn known_attributes(fs: &LocalVolume, inode: InodeId) -> Result<KnownAttributes, i32> {
    KnownAttributes::of(fs, inode).map_err(errno)
}

/// `None` when the inode that is found belongs to another thread.
fn lookup(server: &Server, directory: InodeId, tail: &[u8], payload: &mut [u8]) -> Result<Option<usize>, i32> {
    match find(server, directory, tail)? {
        Some(inode) if !server.is_here(inode) => Ok(None),
        Some(inode) => copied(&server.entry(inode)?, payload).map(Some),
        None => fitted(negative_entry(Body::new(payload))).map(Some),
    }
}

/// The inode of a name, or `None`.
pub(crate) fn find(server: &Server, directory: InodeId, tail: &[u8]) -> Result<Option<InodeId>, i32> {
    let name = one_name(tail)?;
    if name.len() > NAME_BYTES {
        return Err(libc::ENAMETOOLONG);
    }
    // A file handle (open_by_handle_at(2)) is looked up as the node itself.
    let found = if name == b"." { Ok(directory) } else { server.fs.lookup(directory, name).map(|entry| entry.inode) };
    match found {
        Ok(inode) => Ok(Some(inode)),
        Err(Error::NotFound) if name != b"." && server.fs.stat(directory).is_ok() => Ok(None),
        Err(Error::NotFound) => Err(libc::ESTALE),
        Err(error) => Err(errno(error)),
    }
}

/// The cache stays valid from one open to the next, and a close has nothing to report.
fn open(server: &Server, inode: InodeId, args: &[u8], payload: &mut [u8]) -> Quick {
    if server.fs.stat(inode).map_err(errno)?.kind == InodeKind::Directory {
        return Err(libc::EISDIR);
    }
    let open_flags = u32_at(args, 0).ok_or(libc::EINVAL)?;
    server.nodes.borrow_mut().opened(inode, open_flags);
    fitted(open_out(Body::new(payload), open_flags))
}

fn open_directory(server: &Server, inode: InodeId, payload: &mut [u8]) -> Quick {
    if server.fs.stat(inode).map_err(errno)?.kind != InodeKind::Directory {
        return Err(libc::ENOTDIR);
    }
    let handle = server.directories.borrow_mut().open();
    fitted(Body::new(payload).u64(handle).u32(0).u32(0))
}

fn list(server: &Server, directory: InodeId, plus: bool, args: &[u8], payload: &mut [u8]) -> Quick {
    let TransferArgs { offset, size } = TransferArgs::parse(args).ok_or(libc::EINVAL)?;
    let handle = u64_at(args, 0).ok_or(libc::EINVAL)?;
    let room = payload.len().min(size as usize);
    let listing = Listing { directory, handle, offset, plus };
    let mut nodes = server.nodes.borrow_mut();
    let mut directories = server.directories.borrow_mut();
    directories.list(&server.fs, &mut nodes, listing, &mut payload[..room]).map_err(errno)
}

/// `struct fuse_kstatfs`.
pub(crate) fn statistics<'a>(space: &Space, body: Body<'a>) -> Body<'a> {
    /// Fewest bytes of log that an inode takes: limits the number of inodes.
    const INODE_BYTES: u64 = 256;
    let blocks = |bytes: u64| bytes / u64::from(space.block_bytes);
    let more = space.free_bytes / INODE_BYTES;
    let body = body.u64(blocks(space.total_bytes)).u64(blocks(space.free_bytes));
    let body = body.u64(blocks(space.available_bytes)).u64(space.inodes + more).u64(more);
    body.u32(space.block_bytes).u32(NAME_BYTES as u32).u32(space.block_bytes).zeroes(7 * 4)
}

fn seek(fs: &LocalVolume, inode: InodeId, args: &[u8], payload: &mut [u8]) -> Quick {
    let (Some(offset), Some(whence)) = (u64_at(args, 8), u32_at(args, 16)) else { return Err(libc::EINVAL) };
    let found = match whence as i32 {
        libc::SEEK_DATA => fs.next_data(inode, offset),
        libc::SEEK_HOLE => fs.next_hole(inode, offset),
        _ => return Err(libc::EINVAL),
    };
    let at = found.map_err(errno)?.ok_or(libc::ENXIO)?;
    fitted(Body::new(payload).u64(at))
}

fn attribute(server: &Server, inode: InodeId, message: &Message, payload: &mut [u8]) -> Quick {
    let name = one_name(message.tail())?;
    acl::refuse_unknown(server, name)?;
    let value = server.fs.extended(inode, name).map_err(errno)?;
    sized(&value, message.args(), payload)
}

fn attribute_names(fs: &LocalVolume, inode: InodeId, args: &[u8], payload: &mut [u8]) -> Quick {
    let mut list = Vec::new();
    for name in fs.extended_names(inode).map_err(errno)? {
        list.extend_from_slice(&name);
        list.push(0);
    }
    sized(&list, args, payload)
}

/// The value, or its length when the caller has no buffer yet (`struct fuse_getxattr_out`).
fn sized(value: &[u8], args: &[u8], payload: &mut [u8]) -> Quick {
    match u32_at(args, 0).ok_or(libc::EINVAL)? as usize {
        0 => fitted(Body::new(payload).u32(value.len() as u32).u32(0)),
        room if room < value.len() => Err(libc::ERANGE),
        _ => copied(value, payload),
    }
}
