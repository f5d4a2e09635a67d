//! Messages between ranks as MPI carries them: sent without waiting, received when they have come.
//!
//! Unsafe because MPI keeps pointers to what is being sent: the bytes of every send live here, at
//! one place, until MPI has said that it is done with them.
#![allow(unsafe_code, reason = "MPI_Isend and MPI_Test take pointers")]

use std::collections::VecDeque;
use std::mem::MaybeUninit;

use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Equivalence, Source};

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// Bytes of the stream between the client and the rank; none: the stream ends.
    Bytes = 1,
    /// The run is over.
    Over = 2,
}

/// One message.
pub(crate) struct Letter {
    pub(crate) from: usize,
    pub(crate) tag: Tag,
    pub(crate) bytes: Vec<u8>,
}

/// All messages of this rank.
pub(crate) struct Carrier<'w> {
    world: &'w SimpleCommunicator,
    sending: VecDeque<Sending>,
}

struct Sending {
    to: usize,
    request: ffi::MPI_Request,
    /// What MPI reads from; a boxed slice does not move when the queue does.
    bytes: Box<[u8]>,
}

impl<'w> Carrier<'w> {
    pub(crate) fn new(world: &'w SimpleCommunicator) -> Carrier<'w> {
        Carrier { world, sending: VecDeque::new() }
    }

    /// Begins to send.
    pub(crate) fn send(&mut self, to: usize, tag: Tag, bytes: Vec<u8>) {
        let bytes = bytes.into_boxed_slice();
        let count = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
        let mut request = MaybeUninit::<ffi::MPI_Request>::uninit();
        // SAFETY: the bytes stay where they are until `retire` has seen the request complete, since
        // only it removes them; the count is that of the bytes, which are a short piece.
        let request = unsafe {
            ffi::MPI_Isend(
                bytes.as_ptr().cast(),
                count,
                ffi::RSMPI_UINT8_T,
                to as i32,
                tag as i32,
                self.world.as_raw(),
                request.as_mut_ptr(),
            );
            // Errors end the whole job: that is MPI's default, which is not changed here.
            request.assume_init()
        };
        self.sending.push_back(Sending { to, request, bytes });
    }

    /// Forgets what has been sent. Returns whether there was something.
    pub(crate) fn retire(&mut self) -> bool {
        let before = self.sending.len();
        self.sending.retain_mut(|sending| {
            let mut is_done = 0;
            // SAFETY: the request is one of MPI_Isend that has not completed, because those that
            // have are removed.
            unsafe { ffi::MPI_Test(&raw mut sending.request, &raw mut is_done, ffi::RSMPI_STATUS_IGNORE) };
            is_done == 0
        });
        self.sending.len() < before
    }

    /// Bytes that are still being sent to a rank.
    pub(crate) fn waiting_bytes(&self, to: usize) -> usize {
        self.sending.iter().filter(|sending| sending.to == to).map(|sending| sending.bytes.len()).sum()
    }

    /// Whether something is still being sent.
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    /// The next message, if one has come.
    pub(crate) fn receive(&mut self) -> Option<Letter> {
        let (message, status) = self.world.any_process().immediate_matched_probe()?;
        let tag = if status.tag() == Tag::Over as i32 { Tag::Over } else { Tag::Bytes };
        let mut bytes = vec![0_u8; usize::try_from(status.count(u8::equivalent_datatype())).unwrap_or(0)];
        message.matched_receive_into(&mut bytes[..]);
        Some(Letter { from: status.source_rank() as usize, tag, bytes })
    }
}
