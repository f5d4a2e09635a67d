//! The place of a command's data in the host's memory: resolves PRPs and SGLs into pieces.
//!
//! Guarantees: the pieces add up to exactly the requested bytes. Every rule of the specification
//! about offsets and descriptors is enforced with its status. The host's lists are read once.
//! Nothing is allocated once the vector of pieces has grown to the size that the host needs.
//!
//! The pieces may not be mapped; the copy finds that out.

mod prp;
mod sgl;

use iolab_nvme_spec::SubmissionEntry;
use iolab_nvme_spec::submission::DataPointerKind;
use iolab_pci_device::{HostMemory, SharedBytes};

use crate::command_error::{CommandError, place};
use crate::data_window::{DataDirection, DataWindow, Unreachable};

/// Consecutive bytes of the host's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
}

/// The address of a piece without memory, for a bit bucket. No mapping ends at this address.
const BUCKET: u64 = u64::MAX;

impl Piece {
    pub(crate) const fn new(address: u64, bytes: usize) -> Piece {
        Piece { address, bytes }
    }

    /// Whether the bytes are discarded.
    #[inline]
    pub(crate) const fn is_bucket(&self) -> bool {
        self.address == BUCKET
    }
}

/// Resolves the data of commands that refer to memory of the host.
#[derive(Debug)]
pub(crate) struct PcieData<M> {
    pub(crate) memory: M,
    /// Log2 of the host's page size.
    pub(crate) page_shift: u32,
    /// The window.
    pub(crate) pieces: Vec<Piece>,
}

impl<M> PcieData<M> {
    pub(crate) const fn new(memory: M) -> PcieData<M> {
        PcieData { memory, page_shift: 12, pieces: Vec::new() }
    }
}

impl<M: HostMemory> DataWindow for PcieData<M> {
    #[inline(always)]
    fn locate(
        &mut self,
        command: &SubmissionEntry,
        direction: DataDirection,
        bytes: usize,
    ) -> Result<(), CommandError> {
        self.pieces.clear();
        let (kind, first) = (DataPointerKind(command.cdw0().psdt()), command.prp1());
        let page_mask = (1u64 << self.page_shift) - 1;
        if kind == DataPointerKind::PRP && first & 3 == 0 && (first & page_mask) + bytes as u64 <= page_mask + 1 {
            self.pieces.push(Piece::new(first, bytes));
            return Ok(());
        }
        self.locate_several(command, direction, bytes)
    }

    #[inline]
    fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes).sum()
    }

    fn read(&mut self, to: &mut [u8]) -> Result<(), Unreachable> {
        let mut done = 0;
        for piece in &self.pieces {
            let end = (done + piece.bytes).min(to.len());
            self.memory.read(piece.address, &mut to[done..end]).map_err(|_| Unreachable)?;
            done = end;
        }
        Ok(())
    }

    fn write(&mut self, from: &[u8]) -> Result<(), Unreachable> {
        let mut done = 0;
        for piece in &self.pieces {
            let end = (done + piece.bytes).min(from.len());
            if !piece.is_bucket() {
                self.memory.write(piece.address, &from[done..end]).map_err(|_| Unreachable)?;
            }
            done = end;
        }
        Ok(())
    }

    #[inline]
    fn copy_to(&mut self, to: &SharedBytes, offset: usize) -> Result<(), Unreachable> {
        let mut at = offset;
        for piece in &self.pieces {
            self.memory.copy_out(piece.address, to, at, piece.bytes).map_err(|_| Unreachable)?;
            at += piece.bytes;
        }
        Ok(())
    }

    #[inline]
    fn copy_from(&mut self, from: &SharedBytes, offset: usize) -> Result<(), Unreachable> {
        let mut at = offset;
        for piece in &self.pieces {
            if !piece.is_bucket() {
                self.memory.copy_in(piece.address, from, at, piece.bytes).map_err(|_| Unreachable)?;
            }
            at += piece.bytes;
        }
        Ok(())
    }
}

impl<M: HostMemory> PcieData<M> {
    /// Resolves data that crosses pages or is described by scatter gather lists. This is a separate
    /// function, so that data within a page costs little.
    #[inline(never)]
    fn locate_several(
        &mut self,
        command: &SubmissionEntry,
        direction: DataDirection,
        bytes: usize,
    ) -> Result<(), CommandError> {
        let PcieData { memory, page_shift, pieces } = self;
        match DataPointerKind(command.cdw0().psdt()) {
            DataPointerKind::PRP => prp::resolve(memory, [command.prp1(), command.prp2()], bytes, *page_shift, pieces),
            DataPointerKind::SGL => sgl::resolve(memory, command.sgl1(), direction, bytes, pieces),
            _ => Err(CommandError::field(place::FLAGS, 6)),
        }
    }
}

/// The error for memory that a command names but the host has not mapped.
#[cold]
pub(crate) fn unreachable_data() -> CommandError {
    Unreachable.into()
}
