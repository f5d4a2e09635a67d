//! What is wrong with a PDU, as a termination request says it.

use iolab_nvme_spec::fabrics::tcp::FatalError;

/// A PDU that breaks the protocol. The connection ends: its receiver says why in a TermReq.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} ({status}, information {information:#x})")]
pub struct PduError {
    /// Fatal Error Status (TCP, section 3.6.2).
    pub status: FatalError,
    /// Fatal Error Information: the offset of the field at fault, or the digest that came.
    pub information: u32,
    /// The rule that was broken.
    pub what: &'static str,
}

impl PduError {
    /// A header field that must not have its value, at this offset of the header.
    pub const fn field(offset: u32, what: &'static str) -> PduError {
        PduError { status: FatalError::INVALID_HEADER_FIELD, information: offset, what }
    }

    /// A PDU that must not come now.
    pub const fn sequence(what: &'static str) -> PduError {
        PduError { status: FatalError::SEQUENCE_ERROR, information: 0, what }
    }

    /// Data outside of what its command or request named.
    pub const fn out_of_range(what: &'static str) -> PduError {
        PduError { status: FatalError::DATA_OUT_OF_RANGE, information: 0, what }
    }

    /// More than was agreed on.
    pub const fn limit(what: &'static str) -> PduError {
        PduError { status: FatalError::LIMIT_EXCEEDED, information: 0, what }
    }
}
