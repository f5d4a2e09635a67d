//! Requests for an inode that another thread serves. That thread processes the whole request as if
//! it had received it, and the reply goes back to the thread that the kernel waits for.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use iolab_fuse::abi::{TransferArgs, opcode, u32_at};
use iolab_fuse::channel::Message;
use iolab_logfs::{InodeId, LocalVolume};

use crate::quick;
use crate::server::{Answer, Server};
use crate::slow::{self, Start};

/// Room for replies without a given length: `struct fuse_statx_out`, the target of a link.
const USUAL_ROOM: usize = 4096;

/// The payload of a request: the data that came with it, and room for a quick reply.
fn payload_of(message: &Message, payload: &[u8]) -> Vec<u8> {
    let args = message.args();
    let room = match message.header.opcode {
        opcode::WRITE => return payload.get(..message.data_bytes).unwrap_or_default().to_vec(),
        opcode::READ | opcode::READDIR | opcode::READDIRPLUS => TransferArgs::parse(args).map(|args| args.size),
        opcode::GETXATTR | opcode::LISTXATTR => u32_at(args, 0),
        _ => None,
    };
    vec![0; room.map_or(0, |room| room as usize).max(USUAL_ROOM).min(payload.len())]
}

/// The reply of the thread that serves the inode.
pub(crate) fn forwarded(fs: LocalVolume, message: &Message, payload: &[u8]) -> impl Future<Output = Answer> + 'static {
    let (inode, message, payload) = (InodeId(message.header.node), message.clone(), payload_of(message, payload));
    let answer = async move |there: Rc<Server>| Ok(answer(&there, &message, payload).await);
    async move { fs.beside(inode, answer).await.map_err(|error| error.errno())? }
}

/// A task that is awaited instead of started.
#[derive(Default)]
struct Awaited(RefCell<Option<Pin<Box<dyn Future<Output = Answer>>>>>);

impl Start for Awaited {
    fn start(&self, task: impl Future<Output = Answer> + 'static) {
        *self.0.borrow_mut() = Some(Box::pin(task));
    }
}

async fn answer(server: &Server, message: &Message, mut payload: Vec<u8>) -> Answer {
    if let Some(quick) = quick::answer(server, message, &mut payload) {
        payload.truncate(quick?);
        return Ok(payload);
    }
    let awaited = Awaited::default();
    slow::start(&awaited, server, message, &payload)?;
    let task = awaited.0.take();
    match task {
        Some(task) => task.await,
        None => Err(libc::EIO),
    }
}
