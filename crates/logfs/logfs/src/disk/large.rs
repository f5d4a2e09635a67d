//! Large requests to a device that transfers during submission.
//!
//! Nobody gets a turn during a transfer. So each turn of the device does a piece of one large
//! request, and small requests that are made meanwhile pass it.

use iolab_disk::{Action, ActionKind, DiskCompletion, DiskRequest, Divided};

/// Longest piece beside other requests. A request of this length is not large.
pub(super) const PIECE_BYTES: usize = 128 << 10;
/// Longest piece while no task is ready and nothing else is in the device.
pub(super) const PIECE_BYTES_ALONE: usize = 512 << 10;

/// A request that is sent in pieces, one after the other.
pub(super) struct Large {
    pub(super) tag: u64,
    is_write: bool,
    /// Where the next piece begins on the device, and where the last one ends.
    at: u64,
    end: u64,
    buffer: Divided,
}

impl Large {
    /// Returns requests that are sent whole.
    pub(super) fn new(request: DiskRequest) -> Result<Large, DiskRequest> {
        let (at, bytes) = request.action.range();
        let is_write = request.action.kind() == ActionKind::Write;
        match request {
            DiskRequest { tag, action: Action::Read { buffer, .. } | Action::Write { buffer, .. } }
                if bytes > PIECE_BYTES as u64 =>
            {
                Ok(Large { tag, is_write, at, end: at + bytes, buffer: Divided::new(buffer) })
            }
            small => Err(small),
        }
    }

    /// The next piece; whether it is alone in the device.
    pub(super) fn next_piece(&mut self, is_alone: bool) -> DiskRequest {
        let most = if is_alone { PIECE_BYTES_ALONE } else { PIECE_BYTES };
        let (at, buffer) = (self.at, self.buffer.take(most));
        self.at += buffer.len() as u64;
        let action = if self.is_write { Action::Write { at, buffer } } else { Action::Read { at, buffer } };
        DiskRequest { tag: self.tag, action }
    }

    /// Whether nothing is left to do after this completion of a piece.
    pub(super) fn is_over(&self, piece: &DiskCompletion) -> bool {
        self.at == self.end || piece.result.is_err()
    }

    /// The completion of the whole, from that of its last piece.
    pub(super) fn completion(self, piece: DiskCompletion) -> DiskCompletion {
        let DiskCompletion { tag, result, buffer } = piece;
        drop(buffer);
        DiskCompletion { tag, result, buffer: self.buffer.rejoin() }
    }
}
