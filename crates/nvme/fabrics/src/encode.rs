//! Encodes PDUs as bytes to send.
//!
//! Everything is appended to a buffer of the caller, so that one system call can send many PDUs.

use iolab_nvme_spec::fabrics::tcp::{IcReq, IcResp, PduFlags, PduHeader, PduType, R2t, TermReq};
use iolab_nvme_spec::le::{U16, U32};
use iolab_nvme_spec::{CompletionEntry, FromZeros, IntoBytes};

use crate::digest::crc32c;
use crate::error::PduError;
use crate::framing::{DIGEST_BYTES, Digests, Framing, Sender};

/// The most bytes before the data of a PDU: PDO has eight bits.
pub const MOST_HEADER_BYTES: usize = 256;

/// A part of a command's data in a data PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataPart {
    /// Command Capsule CID.
    pub cid: u16,
    /// Transfer tag; 0 from a controller.
    pub tag: u16,
    /// Offset in the data of the command.
    pub offset: u32,
    /// Bytes.
    pub bytes: u32,
    /// Whether it is the last.
    pub is_last: bool,
    /// Whether it also reports a successful completion.
    pub is_success: bool,
}

impl Framing {
    /// The offset of data that follows a header of this length.
    #[inline]
    pub const fn data_offset(&self, header: usize) -> usize {
        let head = header + if self.digests.header { DIGEST_BYTES } else { 0 };
        head.next_multiple_of((self.send_alignment as usize + 1) * 4)
    }

    /// Bytes after the data.
    #[inline]
    pub const fn trailer_bytes(&self) -> usize {
        if self.digests.data { DIGEST_BYTES } else { 0 }
    }

    /// A common header for this much data.
    #[inline]
    fn common(&self, kind: PduType, header: usize, flags: PduFlags, data: usize) -> PduHeader {
        let head = header + if self.digests.header { DIGEST_BYTES } else { 0 };
        let (pdo, plen, flags) = match data {
            0 => (0, head, flags),
            _ => {
                let pdo = self.data_offset(header);
                (pdo, pdo + data + self.trailer_bytes(), flags.with_ddgst(self.digests.data))
            }
        };
        PduHeader {
            kind: kind.0,
            flags: flags.with_hdgst(self.digests.header).0,
            hlen: header as u8,
            pdo: pdo as u8,
            plen: U32::new(plen as u32),
        }
    }

    /// Ends a header that begins at `start` of `out`: appends its digest, and padding if data
    /// follows.
    #[inline]
    fn end_header(&self, out: &mut Vec<u8>, start: usize, has_data: bool) {
        if self.digests.header {
            let digest = crc32c(&out[start..]);
            out.extend_from_slice(&digest.to_le_bytes());
        }
        let written = out.len() - start;
        if has_data {
            let header = written - if self.digests.header { DIGEST_BYTES } else { 0 };
            let padded = self.data_offset(header);
            if padded != written {
                out.resize(start + padded, 0);
            }
        }
    }

    /// Appends the digest of the data from `start` to the end of `out`, if the connection has one.
    #[inline]
    pub fn end_data(&self, out: &mut Vec<u8>, start: usize) {
        if self.digests.data {
            let digest = crc32c(&out[start..]);
            out.extend_from_slice(&digest.to_le_bytes());
        }
    }

    /// Appends a command without data in its capsule.
    #[inline]
    pub fn command(&self, out: &mut Vec<u8>, entry: &[u64; 8]) {
        self.command_header(out, entry, 0);
    }

    /// Appends a command capsule up to its data, of which `bytes` follow; [`Framing::end_data`]
    /// ends it.
    #[inline]
    pub fn command_header(&self, out: &mut Vec<u8>, entry: &[u64; 8], bytes: usize) {
        let start = out.len();
        let common = self.common(PduType::CAPSULE_CMD, 72, PduFlags(0), bytes);
        out.extend_from_slice(common.as_bytes());
        out.extend_from_slice(entry.as_bytes());
        self.end_header(out, start, bytes > 0);
    }

    /// Appends a completion.
    #[inline]
    pub fn response(&self, out: &mut Vec<u8>, entry: &CompletionEntry) {
        let start = out.len();
        out.extend_from_slice(self.common(PduType::CAPSULE_RESP, 24, PduFlags(0), 0).as_bytes());
        out.extend_from_slice(entry.as_bytes());
        self.end_header(out, start, false);
    }

    /// Appends a data PDU up to its data; [`Framing::end_data`] ends it.
    #[inline]
    pub fn data_header(&self, out: &mut Vec<u8>, sender: Sender, part: &DataPart) {
        let start = out.len();
        let kind = if sender == Sender::Host { PduType::H2C_DATA } else { PduType::C2H_DATA };
        let flags = PduFlags(0).with_last(part.is_last).with_success(part.is_success);
        out.extend_from_slice(self.common(kind, 24, flags, part.bytes as usize).as_bytes());
        let mut body = [0; 16];
        body[..2].copy_from_slice(&part.cid.to_le_bytes());
        body[2..4].copy_from_slice(&part.tag.to_le_bytes());
        body[4..8].copy_from_slice(&part.offset.to_le_bytes());
        body[8..12].copy_from_slice(&part.bytes.to_le_bytes());
        out.extend_from_slice(&body);
        self.end_header(out, start, true);
    }

    /// Appends a Ready to Transfer, which requests a part of a command's data.
    pub fn ready_to_transfer(&self, out: &mut Vec<u8>, part: &DataPart) {
        let start = out.len();
        let request = R2t {
            header: self.common(PduType::R2T, 24, PduFlags(0), 0),
            cccid: U16::new(part.cid),
            ttag: U16::new(part.tag),
            r2to: U32::new(part.offset),
            r2tl: U32::new(part.bytes),
            reserved20: U32::ZERO,
        };
        out.extend_from_slice(request.as_bytes());
        self.end_header(out, start, false);
    }

    /// Appends the request that opens a connection, with the digests that the host wants. The host
    /// needs no alignment, and accepts one R2T of a command at a time.
    pub fn ic_req(out: &mut Vec<u8>, digests: Digests) {
        let mut request = IcReq::new_zeroed();
        request.header = bare(PduType::IC_REQ, 128, 128);
        request.dgst = digests.bits();
        out.extend_from_slice(request.as_bytes());
    }

    /// Appends the answer to that request. The controller needs no alignment either.
    pub fn ic_resp(out: &mut Vec<u8>, digests: Digests, most_data: u32) {
        let mut response = IcResp::new_zeroed();
        response.header = bare(PduType::IC_RESP, 128, 128);
        response.dgst = digests.bits();
        response.maxh2cdata = U32::new(most_data);
        out.extend_from_slice(response.as_bytes());
    }

    /// Appends the request that ends a connection, with the received part of the faulty header.
    pub fn terminate(out: &mut Vec<u8>, sender: Sender, error: &PduError, header: &[u8]) {
        let header = &header[..header.len().min(MOST_TERMINATED_HEADER_BYTES)];
        let kind = if sender == Sender::Host { PduType::H2C_TERM_REQ } else { PduType::C2H_TERM_REQ };
        let mut request = TermReq::new_zeroed();
        request.header = bare(kind, 24, 24 + header.len());
        request.fes = U16::new(error.status.0);
        request.fei = U32::new(error.information);
        out.extend_from_slice(request.as_bytes());
        out.extend_from_slice(header);
    }
}

/// Bytes of the faulty header in a termination request: no header is longer.
const MOST_TERMINATED_HEADER_BYTES: usize = 128;

const fn bare(kind: PduType, header: u8, length: usize) -> PduHeader {
    PduHeader { kind: kind.0, flags: 0, hlen: header, pdo: 0, plen: U32::new(length as u32) }
}
