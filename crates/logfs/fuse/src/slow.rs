//! Requests that may have to wait: each becomes a task.

use std::future::Future;

use iolab_disk::Buffer;
use iolab_executor::Spawner;
use iolab_fuse::abi::{Body, TransferArgs, opcode, u32_at};
use iolab_fuse::channel::Message;
use iolab_logfs::InodeId;

use crate::attributes::KnownAttributes;
use crate::changes::{Change, SetAttribute, remove_attribute};
use crate::finished::{Finished, Outbox, TaskResult};
use crate::names::{Move, New, link, look_up, one_name, parse_link, remove};
use crate::payloads::{Moved, Payloads};
use crate::quick::{find, statistics};
use crate::server::{Answer, Server, built};
use crate::syncing::{sync_all, sync_file};
use crate::transfers::{Allocate, Copy, Write, read};

/// Bit of `fsync_flags` for fdatasync(2) (`FUSE_FSYNC_FDATASYNC`).
const DATA_ONLY: u32 = 1;

/// How the task of a request is run.
pub(crate) trait Start {
    fn start(&mut self, task: impl Future<Output = Answer> + 'static);

    /// Starts a transfer over the first `bytes` of the payload.
    ///
    /// # Errors
    /// `EINVAL` if the payload is shorter.
    fn start_transfer<F>(&mut self, bytes: usize, transfer: impl FnOnce(Buffer) -> F + 'static) -> Result<(), i32>
    where
        F: Future<Output = Result<Moved, i32>> + 'static;
}

/// Starts tasks whose replies go to one slot.
pub(crate) struct Starter<'a> {
    pub(crate) spawner: &'a Spawner,
    pub(crate) outbox: &'a Outbox,
    pub(crate) payloads: &'a mut Payloads,
    pub(crate) slot: u16,
    pub(crate) unique: u64,
}

impl Start for Starter<'_> {
    fn start(&mut self, task: impl Future<Output = Answer> + 'static) {
        let (outbox, slot, unique) = (self.outbox.clone(), self.slot, self.unique);
        self.spawner.start(async move {
            let result = TaskResult::Answer(task.await);
            outbox.put(Finished { slot, unique, result });
        });
    }

    fn start_transfer<F>(&mut self, bytes: usize, transfer: impl FnOnce(Buffer) -> F + 'static) -> Result<(), i32>
    where
        F: Future<Output = Result<Moved, i32>> + 'static,
    {
        let (outbox, slot, unique) = (self.outbox.clone(), self.slot, self.unique);
        let lent = self.payloads.lend(slot, bytes).ok_or(libc::EINVAL)?;
        // The future of the transfer is made inside the task, which would otherwise have room for
        // it twice.
        self.spawner.start(async move {
            let result = TaskResult::Transfer(lent.with(transfer).await);
            outbox.put(Finished { slot, unique, result });
        });
        Ok(())
    }
}

/// Starts the task for a message, or returns an errno.
pub(crate) fn start(starter: &mut impl Start, server: &Server, message: &Message) -> Result<(), i32> {
    let (inode, args, server) = (InodeId(message.header.node), message.args(), server.clone());
    match message.header.opcode {
        opcode::READ => {
            let TransferArgs { offset, size } = TransferArgs::parse(args).ok_or(libc::EINVAL)?;
            starter.start_transfer(size as usize, move |buffer| read(server, inode, offset, buffer))?;
        }
        opcode::WRITE => {
            let write = Write::parse(message)?;
            starter.start_transfer(write.size, move |content| write.perform(server, content))?;
        }
        opcode::FSYNC | opcode::FSYNCDIR => {
            let flags = u32_at(args, 8).ok_or(libc::EINVAL)?;
            starter.start(sync_file(server, inode, flags & DATA_ONLY != 0));
        }
        opcode::LOOKUP => starter.start(look_up(server.clone(), find(&server, inode, message.tail())?)),
        opcode::GETATTR => starter.start(attributes(server, inode, |known, body| known.attr_out(body))),
        opcode::STATX => starter.start(attributes(server, inode, |known, body| known.statx_out(body))),
        opcode::STATFS => starter.start(space(server)),
        opcode::SYNCFS => starter.start(sync_all(server)),
        opcode::SETATTR => {
            let now_ns = server.clock.unix_ns();
            starter.start(Change::parse(message, now_ns)?.perform(server));
        }
        opcode::CREATE | opcode::TMPFILE | opcode::MKNOD | opcode::MKDIR | opcode::SYMLINK => {
            starter.start(New::parse(&server, message)?.make(server));
        }
        opcode::LINK => {
            let (linked, name) = parse_link(message)?;
            starter.start(link(server, inode, linked, name));
        }
        code @ (opcode::UNLINK | opcode::RMDIR) => {
            let name = one_name(message.tail())?.to_vec();
            starter.start(remove(server, inode, name, code == opcode::RMDIR));
        }
        opcode::RENAME | opcode::RENAME2 => starter.start(Move::parse(message)?.perform(server)),
        opcode::SETXATTR => starter.start(SetAttribute::parse(&server, message)?.perform(server)),
        opcode::REMOVEXATTR => {
            let name = one_name(message.tail())?.to_vec();
            starter.start(remove_attribute(server, inode, name));
        }
        opcode::FALLOCATE => starter.start(Allocate::parse(message)?.perform(server)),
        opcode::COPY_FILE_RANGE => starter.start(Copy::parse(message)?.perform(server)),
        // The kernel remembers this reply and does not ask again.
        _ => return Err(libc::ENOSYS),
    }
    Ok(())
}

/// GETATTR and STATX of an inode that several threads share.
async fn attributes(
    server: Server,
    inode: InodeId,
    put: impl for<'a> Fn(&KnownAttributes, Body<'a>) -> Body<'a>,
) -> Answer {
    let known = server.attributes(inode).await.map_err(|error| error.errno())?;
    Ok(built(|body| put(&known, body)))
}

/// STATFS over several threads.
async fn space(server: Server) -> Answer {
    let space = server.fs.clone().into_volume().space().await.map_err(|error| error.errno())?;
    Ok(built(|body| statistics(&space, body)))
}
