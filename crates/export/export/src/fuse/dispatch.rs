//! Decides what to do with a request: reply at once, or let the device do something.
//!
//! Pure: takes a message, returns an action. Requests about other files are refused here.

use crate::{ExportRequest, RequestKind};

use crate::fuse::shared_tree::SharedTree;
use crate::fuse::tree::{Answer, FILE, Tree};
use iolab_fuse::abi::{Body, ROOT, TransferArgs, opcode, u32_at, u64_at};
use iolab_fuse::channel::Message;

/// What to do about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Reply with this number of bytes of the payload, or with an errno.
    Reply(Answer),
    /// Let the device do it, then reply.
    Start(ExportRequest),
    /// No reply is expected.
    Silence,
}

/// Decides about a message. The body of a reply is written to `payload`, which for a WRITE contains
/// its data.
pub(crate) fn dispatch(tree: &SharedTree, message: &Message, now: impl Fn() -> u64, payload: &mut [u8]) -> Action {
    let (node, args) = (message.header.node, message.args());
    match message.header.opcode {
        opcode::READ => return device(read(node, args)),
        opcode::WRITE => {
            tree.touch();
            return device(write(node, message));
        }
        opcode::FSYNC if node == FILE => return Action::Start(plain(RequestKind::Flush, 0, 0)),
        opcode::FALLOCATE => {
            tree.touch();
            return allocate(&tree.lock(), node, args);
        }
        opcode::FORGET | opcode::BATCH_FORGET | opcode::INTERRUPT => return Action::Silence,
        _ => {}
    }
    Action::Reply(metadata(&mut tree.lock(), message, now, payload))
}

fn metadata(tree: &mut Tree, message: &Message, now: impl Fn() -> u64, payload: &mut [u8]) -> Answer {
    let (node, args) = (message.header.node, message.args());
    match message.header.opcode {
        opcode::LOOKUP => tree.lookup(node, args, Body::new(payload)),
        opcode::GETATTR => tree.get_attributes(node, now(), Body::new(payload)),
        opcode::SETATTR => tree.set_attributes(node, args, now(), Body::new(payload)),
        opcode::OPEN => tree.open(node, Body::new(payload)),
        opcode::OPENDIR => tree.open_folder(node, Body::new(payload)),
        code @ (opcode::READDIR | opcode::READDIRPLUS) => {
            let TransferArgs { offset, size } = TransferArgs::parse(args).ok_or(libc::EINVAL)?;
            if node != ROOT {
                return Err(libc::ENOTDIR);
            }
            tree.list(offset, size as usize, code == opcode::READDIRPLUS, payload)
        }
        opcode::STATFS => tree.statistics(Body::new(payload)),
        opcode::LSEEK if node == FILE => tree.seek(args, Body::new(payload)),
        // The kernel checks modes itself (mount option default_permissions).
        opcode::ACCESS | opcode::FLUSH | opcode::FSYNCDIR | opcode::FSYNC => Ok(0),
        opcode::RELEASE | opcode::RELEASEDIR | opcode::DESTROY => Ok(0),
        opcode::CREATE | opcode::MKNOD | opcode::MKDIR | opcode::SYMLINK | opcode::LINK | opcode::TMPFILE => {
            Err(libc::EPERM)
        }
        opcode::UNLINK | opcode::RMDIR | opcode::RENAME | opcode::RENAME2 => Err(libc::EPERM),
        // The kernel remembers this reply and does not ask again (extended attributes, locks,
        // ioctls and the like).
        _ => Err(libc::ENOSYS),
    }
}

fn device(request: Result<ExportRequest, i32>) -> Action {
    match request {
        Ok(request) => Action::Start(request),
        Err(errno) => Action::Reply(Err(errno)),
    }
}

fn plain(kind: RequestKind, offset: u64, length: u64) -> ExportRequest {
    ExportRequest { kind, offset, length }
}

#[inline]
fn read(node: u64, args: &[u8]) -> Result<ExportRequest, i32> {
    let TransferArgs { offset, size } = TransferArgs::parse(args).ok_or(libc::EINVAL)?;
    if node == FILE { Ok(plain(RequestKind::Read, offset, u64::from(size))) } else { Err(libc::EISDIR) }
}

#[inline]
fn write(node: u64, message: &Message) -> Result<ExportRequest, i32> {
    let TransferArgs { offset, size } = TransferArgs::parse(message.args()).ok_or(libc::EINVAL)?;
    if node != FILE || size as usize > message.data_bytes {
        return Err(libc::EINVAL);
    }
    Ok(plain(RequestKind::Write, offset, u64::from(size)))
}

/// FALLOCATE with `struct fuse_fallocate_in`: all space is allocated already, so only zeroing does
/// something.
fn allocate(tree: &Tree, node: u64, args: &[u8]) -> Action {
    let (Some(offset), Some(length), Some(mode)) = (u64_at(args, 8), u64_at(args, 16), u32_at(args, 24)) else {
        return Action::Reply(Err(libc::EINVAL));
    };
    if node != FILE {
        return Action::Reply(Err(libc::EISDIR));
    }
    let mode = mode as i32;
    let keeps_size = mode & libc::FALLOC_FL_KEEP_SIZE != 0;
    let fits = offset.checked_add(length).is_some_and(|end| end <= tree.size_bytes());
    match mode & !libc::FALLOC_FL_KEEP_SIZE {
        libc::FALLOC_FL_PUNCH_HOLE if keeps_size => Action::Start(plain(RequestKind::Zero, offset, length)),
        libc::FALLOC_FL_ZERO_RANGE if fits || keeps_size => Action::Start(plain(RequestKind::Zero, offset, length)),
        0 if fits => Action::Reply(Ok(0)),
        0 | libc::FALLOC_FL_ZERO_RANGE => Action::Reply(Err(libc::ENOSPC)),
        _ => Action::Reply(Err(libc::EOPNOTSUPP)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_fuse::abi::InHeader;

    const SIZE: u64 = 1 << 20;

    fn act(code: u32, node: u64, args: &[u8], data: &[u8]) -> (Action, Vec<u8>) {
        let tree = SharedTree::new(Tree::new("disk", crate::Size::new(SIZE, 512).unwrap(), (0, 0), 1));
        let mut message = Message::EMPTY;
        message.assemble(InHeader { length: 0, opcode: code, unique: 1, node, uid: 0, gid: 0 }, args, data);
        let mut payload = vec![0; 8192];
        (dispatch(&tree, &message, || 2, &mut payload), payload)
    }

    fn args_of(offset: u64, size: u32) -> Vec<u8> {
        let mut args = vec![0; 40];
        args[8..16].copy_from_slice(&offset.to_ne_bytes());
        args[16..20].copy_from_slice(&size.to_ne_bytes());
        args
    }

    #[test]
    fn transfers_are_for_the_device() {
        let read = plain(RequestKind::Read, 8192, 512);
        assert_eq!(act(opcode::READ, FILE, &args_of(8192, 512), &[]).0, Action::Start(read));
        let write = plain(RequestKind::Write, 3, 5);
        assert_eq!(act(opcode::WRITE, FILE, &args_of(3, 5), b"12345").0, Action::Start(write));
        assert_eq!(act(opcode::WRITE, FILE, &args_of(3, 6), b"12345").0, Action::Reply(Err(libc::EINVAL)));
        assert_eq!(act(opcode::READ, ROOT, &args_of(0, 512), &[]).0, Action::Reply(Err(libc::EISDIR)));
        assert_eq!(act(opcode::READ, FILE, &[0; 10], &[]).0, Action::Reply(Err(libc::EINVAL)));
        assert_eq!(act(opcode::FSYNC, FILE, &[0; 16], &[]).0, Action::Start(plain(RequestKind::Flush, 0, 0)));
    }

    #[test]
    fn allocating_zeroes_or_does_nothing() {
        let (keep, punch, zero) = (libc::FALLOC_FL_KEEP_SIZE, libc::FALLOC_FL_PUNCH_HOLE, libc::FALLOC_FL_ZERO_RANGE);
        let start = |offset, length| Action::Start(plain(RequestKind::Zero, offset, length));
        let table = [
            (punch | keep, 100, 5000, start(100, 5000)),
            (punch, 0, 4096, Action::Reply(Err(libc::EOPNOTSUPP))),
            (zero, 0, SIZE, start(0, SIZE)),
            (zero, 512, SIZE, Action::Reply(Err(libc::ENOSPC))),
            (zero | keep, 512, SIZE, start(512, SIZE)),
            (0, 0, SIZE, Action::Reply(Ok(0))),
            (keep, 1, SIZE, Action::Reply(Err(libc::ENOSPC))),
            (0, u64::MAX, 2, Action::Reply(Err(libc::ENOSPC))),
            (libc::FALLOC_FL_COLLAPSE_RANGE, 0, 4096, Action::Reply(Err(libc::EOPNOTSUPP))),
        ];
        for (mode, offset, length, expected) in table {
            let mut args = vec![0; 32];
            args[8..16].copy_from_slice(&u64::to_ne_bytes(offset));
            args[16..24].copy_from_slice(&u64::to_ne_bytes(length));
            args[24..28].copy_from_slice(&mode.to_ne_bytes());
            assert_eq!(act(opcode::FALLOCATE, FILE, &args, &[]).0, expected, "mode {mode} {offset}+{length}");
        }
    }

    #[test]
    fn names_come_as_payload_and_answers_go_there() {
        let (action, payload) = act(opcode::LOOKUP, ROOT, &[], b"disk\0");
        assert_eq!((action, payload[0]), (Action::Reply(Ok(128)), FILE as u8));
        assert_eq!(act(opcode::LOOKUP, ROOT, &[], b"other\0").0, Action::Reply(Err(libc::ENOENT)));
    }

    #[test]
    fn nothing_can_be_made_or_removed() {
        for code in [opcode::CREATE, opcode::MKNOD, opcode::UNLINK, opcode::RENAME2] {
            assert_eq!(act(code, ROOT, b"x\0", b"x\0").0, Action::Reply(Err(libc::EPERM)));
        }
        assert_eq!(act(22, FILE, &[], &[]).0, Action::Reply(Err(libc::ENOSYS)), "GETXATTR");
        assert_eq!(act(opcode::FORGET, FILE, &[], &[]).0, Action::Silence);
        assert_eq!(act(opcode::INTERRUPT, 0, &[], &[]).0, Action::Silence);
    }
}
