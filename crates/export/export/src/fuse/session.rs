//! Passes requests from a transport to the device, and replies back, for any transport.
//!
//! Remembers for every slot which request it will reply to. Does not know how replies are sent.

use crate::{Exporter, Finished, RequestKind};
use iolab_clock::Clock;
use iolab_engine::Lane;

use iolab_fuse::abi::Body;
use iolab_fuse::{Reply, Service, Taken};

use crate::fuse::ExportError;
use crate::fuse::dispatch::{Action, dispatch};
use crate::fuse::shared_tree::SharedTree;
use iolab_fuse::channel::Message;

/// The file system and its device.
#[derive(Debug)]
pub(crate) struct Session<'a, L: Lane> {
    pub(crate) exporter: Exporter<'a, L>,
    tree: SharedTree,
    uniques: Box<[u64]>,
    clock: Clock,
}

impl<'a, L: Lane> Session<'a, L> {
    pub(crate) fn new(exporter: Exporter<'a, L>, tree: SharedTree) -> Session<'a, L> {
        let uniques = vec![0; exporter.slots()].into();
        Session { exporter, tree, uniques, clock: Clock::monotonic() }
    }
}

impl<L: Lane> Service for Session<'_, L> {
    type Error = ExportError;

    fn shape(&self) -> (usize, usize) {
        (self.exporter.slots(), self.exporter.payload_bytes())
    }

    fn payload(&mut self, slot: u16) -> &mut [u8] {
        self.exporter.payload(slot)
    }

    fn payload_address(&self, slot: u16) -> u64 {
        self.exporter.payload_address(slot)
    }

    fn work(&mut self, arrived: bool) -> Result<(), ExportError> {
        self.exporter.work(arrived).map_err(ExportError::from)
    }

    fn is_busy(&self) -> bool {
        self.exporter.is_busy()
    }

    #[inline]
    fn take(&mut self, slot: u16, message: &Message) -> Taken {
        let unique = message.header.unique;
        let clock = &self.clock;
        let now = || clock.unix_ns() / 1_000_000_000;
        match dispatch(&self.tree, message, now, self.exporter.payload(slot)) {
            Action::Start(request) => {
                self.uniques[usize::from(slot)] = unique;
                self.exporter.start(slot, request);
                Taken::Started
            }
            Action::Reply(Ok(body_bytes)) => Taken::Reply(Reply { slot, unique, error: 0, body_bytes }),
            Action::Reply(Err(errno)) => Taken::Reply(Reply { slot, unique, error: -errno, body_bytes: 0 }),
            Action::Silence => Taken::Silence,
        }
    }

    #[inline]
    fn next_reply(&mut self) -> Option<Reply> {
        let Finished { slot, request, result } = self.exporter.next_finished()?;
        let unique = self.uniques[usize::from(slot)];
        if result < 0 {
            return Some(Reply { slot, unique, error: result, body_bytes: 0 });
        }
        let body_bytes = match request.kind {
            RequestKind::Read => result as usize,
            // struct fuse_write_out
            RequestKind::Write => {
                Body::new(self.exporter.payload(slot)).u32(result as u32).u32(0).length().unwrap_or_default()
            }
            _ => 0,
        };
        Some(Reply { slot, unique, error: 0, body_bytes })
    }
}
