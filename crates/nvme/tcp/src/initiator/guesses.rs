//! Predictions of a queue about the next PDUs, and how far it trusts them ([`super::scatter`]).

use iolab_pci_device::DmaPlace;
use iolab_sockets::PieceList;

/// Bytes reserved for a header: 24 and a digest.
pub(super) const HEAD_ROOM: usize = 32;
/// Bytes of every header that arrives on a connected queue.
pub(super) const HEADER_BYTES: usize = 24;
/// The most PDUs that are predicted for one call.
pub(super) const MOST_UNITS: usize = 128;
/// The fewest PDUs that a prediction allows for.
const FEWEST_UNITS: usize = 4;
/// The most bytes that one call may receive beyond the data that has begun.
pub(super) const MOST_BYTES: usize = 512 << 10;
/// If nothing can be predicted, data of at least this size is received directly after its header.
pub(super) const DIRECT_BYTES: u32 = 16 << 10;
/// After a wrong prediction, this many receives make no prediction. The number grows with each
/// wrong one, up to the maximum.
const FIRST_DOUBT: u32 = 16;
const MOST_DOUBT: u32 = 4096;

/// A predicted PDU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    /// Its data: the slot, the destination, and the number of bytes; `None` for a PDU without data.
    pub(super) data: Option<(usize, DmaPlace, u32)>,
}

/// The state of a queue's predictions.
#[derive(Debug)]
pub(super) struct Scatter {
    pub(super) list: PieceList,
    pub(super) heads: Box<[u8]>,
    pub(super) units: Vec<Unit>,
    /// Bytes predicted beyond the data that has begun.
    pub(super) bytes: usize,
    /// How many PDUs are worth predicting.
    pub(super) reach: usize,
    /// How many receives still make no prediction.
    pub(super) doubt: u32,
    /// How many receives will make no prediction after the next wrong one.
    next_doubt: u32,
    /// Whether data also reports the completion.
    pub(super) marks_success: bool,
}

impl Default for Scatter {
    fn default() -> Scatter {
        Scatter {
            list: PieceList::default(),
            heads: vec![0; MOST_UNITS * HEAD_ROOM].into(),
            units: Vec::with_capacity(MOST_UNITS),
            bytes: 0,
            reach: FEWEST_UNITS,
            doubt: 0,
            next_doubt: FIRST_DOUBT,
            marks_success: true,
        }
    }
}

impl Scatter {
    #[inline]
    pub(super) fn head(&mut self, unit: usize) -> &mut [u8] {
        &mut self.heads[unit * HEAD_ROOM..(unit + 1) * HEAD_ROOM]
    }

    /// Records that something was received.
    #[inline]
    pub(super) fn has_received(&mut self) {
        self.doubt = self.doubt.saturating_sub(1);
    }

    /// Resets the predictions for another connection, perhaps to another target.
    pub(super) fn forget(&mut self) {
        (self.doubt, self.next_doubt, self.marks_success) = (0, FIRST_DOUBT, true);
    }

    pub(super) fn was_right(&mut self, units: usize) {
        // The next call then has room for everything that is available, and at a low rate no list
        // is built in vain.
        self.reach = (2 * units + 2).clamp(FEWEST_UNITS, MOST_UNITS);
        self.next_doubt = (self.next_doubt - self.next_doubt / 8).max(FIRST_DOUBT);
    }

    #[cold]
    pub(super) fn was_wrong(&mut self) {
        self.doubt = self.next_doubt;
        self.next_doubt = (self.next_doubt * 2).min(MOST_DOUBT);
    }
}
