//! The submission queue entry: 64 bytes that describe one command (Base, section 4.2).
//!
//! ```text
//! word 63........32 31.........0
//!    0  NSID        CID|PSDT|FUSE|OPC     CDW 1, 0
//!    1  CDW3        CDW2
//!    2  MPTR
//!    3  PRP1, or first half of SGL1       DPTR
//!    4  PRP2, or second half of SGL1
//!    5  CDW11       CDW10
//!    6  CDW13       CDW12
//!    7  CDW15       CDW14
//! ```

use crate::fields::bits;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of an entry: CC.IOSQES is 6.
pub const SUBMISSION_ENTRY_BYTES: usize = 64;

/// A submission queue entry (Base, section 4.2), as eight words in memory order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SubmissionEntry {
    /// The words.
    pub words: [u64; 8],
}

const _: () = assert!(size_of::<SubmissionEntry>() == SUBMISSION_ENTRY_BYTES);

bits! {
    /// Command dword 0 (Base, section 4.2, figure "Command Dword 0").
    CommandDword0: u32 {
        /// Opcode.
        opc / with_opc: u8 [0; 8]
        /// Fused Operation: 0 none, 1 first, 2 second command.
        fuse / with_fuse: u8 [8; 2]
        /// PRP or SGL for Data Transfer, see [`DataPointerKind`].
        psdt / with_psdt: u8 [14; 2]
        /// Command Identifier.
        cid / with_cid: u16 [16; 16]
    }
}

crate::fields::codes! {
    /// Values of PSDT (Base, section 4.2).
    DataPointerKind: u8 {
        PRP = 0, "PRPs for data";
        SGL = 1, "SGL for data, buffer for metadata";
        SGL_AND_METADATA_SGL = 2, "SGL for data, SGL for metadata";
    }
}

impl SubmissionEntry {
    /// A command with this opcode and identifier; all other fields are zero.
    #[inline]
    pub const fn new(opcode: u8, cid: u16) -> SubmissionEntry {
        SubmissionEntry { words: [opcode as u64 | (cid as u64) << 16, 0, 0, 0, 0, 0, 0, 0] }
    }

    /// Command dword `index` (0 to 15).
    #[inline]
    pub const fn cdw(&self, index: usize) -> u32 {
        (self.words[index / 2] >> (index % 2 * 32)) as u32
    }

    /// The same entry with another dword `index` (0 to 15).
    #[must_use]
    #[inline]
    pub const fn with_cdw(mut self, index: usize, value: u32) -> SubmissionEntry {
        let shift = index % 2 * 32;
        self.words[index / 2] = self.words[index / 2] & !(0xffff_ffff << shift) | (value as u64) << shift;
        self
    }

    /// Command dword 0, field by field.
    #[inline]
    pub const fn cdw0(&self) -> CommandDword0 {
        CommandDword0(self.cdw(0))
    }

    /// Opcode.
    #[inline]
    pub const fn opc(&self) -> u8 {
        self.words[0] as u8
    }

    /// Command Identifier.
    #[inline]
    pub const fn cid(&self) -> u16 {
        (self.words[0] >> 16) as u16
    }

    /// The same entry with another command identifier.
    #[must_use]
    #[inline]
    pub const fn with_cid(self, cid: u16) -> SubmissionEntry {
        let cdw0 = self.cdw0().with_cid(cid).0;
        self.with_cdw(0, cdw0)
    }

    /// Namespace Identifier.
    #[inline]
    pub const fn nsid(&self) -> u32 {
        self.cdw(1)
    }

    /// The same entry for another namespace.
    #[must_use]
    #[inline]
    pub const fn with_nsid(self, nsid: u32) -> SubmissionEntry {
        self.with_cdw(1, nsid)
    }

    /// Metadata Pointer.
    #[inline]
    pub const fn mptr(&self) -> u64 {
        self.words[2]
    }

    /// The same entry with another metadata pointer.
    #[must_use]
    #[inline]
    pub const fn with_mptr(mut self, address: u64) -> SubmissionEntry {
        self.words[2] = address;
        self
    }

    /// PRP Entry 1.
    #[inline]
    pub const fn prp1(&self) -> u64 {
        self.words[3]
    }

    /// PRP Entry 2.
    #[inline]
    pub const fn prp2(&self) -> u64 {
        self.words[4]
    }

    /// The same entry with PRPs as data pointer.
    #[must_use]
    #[inline]
    pub const fn with_prps(mut self, prp1: u64, prp2: u64) -> SubmissionEntry {
        self.words[3] = prp1;
        self.words[4] = prp2;
        let cdw0 = self.cdw0().with_psdt(DataPointerKind::PRP.0).0;
        self.with_cdw(0, cdw0)
    }

    /// SGL Entry 1, if PSDT says that the data pointer is an SGL.
    #[inline]
    pub const fn sgl1(&self) -> crate::sgl::SglDescriptor {
        crate::sgl::SglDescriptor { words: [self.words[3], self.words[4]] }
    }

    /// The same entry with an SGL as data pointer.
    #[must_use]
    #[inline]
    pub const fn with_sgl(mut self, descriptor: crate::sgl::SglDescriptor) -> SubmissionEntry {
        self.words[3] = descriptor.words[0];
        self.words[4] = descriptor.words[1];
        let cdw0 = self.cdw0().with_psdt(DataPointerKind::SGL.0).0;
        self.with_cdw(0, cdw0)
    }

    /// Command dwords 10 and 11 as one number: the starting LBA of most I/O commands.
    #[inline]
    pub const fn slba(&self) -> u64 {
        self.words[5]
    }

    /// The same entry with another number in command dwords 10 and 11.
    #[must_use]
    #[inline]
    pub const fn with_slba(mut self, lba: u64) -> SubmissionEntry {
        self.words[5] = lba;
        self
    }
}
