//! Errors of a PDU, in the terms of a termination request.

use iolab_nvme_spec::fabrics::tcp::FatalError;

/// A PDU that violates the protocol. The connection ends: its receiver sends the reason in a
/// TermReq.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} ({status}, information {information:#x})")]
pub struct PduError {
    /// Fatal Error Status (TCP, section 3.6.2).
    pub status: FatalError,
    /// Fatal Error Information: the offset of the faulty field, or the received digest.
    pub information: u32,
    /// The rule that was violated.
    pub what: &'static str,
}

impl PduError {
    /// A header field with an invalid value, at this offset of the header.
    pub const fn field(offset: u32, what: &'static str) -> PduError {
        PduError { status: FatalError::INVALID_HEADER_FIELD, information: offset, what }
    }

    /// A PDU that is not allowed now.
    pub const fn sequence(what: &'static str) -> PduError {
        PduError { status: FatalError::SEQUENCE_ERROR, information: 0, what }
    }

    /// Data outside the range that its command or request named.
    pub const fn out_of_range(what: &'static str) -> PduError {
        PduError { status: FatalError::DATA_OUT_OF_RANGE, information: 0, what }
    }

    /// More data than was negotiated.
    pub const fn limit(what: &'static str) -> PduError {
        PduError { status: FatalError::LIMIT_EXCEEDED, information: 0, what }
    }
}
