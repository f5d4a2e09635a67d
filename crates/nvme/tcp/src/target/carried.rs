//! A connection whose bytes are received and sent by a ring.

use std::net::Shutdown;

use iolab_sockets::{Parcel, RingBuffer};

use super::connection::{Connection, End};
use super::role::Role;
use crate::outbox::KEPT_BYTES;

/// If more received bytes than this are unprocessed, the host is not read from.
const MOST_UNREAD_BYTES: usize = 64 << 10;

impl Connection {
    /// Bytes that a ring is sending.
    #[inline]
    pub(super) fn on_the_way(&self) -> usize {
        self.carried.as_ref().map_or(0, |carried| carried.on_the_way)
    }

    /// Handles received bytes, and returns their buffer.
    #[inline]
    pub(super) fn feed(
        &mut self,
        buffer: RingBuffer,
        bytes: usize,
        now_ns: u64,
    ) -> (Option<RingBuffer>, Result<(), End>) {
        let inbox = &mut self.role.window().inbox;
        let is_lent = inbox.is_empty();
        let buffer = if is_lent {
            inbox.lend(buffer, bytes);
            None
        } else {
            inbox.append(&buffer.bytes()[..bytes]);
            Some(buffer)
        };
        let outcome = self.pump(now_ns);
        let is_over = matches!(self.role, Role::Ended(_));
        let inbox = &mut self.role.window().inbox;
        if is_over {
            inbox.clear();
        }
        (if is_lent { inbox.reclaim() } else { buffer }, outcome)
    }

    /// Whether more may be received.
    #[inline]
    pub(super) fn may_listen(&mut self) -> bool {
        self.role.window().inbox.unread().len() <= MOST_UNREAD_BYTES
    }

    /// The parcel to send now, if none is being sent.
    #[inline]
    pub(super) fn take_parcel(&mut self) -> Option<Box<Parcel>> {
        let out = &mut self.role.window().out.parcel;
        let unsent = out.unsent();
        let carried = self.carried.as_mut()?;
        if carried.on_the_way > 0 || unsent == 0 {
            return None;
        }
        let mut parcel = carried.spare.take().unwrap_or_default();
        std::mem::swap(&mut *parcel, out);
        carried.on_the_way = unsent;
        Some(parcel)
    }

    /// Records that a parcel was sent.
    #[inline]
    pub(super) fn has_sent(&mut self, parcel: Option<Box<Parcel>>) {
        if let Some(carried) = &mut self.carried {
            carried.on_the_way = 0;
            if let Some(mut parcel) = parcel {
                parcel.clear(KEPT_BYTES);
                carried.spare = Some(parcel);
            }
        }
    }

    /// Shuts down the sending direction, if everything was sent.
    #[inline]
    pub(super) fn end_if_sent(&mut self) -> Result<(), End> {
        let unsent = self.role.window().out.unsent();
        if let Some(carried) = &mut self.carried
            && carried.ends_when_sent
            && carried.on_the_way + unsent == 0
        {
            carried.ends_when_sent = false;
            return self.socket.shutdown(Shutdown::Write).map_err(End::from);
        }
        Ok(())
    }
}
