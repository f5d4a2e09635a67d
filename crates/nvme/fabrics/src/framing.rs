//! Divides a stream of bytes into PDUs, header by header (TCP, sections 3.2 and 3.6).
//!
//! ```text
//! |<- HLEN ->|<4>|<- padding ->|<- data ->|<4>|
//! | header   |HD |             |          |DD |
//! |<----------- PDO ---------->|
//! |<----------------- PLEN ------------------->|
//! ```
//!
//! The header is checked as soon as it is complete; the data may come later, in pieces. A length is
//! compared with the negotiated limit before it is used.

use iolab_nvme_spec::fabrics::tcp::{
    CapsuleCmd, CapsuleResp, DataPdu, FatalError, IcReq, IcResp, PduFlags, PduHeader, PduType, R2t, TermReq,
};
use iolab_nvme_spec::{CompletionEntry, FromBytes, SubmissionEntry};

use crate::digest::crc32c;
use crate::error::PduError;

/// Bytes of a digest.
pub(crate) const DIGEST_BYTES: usize = 4;
const COMMON_BYTES: usize = size_of::<PduHeader>();
/// The most bytes that follow the header of a termination request (TCP, section 3.6.2.3).
const MOST_TERMINATION_BYTES: usize = 128;

/// The digests that a connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Digests {
    /// Of headers.
    pub header: bool,
    /// Of data.
    pub data: bool,
}

impl Digests {
    /// The value of the DGST field.
    pub const fn bits(self) -> u8 {
        self.header as u8 | (self.data as u8) << 1
    }

    /// Decodes a DGST field.
    pub const fn of_bits(bits: u8) -> Digests {
        Digests { header: bits & 1 != 0, data: bits & 2 != 0 }
    }

    /// The digests that both ends want.
    pub const fn and(self, other: Digests) -> Digests {
        Digests { header: self.header && other.header, data: self.data && other.data }
    }
}

/// The sender of a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The host.
    Host,
    /// The controller.
    Controller,
}

/// The parameters that both ends of a connection have negotiated, as seen by one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// Digests of both directions.
    pub digests: Digests,
    /// Alignment of sent data, in dwords less one: the receiver's HPDA or CPDA.
    pub send_alignment: u8,
    /// The most bytes of data in a received capsule.
    pub most_capsule_data: u32,
    /// The most bytes of data in a received data PDU.
    pub most_data: u32,
}

/// Where the data of a PDU is, relative to its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataRange {
    /// Offset of the data.
    pub offset: usize,
    /// Bytes of data.
    pub bytes: usize,
    /// Whether a digest follows.
    pub has_digest: bool,
}

impl DataRange {
    /// Where the PDU ends.
    #[inline]
    pub const fn end(&self) -> usize {
        self.offset + self.bytes + if self.has_digest { DIGEST_BYTES } else { 0 }
    }
}

/// A PDU with a checked header.
#[derive(Debug, Clone, Copy)]
pub enum Pdu {
    /// Initialize Connection Request.
    IcReq(IcReq),
    /// Initialize Connection Response.
    IcResp(IcResp),
    /// A termination request of either end.
    Terminate {
        /// The reason.
        status: FatalError,
        /// The place.
        information: u32,
    },
    /// A command.
    Command(SubmissionEntry),
    /// A completion.
    Response(CompletionEntry),
    /// Data of a command.
    Data {
        /// Command Capsule CID.
        cid: u16,
        /// Transfer tag, from the host.
        tag: u16,
        /// Offset in the data of the command.
        offset: u32,
        /// Whether it is the last data of its command or request.
        is_last: bool,
        /// Whether it also reports a successful completion.
        is_success: bool,
    },
    /// Ready to Transfer.
    ReadyToTransfer {
        /// Command Capsule CID.
        cid: u16,
        /// The tag that the data must carry.
        tag: u16,
        /// Offset in the data of the command.
        offset: u32,
        /// Bytes that may be sent.
        bytes: u32,
    },
}

/// Header length of a PDU type that `sender` may send.
const fn header_bytes(kind: PduType, sender: Sender) -> Option<usize> {
    let (bytes, of) = match kind {
        PduType::IC_REQ => (size_of::<IcReq>(), Sender::Host),
        PduType::IC_RESP => (size_of::<IcResp>(), Sender::Controller),
        PduType::H2C_TERM_REQ => (size_of::<TermReq>(), Sender::Host),
        PduType::C2H_TERM_REQ => (size_of::<TermReq>(), Sender::Controller),
        PduType::CAPSULE_CMD => (size_of::<CapsuleCmd>(), Sender::Host),
        PduType::CAPSULE_RESP => (size_of::<CapsuleResp>(), Sender::Controller),
        PduType::H2C_DATA => (size_of::<DataPdu>(), Sender::Host),
        PduType::C2H_DATA => (size_of::<DataPdu>(), Sender::Controller),
        PduType::R2T => (size_of::<R2t>(), Sender::Controller),
        _ => return None,
    };
    // Compared as numbers, because `==` of enumerations is not const.
    if of as u8 == sender as u8 { Some(bytes) } else { None }
}

/// A structure at the start of `bytes`, which must be long enough.
#[inline(always)]
fn read<T: FromBytes>(bytes: &[u8]) -> Result<T, PduError> {
    T::read_from_prefix(bytes).map(|(value, _)| value).map_err(|_| PduError::field(2, "the header is too short"))
}

impl Framing {
    /// The framing before anything is negotiated: only ICReq and ICResp are allowed.
    pub const fn before_connection() -> Framing {
        let digests = Digests { header: false, data: false };
        Framing { digests, send_alignment: 0, most_capsule_data: 0, most_data: 0 }
    }

    /// Decodes the PDU at the start of `bytes`, and returns it with the place of its data; `None`
    /// while its header is incomplete.
    ///
    /// # Errors
    /// The header breaks a rule. This is reported as soon as it can be detected.
    pub fn next(&self, bytes: &[u8], sender: Sender) -> Result<Option<(Pdu, DataRange)>, PduError> {
        if bytes.len() < COMMON_BYTES {
            return Ok(None);
        }
        let common: PduHeader = read(bytes)?;
        let kind = PduType(common.kind);
        let Some(header) = header_bytes(kind, sender) else {
            return Err(PduError::field(0, "a PDU type that the sender must not send"));
        };
        if usize::from(common.hlen) != header {
            return Err(PduError::field(2, "HLEN does not fit the PDU type"));
        }
        let range = self.locate(&common, header)?;
        let digest = if self.has_header_digest(kind) { DIGEST_BYTES } else { 0 };
        if bytes.len() < header + digest {
            return Ok(None);
        }
        if digest > 0 {
            let came: [u8; 4] = read(&bytes[header..])?;
            let came = u32::from_le_bytes(came);
            if came != crc32c(&bytes[..header]) {
                let status = FatalError::HEADER_DIGEST_ERROR;
                return Err(PduError { status, information: came, what: "the header digest is wrong" });
            }
        }
        Ok(Some((self.body(kind, bytes, range.bytes)?, range)))
    }

    /// Checks by three comparisons whether a header without a digest belongs to all `bytes` of data
    /// of a command, directly after it. Returns whether it also reports the completion. The result
    /// is the one that [`Framing::next`] would return.
    #[inline]
    pub fn is_plain_data(&self, header: &[u8], bytes: u32) -> Option<bool> {
        const HEADER: u64 = size_of::<DataPdu>() as u64;
        const LAST: u64 = PduFlags(0).with_last(true).0 as u64;
        const SUCCESS: u64 = PduFlags(0).with_success(true).0 as u64;
        let word = |at: usize| Some(u64::from_le_bytes(*header.get(at..)?.first_chunk()?));
        let length = u64::from(bytes) + HEADER;
        let plain = PduType::C2H_DATA.0 as u64 | LAST << 8 | HEADER << 16 | HEADER << 24 | length << 32;
        let (first, offset, data) = (word(0)?, word(8)? >> 32, word(16)? as u32);
        let is_plain = first & !(SUCCESS << 8) == plain && offset == 0 && data == bytes;
        (is_plain && header.len() == HEADER as usize && length <= u64::from(u32::MAX))
            .then_some(first & SUCCESS << 8 != 0)
    }

    /// Termination requests and the handshake have no digests (TCP, section 3.6.2).
    #[inline]
    const fn has_header_digest(&self, kind: PduType) -> bool {
        self.digests.header && kind.0 > PduType::C2H_TERM_REQ.0
    }

    /// Checks flags and lengths.
    #[inline]
    fn locate(&self, common: &PduHeader, header: usize) -> Result<DataRange, PduError> {
        let kind = PduType(common.kind);
        let flags = PduFlags(common.flags);
        let length = common.plen.get() as usize;
        let expects_digest = self.has_header_digest(kind);
        if flags.hdgst() != expects_digest {
            return Err(PduError::field(1, "HDGSTF is not as agreed on"));
        }
        let head = header + if expects_digest { DIGEST_BYTES } else { 0 };
        let most = match kind {
            PduType::CAPSULE_CMD => self.most_capsule_data,
            PduType::H2C_DATA | PduType::C2H_DATA => self.most_data,
            PduType::H2C_TERM_REQ | PduType::C2H_TERM_REQ => {
                // The faulty header follows, without an offset of its own.
                if !(header..=header + MOST_TERMINATION_BYTES).contains(&length) {
                    return Err(PduError::field(4, "PLEN of a termination request is out of range"));
                }
                return Ok(DataRange { offset: header, bytes: length - header, has_digest: false });
            }
            _ => 0,
        };
        let must_have_data = matches!(kind, PduType::H2C_DATA | PduType::C2H_DATA);
        if length == head && !must_have_data {
            return match (flags.ddgst() && kind != PduType::CAPSULE_CMD, common.pdo) {
                (true, _) => Err(PduError::field(1, "DDGSTF without data")),
                _ => Ok(DataRange { offset: head, bytes: 0, has_digest: false }),
            };
        }
        if flags.ddgst() != self.digests.data {
            return Err(PduError::field(1, "DDGSTF is not as agreed on"));
        }
        let offset = usize::from(common.pdo);
        if offset < head || !offset.is_multiple_of(4) {
            return Err(PduError::field(3, "PDO lies in the header, or is not aligned"));
        }
        let tail = if self.digests.data { DIGEST_BYTES } else { 0 };
        let bytes = length.checked_sub(offset + tail).filter(|bytes| *bytes > 0);
        let Some(bytes) = bytes else { return Err(PduError::field(4, "PLEN leaves no room for data")) };
        if bytes > most as usize {
            return Err(match kind {
                PduType::CAPSULE_CMD | PduType::H2C_DATA | PduType::C2H_DATA => {
                    PduError::limit("more data in a PDU than agreed on")
                }
                _ => PduError::field(4, "PLEN of a PDU without data"),
            });
        }
        Ok(DataRange { offset, bytes, has_digest: self.digests.data })
    }

    #[inline]
    fn body(&self, kind: PduType, bytes: &[u8], data_bytes: usize) -> Result<Pdu, PduError> {
        Ok(match kind {
            PduType::CAPSULE_CMD => Pdu::Command(read::<CapsuleCmd>(bytes)?.entry),
            PduType::CAPSULE_RESP => Pdu::Response(read::<CapsuleResp>(bytes)?.entry),
            PduType::H2C_DATA | PduType::C2H_DATA => {
                let data: DataPdu = read(bytes)?;
                if data.datal.get() as usize != data_bytes {
                    return Err(PduError::field(16, "DATAL contradicts PLEN"));
                }
                let flags = PduFlags(data.header.flags);
                let is_success = kind == PduType::C2H_DATA && flags.success();
                if is_success && !flags.last() {
                    return Err(PduError::field(1, "SUCCESS without LAST_PDU"));
                }
                Pdu::Data {
                    cid: data.cccid.get(),
                    tag: data.ttag.get(),
                    offset: data.datao.get(),
                    is_last: flags.last(),
                    is_success,
                }
            }
            PduType::R2T => {
                let request: R2t = read(bytes)?;
                if request.r2tl.get() == 0 {
                    return Err(PduError::field(16, "R2T for no data"));
                }
                Pdu::ReadyToTransfer {
                    cid: request.cccid.get(),
                    tag: request.ttag.get(),
                    offset: request.r2to.get(),
                    bytes: request.r2tl.get(),
                }
            }
            PduType::IC_REQ => Pdu::IcReq(read(bytes)?),
            PduType::IC_RESP => Pdu::IcResp(read(bytes)?),
            _ => {
                let request: TermReq = read(bytes)?;
                Pdu::Terminate { status: FatalError(request.fes.get()), information: request.fei.get() }
            }
        })
    }

    /// Checks the digest of complete data, if there is one. `pdu` holds all bytes of the PDU. A
    /// wrong digest does not end the connection (TCP, section 3.3.1.1).
    #[inline]
    pub fn data_is_intact(pdu: &[u8], range: DataRange) -> bool {
        !range.has_digest || {
            let data = &pdu[range.offset..range.offset + range.bytes];
            pdu[range.offset + range.bytes..range.end()] == crc32c(data).to_le_bytes()
        }
    }
}
