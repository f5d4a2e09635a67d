//! Data requested from hosts by R2T: which commands wait for it, and how much has arrived.
//!
//! A command has one request at a time, for all its data. A limit bounds the data that all
//! connections of a target gather at once; a command beyond the limit waits for its request.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use iolab_nvme_fabrics::{DataPart, Framing, PduError, RunningDigest};
use iolab_nvme_spec::SubmissionEntry;

/// Bytes that may be gathered at once.
#[derive(Debug, Clone)]
pub(super) struct Budget(Arc<AtomicUsize>);

impl Budget {
    pub(super) fn new(bytes: usize) -> Budget {
        Budget(Arc::new(AtomicUsize::new(bytes)))
    }

    fn take(&self, bytes: usize) -> bool {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(bytes)).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::AcqRel);
    }
}

/// A command whose data is being gathered.
#[derive(Debug)]
struct Transfer {
    entry: SubmissionEntry,
    buffer: Vec<u8>,
    received: usize,
    is_damaged: bool,
}

/// A command whose data has arrived.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) entry: SubmissionEntry,
    pub(super) data: Vec<u8>,
    /// Whether a digest was wrong.
    pub(super) is_damaged: bool,
}

/// A data PDU that is being received.
#[derive(Debug)]
pub(super) struct Incoming {
    tag: usize,
    /// Bytes of data still to be received.
    pub(super) left: usize,
    digest: Option<RunningDigest>,
}

/// The data that a connection gathers.
#[derive(Debug)]
pub(super) struct Transfers {
    budget: Budget,
    slots: Vec<Option<Transfer>>,
    waiting: VecDeque<(SubmissionEntry, usize)>,
    spare: Vec<Vec<u8>>,
    active: usize,
}

/// Buffers that a connection keeps for later.
const SPARE_BUFFERS: usize = 4;

impl Transfers {
    pub(super) fn new(budget: &Budget) -> Transfers {
        let budget = budget.clone();
        Transfers { budget, slots: Vec::new(), waiting: VecDeque::new(), spare: Vec::new(), active: 0 }
    }

    /// Commands that wait for data.
    pub(super) fn len(&self) -> usize {
        self.active + self.waiting.len()
    }

    /// Whether a command waits for its request.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Adds a command whose host will send `bytes`.
    pub(super) fn add(&mut self, entry: SubmissionEntry, bytes: usize) {
        self.waiting.push_back((entry, bytes));
    }

    /// Requests the data of as many commands as the budget allows.
    pub(super) fn ask(&mut self, framing: &Framing, out: &mut Vec<u8>) {
        while let Some((entry, bytes)) = self.waiting.front().copied() {
            if !self.budget.take(bytes) {
                return;
            }
            self.waiting.pop_front();
            let mut buffer = self.spare.pop().unwrap_or_default();
            buffer.clear();
            buffer.resize(bytes, 0);
            let free = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
            if free == self.slots.len() {
                self.slots.push(None);
            }
            self.slots[free] = Some(Transfer { entry, buffer, received: 0, is_damaged: false });
            self.active += 1;
            let part = DataPart {
                cid: entry.cid(),
                tag: free as u16,
                offset: 0,
                bytes: bytes as u32,
                is_last: true,
                is_success: false,
            };
            framing.ready_to_transfer(out, &part);
        }
    }

    /// Begins a data PDU.
    pub(super) fn begin(&self, part: &DataPart, has_digest: bool) -> Result<Incoming, PduError> {
        let tag = usize::from(part.tag);
        let Some(transfer) = self.slots.get(tag).and_then(Option::as_ref) else {
            return Err(PduError::field(10, "H2CData with a transfer tag that nobody gave"));
        };
        if transfer.entry.cid() != part.cid {
            return Err(PduError::field(8, "H2CData for another command than its transfer tag"));
        }
        let end = transfer.received + part.bytes as usize;
        if part.offset as usize != transfer.received || end > transfer.buffer.len() {
            return Err(PduError::out_of_range("H2CData outside of what was asked for"));
        }
        if part.is_last != (end == transfer.buffer.len()) {
            return Err(PduError::field(1, "LAST_PDU in the wrong place"));
        }
        let digest = has_digest.then(RunningDigest::default);
        Ok(Incoming { tag, left: part.bytes as usize, digest })
    }

    /// The destination of the next bytes of a PDU.
    pub(super) fn room(&mut self, incoming: &Incoming) -> &mut [u8] {
        match self.slots.get_mut(incoming.tag).and_then(Option::as_mut) {
            Some(transfer) => &mut transfer.buffer[transfer.received..transfer.received + incoming.left],
            None => &mut [],
        }
    }

    /// Records that this many bytes were received.
    pub(super) fn received(&mut self, incoming: &mut Incoming, bytes: usize) {
        if let Some(transfer) = self.slots.get_mut(incoming.tag).and_then(Option::as_mut) {
            if let Some(digest) = &mut incoming.digest {
                digest.add(&transfer.buffer[transfer.received..transfer.received + bytes]);
            }
            transfer.received += bytes;
            incoming.left -= bytes;
        }
    }

    /// Ends a PDU, whose digest was computed. Returns its command if all data of the command has
    /// arrived.
    pub(super) fn end(&mut self, incoming: Incoming, digest: Option<u32>) -> Option<Gathered> {
        let slot = self.slots.get_mut(incoming.tag)?;
        let transfer = slot.as_mut()?;
        if let (Some(computed), Some(came)) = (incoming.digest, digest) {
            transfer.is_damaged |= computed.value() != came;
        }
        if transfer.received < transfer.buffer.len() {
            return None;
        }
        let Transfer { entry, buffer, is_damaged, .. } = slot.take()?;
        self.active -= 1;
        self.budget.give_back(buffer.len());
        Some(Gathered { entry, data: buffer, is_damaged })
    }

    /// Takes a buffer back.
    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < SPARE_BUFFERS {
            self.spare.push(buffer);
        }
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        for transfer in self.slots.iter().flatten() {
            self.budget.give_back(transfer.buffer.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(tag: u16, offset: u32, bytes: u32, is_last: bool) -> DataPart {
        DataPart { cid: 9, tag, offset, bytes, is_last, is_success: false }
    }

    #[test]
    fn data_is_gathered_in_order_and_the_budget_is_kept() {
        let budget = Budget::new(3000);
        let mut transfers = Transfers::new(&budget);
        let mut out = Vec::new();
        let framing = Framing::before_connection();
        for _ in 0..2 {
            transfers.add(SubmissionEntry::new(1, 9), 2000);
        }
        transfers.ask(&framing, &mut out);
        assert_eq!((transfers.len(), out.len(), transfers.has_waiting()), (2, 24, true), "the second one waits");
        for wrong in [part(1, 0, 10, false), part(0, 1, 10, false), part(0, 0, 2001, true), part(0, 0, 10, true)] {
            assert!(transfers.begin(&wrong, false).is_err(), "{wrong:?}");
        }
        let mut first = transfers.begin(&part(0, 0, 500, false), false).unwrap();
        transfers.room(&first).fill(7);
        transfers.received(&mut first, 500);
        assert!(transfers.end(first, None).is_none());
        let mut second = transfers.begin(&part(0, 500, 1500, true), true).unwrap();
        assert_eq!(transfers.room(&second).len(), 1500);
        transfers.received(&mut second, 1500);
        let gathered = transfers.end(second, Some(1)).unwrap();
        assert!(gathered.is_damaged && gathered.data[499] == 7 && gathered.data[500] == 0);
        transfers.ask(&framing, &mut out);
        assert!(!transfers.has_waiting());
        drop(transfers);
        assert_eq!(budget.0.load(Ordering::Acquire), 3000);
    }
}
