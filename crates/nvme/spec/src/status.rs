//! The status field: how a command ended (Base, section 4.6.1).
//!
//! ```text
//! 14  13   12..11 10.8 7..0
//! DNR More CRD    SCT  SC
//! ```

mod names;

use crate::fields::{bits, codes};

bits! {
    /// Status Field of a completion, without the phase tag (Base, section 4.6.1). Displays as the
    /// specification's name.
    Status: u16 {
        /// Status Code; its meaning depends on the type.
        sc / with_sc: u8 [0; 8]
        /// Status Code Type, see [`StatusCodeType`].
        sct / with_sct: u8 [8; 3]
        /// Command Retry Delay: which of Identify's CRDT applies, 0 for none.
        crd / with_crd: u8 [11; 2]
        /// More: the error log has more details.
        more / with_more: bool [13]
        /// Do Not Retry.
        dnr / with_dnr: bool [14]
    }
}

codes! {
    /// Status Code Type (Base, section 4.6.1).
    StatusCodeType: u8 {
        GENERIC = 0, "Generic Command Status";
        COMMAND_SPECIFIC = 1, "Command Specific Status";
        MEDIA = 2, "Media and Data Integrity Errors";
        PATH = 3, "Path Related Status";
        VENDOR = 7, "Vendor Specific";
    }
}

impl Status {
    /// A status of this type and code, without flags.
    pub const fn new(sct: StatusCodeType, sc: u8) -> Status {
        Status(sc as u16 | (sct.0 as u16) << 8)
    }

    /// Type and code without the flags, to compare with the constants.
    #[inline]
    pub const fn code(self) -> Status {
        Status(self.0 & 0x7ff)
    }

    /// Whether the command succeeded.
    #[inline]
    pub const fn is_success(self) -> bool {
        self.code().0 == 0
    }

    /// The specification's name, where this crate knows one. Codes used by several command sets
    /// have the name of the NVM command set.
    pub fn name(self) -> Option<&'static str> {
        names::TABLE.iter().find(|(status, _)| *status == self.code()).map(|(_, name)| *name)
    }
}

impl core::fmt::Display for Status {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let name = self.name().unwrap_or("unknown status");
        write!(f, "{name} (SCT {:#x}, SC {:#04x}", self.sct(), self.sc())?;
        f.write_str(if self.dnr() { ", do not retry)" } else { ")" })
    }
}
