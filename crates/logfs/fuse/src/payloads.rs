//! The payloads of requests. A transfer borrows that of its request, so that data goes between the
//! transport and the device without a copy.

use iolab_disk::{Buffer, Divided};
use iolab_fuse::abi::Body;
use iolab_memory::{PoolView, SlotPool};

/// The payload of each slot.
#[derive(Debug)]
pub(crate) struct Payloads {
    /// `None` while a transfer has borrowed it.
    slots: Vec<Option<Buffer>>,
    view: PoolView,
}

impl Payloads {
    pub(crate) fn new(pool: SlotPool) -> Payloads {
        let view = pool.view();
        Payloads { slots: Buffer::slots_of(pool).map(Some).collect(), view }
    }

    /// The number of slots, and the bytes of payload in each.
    pub(crate) fn shape(&self) -> (usize, usize) {
        (self.view.slots(), self.view.slot_bytes())
    }

    /// Where a slot's payload is in memory.
    pub(crate) fn address(&self, slot: u16) -> u64 {
        self.view.slot_ptr(usize::from(slot)) as u64
    }

    /// The payload of a slot; empty while it is borrowed, and for good if the device lost it.
    pub(crate) fn of(&mut self, slot: u16) -> &mut [u8] {
        self.slots[usize::from(slot)].as_deref_mut().unwrap_or_default()
    }

    /// Borrows the payload of a slot, for a transfer over this number of bytes.
    pub(crate) fn lend(&mut self, slot: u16, bytes: usize) -> Option<Lent> {
        let payload = self.slots[usize::from(slot)].take_if(|payload| bytes <= payload.len())?;
        Some(Lent::new(payload, bytes))
    }

    /// Ends a transfer: puts its reply at the start of the payload. Returns the length of the
    /// reply, or an errno.
    pub(crate) fn end(&mut self, slot: u16, transfer: Transfer) -> Result<usize, i32> {
        let payload = &mut self.slots[usize::from(slot)];
        *payload = transfer.payload;
        transfer.moved?.reply(payload.as_deref_mut().ok_or(libc::EIO)?)
    }
}

/// A payload, of which a transfer uses the first bytes.
#[derive(Debug)]
pub(crate) struct Lent {
    whole: Divided,
    bytes: Buffer,
}

impl Lent {
    pub(crate) fn new(payload: Buffer, bytes: usize) -> Lent {
        let mut whole = Divided::new(payload);
        let bytes = whole.take(bytes);
        Lent { whole, bytes }
    }

    /// Does the transfer.
    pub(crate) async fn with<F>(self, transfer: impl FnOnce(Buffer) -> F) -> Transfer
    where
        F: Future<Output = Result<Moved, i32>>,
    {
        let moved = transfer(self.bytes).await;
        Transfer { moved, payload: self.whole.rejoin() }
    }
}

/// A transfer that has ended.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) moved: Result<Moved, i32>,
    /// `None` if the device lost it.
    pub(crate) payload: Option<Buffer>,
}

/// What a transfer has moved, bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moved {
    /// To the start of the payload.
    Read(usize),
    /// From the payload.
    Written(usize),
}

impl Moved {
    /// Puts the reply at the start of the payload; returns its length, or an errno.
    pub(crate) fn reply(self, payload: &mut [u8]) -> Result<usize, i32> {
        match self {
            Moved::Read(bytes) => Ok(bytes),
            Moved::Written(bytes) => write_out(Body::new(payload), bytes as u64).length().ok_or(libc::EIO),
        }
    }
}

/// `struct fuse_write_out`.
pub(crate) fn write_out(body: Body<'_>, bytes: u64) -> Body<'_> {
    body.u32(bytes as u32).u32(0)
}

#[cfg(test)]
mod tests {
    use iolab_memory::Backing;

    use super::*;

    fn two() -> Payloads {
        Payloads::new(SlotPool::new(2, 4096, 0, &Backing::Anonymous).unwrap())
    }

    /// Ends a transfer with this result; the device lost the payload if `is_lost`.
    fn ended(lent: Lent, moved: Result<Moved, i32>, is_lost: bool) -> Transfer {
        drop(lent.bytes);
        Transfer { moved, payload: lent.whole.rejoin().filter(|_| !is_lost) }
    }

    #[test]
    fn a_transfer_borrows_the_payload_and_its_reply_is_there() {
        let mut payloads = two();
        let address = payloads.address(1);
        payloads.of(1)[..3].copy_from_slice(b"abc");
        assert!(payloads.lend(1, 4097).is_none(), "longer than the payload");
        let lent = payloads.lend(1, 3).unwrap();
        assert_eq!((&lent.bytes[..], lent.bytes.address() as u64), (&b"abc"[..], address));
        assert!(payloads.of(1).is_empty() && payloads.lend(1, 1).is_none(), "it is borrowed");
        assert_eq!(payloads.of(0).len(), 4096, "the other one is not");
        assert_eq!(payloads.end(1, ended(lent, Ok(Moved::Written(3)), false)), Ok(8));
        assert_eq!(payloads.of(1)[..8], [3, 0, 0, 0, 0, 0, 0, 0]);
        let mut lent = payloads.lend(1, 4096).unwrap();
        lent.bytes.fill(7);
        assert_eq!(payloads.end(1, ended(lent, Ok(Moved::Read(100)), false)), Ok(100));
        assert!(payloads.of(1).iter().all(|&byte| byte == 7) && payloads.address(1) == address);
    }

    #[test]
    fn an_error_gives_the_payload_back_unless_the_device_lost_it() {
        let mut payloads = two();
        let lent = payloads.lend(0, 10).unwrap();
        assert_eq!(payloads.end(0, ended(lent, Err(libc::ENOSPC), false)), Err(libc::ENOSPC));
        assert_eq!(payloads.of(0).len(), 4096);
        let lent = payloads.lend(0, 10).unwrap();
        assert_eq!(payloads.end(0, ended(lent, Ok(Moved::Written(10)), true)), Err(libc::EIO));
        assert!(payloads.of(0).is_empty() && payloads.lend(0, 1).is_none());
    }
}
