//! Encodes and decodes PDUs, with every kind of invalid data.

use iolab_nvme_fabrics::{DataPart, Digests, Framing, Pdu, PduError, Sender};
use iolab_nvme_spec::fabrics::tcp::FatalError;
use iolab_nvme_spec::{CompletionEntry, Status, SubmissionEntry};
use proptest::prelude::*;

const MOST: u32 = 8192;

fn framing(header: bool, data: bool, alignment: u8) -> Framing {
    Framing { digests: Digests { header, data }, send_alignment: alignment, most_capsule_data: MOST, most_data: MOST }
}

fn part(bytes: u32) -> DataPart {
    DataPart { cid: 5, tag: 6, offset: 512, bytes, is_last: true, is_success: false }
}

fn capsule(framing: &Framing, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    framing.command_header(&mut out, &SubmissionEntry::new(1, 77).words, data.len());
    if !data.is_empty() {
        let start = out.len();
        out.extend_from_slice(data);
        framing.end_data(&mut out, start);
    }
    out
}

/// All combinations of negotiated parameters.
fn agreements() -> impl Iterator<Item = Framing> {
    (0..4).flat_map(|digests| [0, 1, 31].map(|align| framing(digests & 1 != 0, digests & 2 != 0, align)))
}

#[test]
fn a_capsule_with_data_is_read_as_it_was_made() {
    let data: Vec<u8> = (0..4096u32).map(|byte| byte as u8).collect();
    for framing in agreements() {
        let bytes = capsule(&framing, &data);
        for end in 0..bytes.len() {
            // A prefix of a PDU is never an error.
            framing.next(&bytes[..end], Sender::Host).unwrap();
        }
        let (pdu, range) = framing.next(&bytes, Sender::Host).unwrap().unwrap();
        assert!(matches!(pdu, Pdu::Command(entry) if entry.cid() == 77), "{pdu:?}");
        assert_eq!((range.end(), &bytes[range.offset..range.offset + range.bytes]), (bytes.len(), &data[..]));
        assert!(range.offset.is_multiple_of((usize::from(framing.send_alignment) + 1) * 4));
        assert!(Framing::data_is_intact(&bytes, range));
        let mut spoilt = bytes.clone();
        spoilt[range.offset + 9] ^= 1;
        assert_eq!(Framing::data_is_intact(&spoilt, range), !framing.digests.data);
    }
}

#[test]
fn headers_without_data_are_read_as_they_were_made() {
    for framing in agreements() {
        let mut out = Vec::new();
        framing.response(&mut out, &CompletionEntry::new(0, 9, Status::INVALID_FIELD));
        let first = out.len();
        framing.ready_to_transfer(&mut out, &part(4096));
        let (pdu, range) = framing.next(&out, Sender::Controller).unwrap().unwrap();
        assert!(matches!(pdu, Pdu::Response(entry) if entry.cid() == 9 && entry.status() == Status::INVALID_FIELD));
        assert_eq!((range.bytes, range.end()), (0, first));
        let (pdu, range) = framing.next(&out[first..], Sender::Controller).unwrap().unwrap();
        assert!(matches!(pdu, Pdu::ReadyToTransfer { cid: 5, tag: 6, offset: 512, bytes: 4096 }));
        assert_eq!(first + range.end(), out.len());
    }
}

fn refused(framing: &Framing, bytes: &[u8], sender: Sender) -> (FatalError, u32) {
    let PduError { status, information, .. } = framing.next(bytes, sender).unwrap_err();
    (status, information)
}

#[test]
fn each_field_out_of_bounds_has_its_fatal_error() {
    let plain = framing(false, false, 0);
    let good = capsule(&plain, &[1; 512]);
    let with = |offset: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[offset] = value;
        bytes
    };
    let field = |offset| (FatalError::INVALID_HEADER_FIELD, offset);
    assert_eq!(refused(&plain, &with(0, 0x99), Sender::Host), field(0));
    assert_eq!(refused(&plain, &good, Sender::Controller), field(0));
    assert_eq!(refused(&plain, &with(1, 1), Sender::Host), field(1));
    assert_eq!(refused(&plain, &with(1, 2), Sender::Host), field(1));
    assert_eq!(refused(&plain, &with(2, 73), Sender::Host), field(2));
    assert_eq!(refused(&plain, &with(3, 71), Sender::Host), field(3));
    assert_eq!(refused(&plain, &with(3, 73), Sender::Host), field(3));
    let mut huge = good.clone();
    huge[4..8].fill(0xff);
    assert_eq!(refused(&plain, &huge[..8], Sender::Host).0, FatalError::LIMIT_EXCEEDED, "4 GiB, seen at once");
    huge[4..8].copy_from_slice(&[0; 4]);
    assert_eq!(refused(&plain, &huge[..8], Sender::Host), field(4));
    let digested = framing(true, true, 0);
    let mut wrong = capsule(&digested, &[1; 512]);
    wrong[20] ^= 4;
    assert_eq!(refused(&digested, &wrong, Sender::Host).0, FatalError::HEADER_DIGEST_ERROR);
    let mut out = Vec::new();
    plain.data_header(&mut out, Sender::Host, &part(512));
    out[17] = 0;
    assert_eq!(refused(&plain, &out, Sender::Host).0, FatalError::INVALID_HEADER_FIELD);
}

#[test]
fn the_handshake_and_the_end_are_read_as_they_were_made() {
    let start = Framing::before_connection();
    let mut out = Vec::new();
    Framing::ic_req(&mut out, Digests { header: true, data: false });
    let (pdu, _) = start.next(&out, Sender::Host).unwrap().unwrap();
    assert!(matches!(pdu, Pdu::IcReq(request) if request.dgst == 1 && request.hpda == 0));
    out.clear();
    Framing::ic_resp(&mut out, Digests { header: true, data: true }, 65536);
    let (pdu, _) = start.next(&out, Sender::Controller).unwrap().unwrap();
    assert!(matches!(pdu, Pdu::IcResp(answer) if answer.dgst == 3 && answer.maxh2cdata.get() == 65536));
    for sender in [Sender::Host, Sender::Controller] {
        out.clear();
        Framing::terminate(&mut out, sender, &PduError::field(4, "for the test"), &[9; 300]);
        let (pdu, range) = framing(true, true, 0).next(&out, sender).unwrap().unwrap();
        assert!(matches!(pdu, Pdu::Terminate { status: FatalError::INVALID_HEADER_FIELD, information: 4 }));
        assert_eq!((range.end(), out.len()), (152, 152), "at most 128 bytes of the header at fault");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_pdu_a_part_of_one_or_an_error(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        kind in 0u8..10, lengths in any::<bool>(), digests in 0u8..4, host in any::<bool>(),
    ) {
        let framing = framing(digests & 1 != 0, digests & 2 != 0, 0);
        let sender = if host { Sender::Host } else { Sender::Controller };
        let mut bytes = bytes;
        if bytes.len() >= 8 && lengths {
            let header = [128, 128, 24, 24, 72, 24, 24, 24, 0, 24][usize::from(kind)];
            (bytes[0], bytes[1], bytes[2], bytes[6], bytes[7]) = (kind, digests, header, 0, 0);
        }
        if let Ok(Some((_, range))) = framing.next(&bytes, sender) {
            prop_assert!(range.bytes <= MOST as usize && range.end() <= MOST as usize + 264);
        }
    }

    #[test]
    fn one_wrong_bit_of_a_digested_header_is_found(bit in 0usize..72 * 8, bytes in 0usize..600) {
        let framing = framing(true, true, 0);
        let mut pdu = capsule(&framing, &vec![3; bytes]);
        pdu[bit / 8] ^= 1 << (bit % 8);
        // A change that makes the PDU longer than the received bytes is not an error yet, but the
        // result is never a PDU.
        prop_assert!(!matches!(framing.next(&pdu, Sender::Host), Ok(Some(_))));
    }
}

#[test]
fn plain_data_is_what_reading_the_header_finds() {
    let framing = Framing { most_data: 1 << 20, ..Framing::before_connection() };
    for (is_last, is_success, offset, bytes) in
        [(true, true, 0, 4096), (true, false, 0, 512), (false, false, 0, 4096), (true, true, 512, 4096)]
    {
        let mut header = Vec::new();
        let part = DataPart { cid: 7, tag: 0, offset, bytes, is_last, is_success };
        framing.data_header(&mut header, Sender::Controller, &part);
        let found = framing.is_plain_data(&header, bytes);
        assert_eq!(found, (is_last && offset == 0).then_some(is_success));
        assert_eq!(framing.is_plain_data(&header, bytes + 4), None);
        for place in 0..header.len() {
            let mut other = header.clone();
            other[place] ^= 0x40;
            // The command's identifier and reserved fields are not checked.
            let is_ignored = matches!(place, 8..12 | 20..24);
            assert_eq!(framing.is_plain_data(&other, bytes).is_some(), found.is_some() && is_ignored, "byte {place}");
        }
    }
}
