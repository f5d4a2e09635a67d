//! The Commands Supported and Effects log page.

use crate::fields::bits;
use crate::le::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Commands Supported and Effects (Base, section 5.14.1.5). Each entry is a [`CommandEffects`].
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct CommandsSupported {
    /// Admin commands, by opcode.
    pub acs: [U32; 256],
    /// I/O commands, by opcode.
    pub iocs: [U32; 256],
    /// Reserved.
    pub reserved2048: [u8; 2048],
}

const _: () = assert!(size_of::<CommandsSupported>() == 4096);

bits! {
    /// What a command may change (Base, section 5.14.1.5).
    CommandEffects: u32 {
        /// Command Supported.
        csupp / with_csupp: bool [0]
        /// Logical Block Content Change.
        lbcc / with_lbcc: bool [1]
        /// Namespace Capability Change.
        ncc / with_ncc: bool [2]
        /// Namespace Inventory Change.
        nic / with_nic: bool [3]
        /// Controller Capability Change.
        ccc / with_ccc: bool [4]
        /// Command Submission and Execution: 0 no restriction, 1 alone on the namespace, 2 alone on any namespace.
        cse / with_cse: u8 [16; 3]
        /// UUID Selection Supported.
        uuid / with_uuid: bool [19]
    }
}
