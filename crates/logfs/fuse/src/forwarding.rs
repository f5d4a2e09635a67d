//! Requests for an inode that another thread serves. That thread processes the whole request as if
//! it had received it, and the reply goes back to the thread that the kernel waits for.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use iolab_disk::Buffer;
use iolab_fuse::abi::{TransferArgs, opcode, u32_at};
use iolab_fuse::channel::Message;
use iolab_logfs::{InodeId, LocalVolume};

use crate::payloads::{Lent, Moved, Transfer};
use crate::quick;
use crate::server::{Answer, Server};
use crate::slow::{self, Start};

/// The length of `struct fuse_write_out`: data is padded to a multiple, so that the reply fits.
const WRITE_OUT_BYTES: usize = 8;
/// Room for replies without a given length: `struct fuse_statx_out`, the target of a link.
const USUAL_ROOM: usize = 4096;

/// The payload of a request: the data that came with it, or room for a reply.
fn payload_of(message: &Message, payload: &[u8]) -> Buffer {
    let args = message.args();
    let room = match message.header.opcode {
        opcode::WRITE => {
            let data = payload.get(..message.data_bytes).unwrap_or_default();
            return Buffer::padded(data, WRITE_OUT_BYTES);
        }
        opcode::READ | opcode::READDIR | opcode::READDIRPLUS => TransferArgs::parse(args).map(|args| args.size),
        opcode::GETXATTR | opcode::LISTXATTR => u32_at(args, 0),
        _ => None,
    };
    Buffer::zeroed(room.map_or(0, |room| room as usize).max(USUAL_ROOM).min(payload.len()))
}

/// The reply of the thread that serves the inode.
pub(crate) fn forwarded(fs: LocalVolume, message: &Message, payload: &[u8]) -> impl Future<Output = Answer> + 'static {
    let (inode, message, payload) = (InodeId(message.header.node), message.clone(), payload_of(message, payload));
    let answer = async move |there: Rc<Server>| Ok(answer(&there, &message, payload).await);
    async move { fs.beside(inode, answer).await.map_err(|error| error.errno())? }
}

/// A task that is awaited instead of started.
struct Awaited {
    task: Option<Pin<Box<dyn Future<Output = Answer>>>>,
    payload: Option<Buffer>,
}

impl Start for Awaited {
    fn start(&mut self, task: impl Future<Output = Answer> + 'static) {
        self.task = Some(Box::pin(task));
    }

    fn start_transfer<F>(&mut self, bytes: usize, transfer: impl FnOnce(Buffer) -> F + 'static) -> Result<(), i32>
    where
        F: Future<Output = Result<Moved, i32>> + 'static,
    {
        let payload = self.payload.take_if(|payload| bytes <= payload.len()).ok_or(libc::EINVAL)?;
        self.start(async move {
            let Transfer { moved, payload } = Lent::new(payload, bytes).with(transfer).await;
            let mut payload = payload.ok_or(libc::EIO)?;
            let length = moved?.reply(&mut payload)?;
            Ok(payload[..length].to_vec())
        });
        Ok(())
    }
}

async fn answer(server: &Server, message: &Message, mut payload: Buffer) -> Answer {
    if let Some(quick) = quick::answer(server, message, &mut payload) {
        return Ok(payload[..quick?].to_vec());
    }
    let mut awaited = Awaited { task: None, payload: Some(payload) };
    slow::start(&mut awaited, server, message)?;
    match awaited.task {
        Some(task) => task.await,
        None => Err(libc::EIO),
    }
}
