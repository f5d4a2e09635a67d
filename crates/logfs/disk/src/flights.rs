//! Requests that have been or will be submitted to the kernel, and how they are merged into
//! transfers.
//!
//! ```text
//!  request ─▶ place, waiting ─ next ─▶ Transfer ─▶ kernel ─ end ─▶ completion of each request in it
//! ```
//!
//! Small waiting requests of one kind that are adjacent on the disk become one transfer over all
//! their buffers: a file system that writes block after block makes many of them, and each transfer
//! has a fixed cost. If the kernel does not report full success, each request is sent again by
//! itself, so that an error affects only the requests that it concerns.

use crate::{Action, ActionKind, DeviceError, DiskCompletion, DiskRequest};

/// Requests of at least this length are not merged: their bytes cost more than the transfer.
pub const UNMERGED_BYTES: u64 = 64 << 10;
/// A merged transfer is no longer than this: it would delay the completion of its first request.
pub const MERGED_MOST_BYTES: u64 = 128 << 10;

/// A request that has been or will be submitted to the kernel.
#[derive(Debug)]
pub(crate) struct Flying {
    request: DiskRequest,
    /// Bytes of it already transferred.
    moved: u64,
    /// Was part of a merged transfer that failed.
    goes_alone: bool,
    /// The next request of the same transfer.
    next: Option<u32>,
}

/// A transfer to submit to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// The place of its first request: the argument of [`Flights::end`].
    pub(crate) place: u32,
    pub(crate) kind: ActionKind,
    pub(crate) at: u64,
    pub(crate) length: u64,
    pub(crate) memory: Memory,
}

/// The memory that is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// One piece, from this address on; null for requests that transfer no bytes.
    Piece(*mut u8),
    /// This number of pieces, described from this address on; valid until the transfer has been
    /// submitted to the kernel.
    Pieces(*const libc::iovec, u32),
}

/// One piece of memory, as `struct iovec` (readv(2)) with a number for the address, so that a disk
/// can be sent to another thread.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Piece {
    address: usize,
    length: usize,
}

const _: () =
    assert!(size_of::<Piece>() == size_of::<libc::iovec>() && align_of::<Piece>() == align_of::<libc::iovec>());

impl Piece {
    fn new(address: *mut u8, length: u64) -> Piece {
        Piece { address: address.expose_provenance(), length: length as usize }
    }
}

/// All requests of a disk.
#[derive(Debug)]
pub(crate) struct Flights {
    /// By place; never reallocated.
    places: Vec<Option<Flying>>,
    free: Vec<u32>,
    /// Places of requests not submitted yet, in order, from `asked` on.
    waiting: Vec<u32>,
    asked: usize,
    /// Pieces of transfers that the kernel may not have seen yet; never more than there are places.
    pieces: Vec<Piece>,
    under_way: usize,
    finished: Vec<DiskCompletion>,
}

impl Flights {
    /// Makes room for this number of requests.
    pub(crate) fn new(places: u32) -> Flights {
        Flights {
            places: (0..places).map(|_| None).collect(),
            free: (0..places).rev().collect(),
            waiting: Vec::with_capacity(places as usize),
            asked: 0,
            pieces: Vec::with_capacity(places as usize),
            under_way: 0,
            finished: Vec::new(),
        }
    }

    /// Takes a request, or returns it when there is no place for it.
    pub(crate) fn admit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        let Some(place) = self.free.pop() else { return Err(request) };
        self.places[place as usize] = Some(Flying { request, moved: 0, goes_alone: false, next: None });
        self.under_way += 1;
        self.waiting.push(place);
        Ok(())
    }

    /// Completes a request that does not need the kernel.
    pub(crate) fn finish(&mut self, request: DiskRequest, result: Result<(), DeviceError>) {
        self.finished.push(request.complete(result));
    }

    /// Requests that have not ended.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Whether a request waits to be submitted.
    pub(crate) fn is_waiting(&self) -> bool {
        self.asked < self.waiting.len()
    }

    /// Moves the completions out.
    pub(crate) fn drain_into(&mut self, done: &mut Vec<DiskCompletion>) {
        done.append(&mut self.finished);
    }

    /// The kernel has seen every transfer returned so far, and has copied their pieces.
    pub(crate) fn all_shown(&mut self) {
        self.pieces.clear();
    }

    /// The next transfer to submit.
    pub(crate) fn next(&mut self) -> Option<Transfer> {
        let Some(&place) = self.waiting.get(self.asked) else {
            self.waiting.clear();
            self.asked = 0;
            return None;
        };
        self.asked += 1;
        let flying = self.places[place as usize].as_ref()?;
        let (at, length) = flying.request.action.range();
        let moved = flying.moved;
        let (kind, address) = (flying.request.action.kind(), address(flying).wrapping_add(moved as usize));
        let single = Transfer { place, kind, at: at + moved, length: length - moved, memory: Memory::Piece(address) };
        Some(if goes_with_others(flying) { self.join(single) } else { single })
    }

    /// Merges waiting requests that continue at the transfer's end into it.
    fn join(&mut self, mut transfer: Transfer) -> Transfer {
        let Memory::Piece(start) = transfer.memory else { return transfer };
        let first = self.pieces.len();
        let mut last = transfer.place;
        while let Some(&place) = self.waiting.get(self.asked) {
            let Some(next) = self.places[place as usize].as_ref().filter(|next| goes_with_others(next)) else { break };
            let (at, length) = next.request.action.range();
            let goes_on = next.request.action.kind() == transfer.kind && at == transfer.at + transfer.length;
            // The vector is never reallocated: the kernel may still have to read from it.
            let room = self.pieces.capacity() - self.pieces.len();
            if !goes_on || transfer.length + length > MERGED_MOST_BYTES || room < 2 {
                break;
            }
            if self.pieces.len() == first {
                self.pieces.push(Piece::new(start, transfer.length));
            }
            self.pieces.push(Piece::new(address(next), length));
            transfer.length += length;
            self.places[last as usize].as_mut().into_iter().for_each(|flying| flying.next = Some(place));
            last = place;
            self.asked += 1;
        }
        let count = (self.pieces.len() - first) as u32;
        if count > 0 {
            transfer.memory = Memory::Pieces(self.pieces[first..].as_ptr().cast(), count);
        }
        transfer
    }

    /// The transfer that began with the request in `place` has ended, with a number of bytes or a
    /// negative errno.
    pub(crate) fn end(&mut self, place: u32, result: i32) {
        let Some(flying) = self.places.get_mut(place as usize).and_then(Option::as_mut) else { return };
        if flying.next.is_some() {
            return self.end_joined(place, result);
        }
        match outcome(flying, result) {
            None => self.waiting.push(place),
            Some(result) => self.leave(place, result),
        }
    }

    fn end_joined(&mut self, first: u32, result: i32) {
        let total = self.joined(first).map(|(_, length)| length).sum::<u64>();
        let is_whole = u64::try_from(result) == Ok(total);
        let mut next = Some(first);
        while let Some(place) = next {
            let Some(flying) = self.places[place as usize].as_mut() else { return };
            next = flying.next.take();
            if is_whole {
                self.leave(place, Ok(()));
            } else {
                flying.goes_alone = true;
                self.waiting.push(place);
            }
        }
    }

    /// The requests of a transfer: place and length.
    fn joined(&self, first: u32) -> impl Iterator<Item = (u32, u64)> {
        let mut next = Some(first);
        std::iter::from_fn(move || {
            let place = next?;
            let flying = self.places[place as usize].as_ref()?;
            next = flying.next;
            Some((place, flying.request.action.range().1))
        })
    }

    fn leave(&mut self, place: u32, result: Result<(), DeviceError>) {
        self.under_way -= 1;
        self.free.push(place);
        let ended = self.places[place as usize].take();
        self.finished.extend(ended.map(|flying| flying.request.complete(result)));
    }

    /// The kernel does not answer any more: all requests end without their buffers, to which it may
    /// still write.
    pub(crate) fn lose(&mut self) {
        self.under_way = 0;
        self.waiting.clear();
        self.asked = 0;
        for flying in self.places.iter_mut().filter_map(Option::take) {
            let tag = flying.request.tag;
            let _leaked = std::mem::ManuallyDrop::new(flying);
            self.finished.push(DiskCompletion { tag, buffer: None, result: Err(DeviceError::Gone) });
        }
    }
}

fn address(flying: &Flying) -> *mut u8 {
    match &flying.request.action {
        Action::Read { buffer, .. } | Action::Write { buffer, .. } => buffer.address(),
        _ => std::ptr::null_mut(),
    }
}

/// Whether it may be merged into a transfer.
fn goes_with_others(flying: &Flying) -> bool {
    let moves_bytes = matches!(flying.request.action, Action::Read { .. } | Action::Write { .. });
    moves_bytes && !flying.goes_alone && flying.moved == 0 && flying.request.action.range().1 < UNMERGED_BYTES
}

/// The result of a request after its completion; `None` when the rest has to be sent again.
fn outcome(flying: &mut Flying, result: i32) -> Option<Result<(), DeviceError>> {
    let (is_discard, total) = match &flying.request.action {
        Action::Read { buffer, .. } | Action::Write { buffer, .. } => (false, buffer.len() as u64),
        Action::Flush => (false, 0),
        Action::Discard { .. } => (true, 0),
    };
    match -result {
        libc::EINTR | libc::EAGAIN => None,
        // A discard is advice: a range that cannot be punched stays as it is.
        libc::EOPNOTSUPP if is_discard => Some(Ok(())),
        errno if errno > 0 => Some(Err(DeviceError::Failed(errno))),
        // No bytes and no error: the device is shorter than its geometry says.
        0 if total > 0 => Some(Err(DeviceError::Failed(libc::EIO))),
        _ => {
            flying.moved += u64::from(result.unsigned_abs());
            (flying.moved >= total).then_some(Ok(()))
        }
    }
}

#[cfg(test)]
mod tests;
