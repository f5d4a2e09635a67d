//! Scatter gather list descriptors (Base, section 4.4; Fabrics, section 2.3 for keyed and transport
//! blocks).
//!
//! ```text
//! word 63.....60 59....56 55..32 31..0
//!    0  address (or offset, by subtype)
//!    1  type     subtype  0      length
//! ```

use crate::fields::codes;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of a descriptor.
pub const SGL_DESCRIPTOR_BYTES: u64 = 16;

/// An SGL descriptor (Base, section 4.4), as two words in memory order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SglDescriptor {
    /// The words.
    pub words: [u64; 2],
}

const _: () = assert!(size_of::<SglDescriptor>() == SGL_DESCRIPTOR_BYTES as usize);

codes! {
    /// SGL descriptor types (Base, section 4.4, type table).
    SglType: u8 {
        DATA_BLOCK = 0x0, "SGL Data Block";
        BIT_BUCKET = 0x1, "SGL Bit Bucket";
        SEGMENT = 0x2, "SGL Segment";
        LAST_SEGMENT = 0x3, "SGL Last Segment";
        KEYED_DATA_BLOCK = 0x4, "Keyed SGL Data Block";
        TRANSPORT_DATA_BLOCK = 0x5, "Transport SGL Data Block";
        VENDOR = 0xf, "Vendor Specific";
    }
}

codes! {
    /// SGL descriptor subtypes (Base, section 4.4, subtype table).
    SglSubtype: u8 {
        ADDRESS = 0x0, "Address";
        OFFSET = 0x1, "Offset";
        TRANSPORT = 0xa, "Transport Specific";
    }
}

impl SglDescriptor {
    /// A descriptor of this type and subtype.
    #[inline]
    pub const fn new(kind: SglType, subtype: SglSubtype, address: u64, length: u32) -> SglDescriptor {
        let identifier = (kind.0 << 4 | subtype.0 & 0xf) as u64;
        SglDescriptor { words: [address, length as u64 | identifier << 56] }
    }

    /// Data at an address.
    #[inline]
    pub const fn data_block(address: u64, length: u32) -> SglDescriptor {
        SglDescriptor::new(SglType::DATA_BLOCK, SglSubtype::ADDRESS, address, length)
    }

    /// A segment of `length` bytes of descriptors, of which the last points to another segment.
    #[inline]
    pub const fn segment(address: u64, length: u32) -> SglDescriptor {
        SglDescriptor::new(SglType::SEGMENT, SglSubtype::ADDRESS, address, length)
    }

    /// A segment of `length` bytes of descriptors that is the last one.
    #[inline]
    pub const fn last_segment(address: u64, length: u32) -> SglDescriptor {
        SglDescriptor::new(SglType::LAST_SEGMENT, SglSubtype::ADDRESS, address, length)
    }

    /// Data in the capsule, `offset` bytes after its command (Fabrics, section 2.3).
    #[inline]
    pub const fn in_capsule(offset: u64, length: u32) -> SglDescriptor {
        SglDescriptor::new(SglType::DATA_BLOCK, SglSubtype::OFFSET, offset, length)
    }

    /// Data that the transport moves in its own way (Fabrics, section 2.3).
    #[inline]
    pub const fn transport(length: u32) -> SglDescriptor {
        SglDescriptor::new(SglType::TRANSPORT_DATA_BLOCK, SglSubtype::TRANSPORT, 0, length)
    }

    /// Data at an address of the host, which the controller accesses with this key (Fabrics,
    /// section 2.3). The length has three bytes, the key four.
    #[inline]
    pub const fn keyed(address: u64, length: u32, key: u32) -> SglDescriptor {
        let identifier = (SglType::KEYED_DATA_BLOCK.0 << 4 | SglSubtype::ADDRESS.0) as u64;
        SglDescriptor { words: [address, length as u64 & 0xff_ffff | (key as u64) << 24 | identifier << 56] }
    }

    /// Address or offset.
    #[inline]
    pub const fn address(&self) -> u64 {
        self.words[0]
    }

    /// Length in bytes.
    #[inline]
    pub const fn length(&self) -> u32 {
        self.words[1] as u32
    }

    /// Descriptor type.
    #[inline]
    pub const fn kind(&self) -> SglType {
        SglType((self.words[1] >> 60) as u8)
    }

    /// Descriptor subtype.
    #[inline]
    pub const fn subtype(&self) -> SglSubtype {
        SglSubtype((self.words[1] >> 56 & 0xf) as u8)
    }
}
