//! PDUs of NVMe/TCP: the headers before the data (TCP, section 3.6).
//!
//! ```text
//! 0     1      2     3    4......7  8...
//! type  flags  HLEN  PDO  PLEN      PDU specific header, then HDGST?, padding up to PDO, data, DDGST?
//! ```

use crate::fields::{bits, codes};
use crate::le::{U16, U32};
use crate::{CompletionEntry, SubmissionEntry};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

codes! {
    /// PDU-Type (TCP, section 3.6.1).
    PduType: u8 {
        IC_REQ = 0x00, "ICReq";
        IC_RESP = 0x01, "ICResp";
        H2C_TERM_REQ = 0x02, "H2CTermReq";
        C2H_TERM_REQ = 0x03, "C2HTermReq";
        CAPSULE_CMD = 0x04, "CapsuleCmd";
        CAPSULE_RESP = 0x05, "CapsuleResp";
        H2C_DATA = 0x06, "H2CData";
        C2H_DATA = 0x07, "C2HData";
        R2T = 0x09, "R2T";
    }
}

bits! {
    /// FLAGS of the common header (TCP, section 3.6.2).
    PduFlags: u8 {
        /// A header digest follows the header.
        hdgst / with_hdgst: bool [0]
        /// A data digest follows the data.
        ddgst / with_ddgst: bool [1]
        /// The last data of a command or request.
        last / with_last: bool [2]
        /// The command succeeded; no response follows.
        success / with_success: bool [3]
    }
}

codes! {
    /// Fatal Error Status of a termination request (TCP, section 3.6.2).
    FatalError: u16 {
        INVALID_HEADER_FIELD = 1, "Invalid PDU Header Field";
        SEQUENCE_ERROR = 2, "PDU Sequence Error";
        HEADER_DIGEST_ERROR = 3, "Header Digest Error";
        DATA_OUT_OF_RANGE = 4, "Data Transfer Out of Range";
        LIMIT_EXCEEDED = 5, "R2T or Data Transfer Limit Exceeded";
        UNSUPPORTED_PARAMETER = 6, "Unsupported Parameter";
    }
}

/// Common Header of every PDU (TCP, section 3.6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct PduHeader {
    /// PDU-Type, see [`PduType`].
    pub kind: u8,
    /// Flags, see [`PduFlags`].
    pub flags: u8,
    /// Header Length in bytes, without the digest.
    pub hlen: u8,
    /// PDU Data Offset in bytes; 0 without data.
    pub pdo: u8,
    /// PDU Length in bytes, all parts included.
    pub plen: U32,
}

const _: () = assert!(size_of::<PduHeader>() == 8);

/// Initialize Connection Request (TCP, ICReq).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IcReq {
    /// Common header.
    pub header: PduHeader,
    /// PDU Format Version: 0.
    pub pfv: U16,
    /// Host PDU Data Alignment in dwords, less one.
    pub hpda: u8,
    /// Digests: bit 0 header, bit 1 data.
    pub dgst: u8,
    /// Maximum Number of Outstanding R2T for a command, less one.
    pub maxr2t: U32,
    /// Reserved.
    pub reserved16: [u8; 112],
}

const _: () = assert!(size_of::<IcReq>() == 128);

/// Initialize Connection Response (TCP, ICResp).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IcResp {
    /// Common header.
    pub header: PduHeader,
    /// PDU Format Version: 0.
    pub pfv: U16,
    /// Controller PDU Data Alignment in dwords, less one.
    pub cpda: u8,
    /// Digests: bit 0 header, bit 1 data.
    pub dgst: u8,
    /// Maximum Host to Controller Data length of a PDU in bytes.
    pub maxh2cdata: U32,
    /// Reserved.
    pub reserved16: [u8; 112],
}

const _: () = assert!(size_of::<IcResp>() == 128);

/// Termination Request, of the host or the controller (TCP, H2CTermReq and C2HTermReq). The faulty
/// header follows.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct TermReq {
    /// Common header.
    pub header: PduHeader,
    /// Fatal Error Status, see [`FatalError`].
    pub fes: U16,
    /// Fatal Error Information: the offset of the faulty field, or the digest.
    pub fei: U32,
    /// Reserved.
    pub reserved14: [u8; 10],
}

const _: () = assert!(size_of::<TermReq>() == 24);

/// Command Capsule (TCP, CapsuleCmd); data in the capsule may follow.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CapsuleCmd {
    /// Common header.
    pub header: PduHeader,
    /// Submission queue entry.
    pub entry: SubmissionEntry,
}

const _: () = assert!(size_of::<CapsuleCmd>() == 72);

/// Response Capsule (TCP, CapsuleResp).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CapsuleResp {
    /// Common header.
    pub header: PduHeader,
    /// Completion queue entry.
    pub entry: CompletionEntry,
}

const _: () = assert!(size_of::<CapsuleResp>() == 24);

/// Data, from host to controller or in the other direction (TCP, H2CData and C2HData).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DataPdu {
    /// Common header.
    pub header: PduHeader,
    /// Command Capsule CID.
    pub cccid: U16,
    /// Transfer Tag of the R2T (H2CData); reserved (C2HData).
    pub ttag: U16,
    /// Data Offset in bytes from the start of the command's data.
    pub datao: U32,
    /// Data Length in bytes.
    pub datal: U32,
    /// Reserved.
    pub reserved20: U32,
}

const _: () = assert!(size_of::<DataPdu>() == 24);

/// Ready to Transfer (TCP, R2T).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct R2t {
    /// Common header.
    pub header: PduHeader,
    /// Command Capsule CID.
    pub cccid: U16,
    /// Transfer Tag: the H2CData PDUs that answer this request must carry it.
    pub ttag: U16,
    /// Requested Data Offset in bytes.
    pub r2to: U32,
    /// Requested Data Length in bytes.
    pub r2tl: U32,
    /// Reserved.
    pub reserved20: U32,
}

const _: () = assert!(size_of::<R2t>() == 24);
