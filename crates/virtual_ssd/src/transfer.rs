//! Where a command's data is in the host's memory: PRPs and SGLs made into pieces.
//!
//! Guarantees: pieces add up to exactly the bytes that were asked for; every rule of the specification about offsets
//! and descriptors is enforced with its status; the host's lists are read once. Nothing is allocated once the vector
//! of pieces has grown to what the host uses.
//!
//! Deliberately not here: whether the pieces are mapped. The copy finds that out.

mod prp;
mod sgl;

use iolab_nvme_spec::submission::DataPointerKind;
use iolab_nvme_spec::{Status, SubmissionEntry};
use iolab_pci_device::HostMemory;

use crate::refusal::{Refusal, place};

/// Consecutive bytes of the host's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
}

/// The address of a piece that is nowhere: what a bit bucket swallows. No mapping ends there.
const BUCKET: u64 = u64::MAX;

impl Piece {
    pub(crate) const fn new(address: u64, bytes: usize) -> Piece {
        Piece { address, bytes }
    }

    /// Whether the bytes go nowhere.
    #[inline]
    pub(crate) const fn is_bucket(&self) -> bool {
        self.address == BUCKET
    }
}

/// Which way data goes, as far as bit buckets care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToHost,
    FromHost,
}

/// Fills `pieces` with where the `bytes` of an I/O command are.
#[inline(always)]
pub(crate) fn resolve<M: HostMemory>(
    memory: &mut M,
    command: &SubmissionEntry,
    data: (Direction, usize),
    page_shift: u32,
    pieces: &mut Vec<Piece>,
) -> Result<(), Refusal> {
    pieces.clear();
    let (kind, first) = (DataPointerKind(command.cdw0().psdt()), command.prp1());
    let page_mask = (1u64 << page_shift) - 1;
    if kind == DataPointerKind::PRP && first & 3 == 0 && (first & page_mask) + data.1 as u64 <= page_mask + 1 {
        pieces.push(Piece::new(first, data.1));
        return Ok(());
    }
    resolve_several(memory, command, data, page_shift, pieces)
}

/// Data that crosses pages, or is described by scatter gather lists. Apart, so that a page costs little.
#[inline(never)]
fn resolve_several<M: HostMemory>(
    memory: &mut M,
    command: &SubmissionEntry,
    data: (Direction, usize),
    page_shift: u32,
    pieces: &mut Vec<Piece>,
) -> Result<(), Refusal> {
    match DataPointerKind(command.cdw0().psdt()) {
        DataPointerKind::PRP => prp::resolve(memory, command.prp1(), command.prp2(), data.1, page_shift, pieces),
        DataPointerKind::SGL => sgl::resolve(memory, command.sgl1(), data, pieces),
        _ => Err(Refusal::field(place::FLAGS, 6)),
    }
}

/// The same for admin commands, which must use PRPs (Base, section 4.2).
pub(crate) fn resolve_admin<M: HostMemory>(
    memory: &mut M,
    command: &SubmissionEntry,
    bytes: usize,
    page_shift: u32,
    pieces: &mut Vec<Piece>,
) -> Result<(), Refusal> {
    pieces.clear();
    prp::resolve(memory, command.prp1(), command.prp2(), bytes, page_shift, pieces)
}

/// Copies `data` to the pieces.
pub(crate) fn write_pieces<M: HostMemory>(memory: &mut M, pieces: &[Piece], data: &[u8]) -> Result<(), Refusal> {
    let mut done = 0;
    for piece in pieces {
        let end = (done + piece.bytes).min(data.len());
        if !piece.is_bucket() {
            memory.write(piece.address, &data[done..end]).map_err(|_| unreachable_data())?;
        }
        done = end;
    }
    Ok(())
}

/// Copies the pieces into `data`.
pub(crate) fn read_pieces<M: HostMemory>(memory: &mut M, pieces: &[Piece], data: &mut [u8]) -> Result<(), Refusal> {
    let mut done = 0;
    for piece in pieces {
        let end = (done + piece.bytes).min(data.len());
        memory.read(piece.address, &mut data[done..end]).map_err(|_| unreachable_data())?;
        done = end;
    }
    Ok(())
}

/// The host has not mapped what its command names (Base, section 4.6.1.2.1, Data Transfer Error).
#[cold]
pub(crate) fn unreachable_data() -> Refusal {
    Refusal::passing(Status::DATA_TRANSFER_ERROR).at(place::PRP1, 0)
}
