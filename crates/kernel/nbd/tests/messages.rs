//! Requests and replies: read as they were made, wherever they are cut, and any bytes without a
//! panic.

use iolab_nbd::{
    CHUNK_BYTES, DATA_CHUNK_BYTES, NbdChunk, NbdCommand, NbdReply, NbdRequest, REQUEST_BYTES, SIMPLE_REPLY_BYTES,
    data_chunk, done_chunk, error_chunk, simple_reply,
};
use proptest::prelude::*;

/// A chunk with any type and content.
fn chunk(kind: u16, content: &[u8]) -> Vec<u8> {
    let mut bytes = done_chunk(7).to_vec();
    bytes[6..8].copy_from_slice(&kind.to_be_bytes());
    bytes[16..20].copy_from_slice(&(content.len() as u32).to_be_bytes());
    bytes.extend_from_slice(content);
    bytes
}

fn content(bytes: &[u8]) -> Result<NbdChunk, String> {
    match NbdReply::decode(bytes).map_err(|error| error.to_string())? {
        Some((NbdReply::Chunk { cookie: 7, is_last: true, content }, _)) => Ok(content),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn each_type_of_a_chunk_is_read() {
    let hole = [&9u64.to_be_bytes()[..], &5u32.to_be_bytes()].concat();
    let error = [&28u32.to_be_bytes()[..], &2u16.to_be_bytes(), b"no"].concat();
    let error_at = [&error[..], &3u64.to_be_bytes()].concat();
    let table = [
        (chunk(0, &[]), NbdChunk::Nothing),
        (chunk(1, &[&9u64.to_be_bytes()[..], b"abc"].concat()), NbdChunk::Data { offset: 9, bytes: 3 }),
        (chunk(2, &hole), NbdChunk::Hole { offset: 9, bytes: 5 }),
        (chunk(0x8001, &error), NbdChunk::Error { error: 28, text_bytes: 2 }),
        (chunk(0x8002, &error_at), NbdChunk::Error { error: 28, text_bytes: 10 }),
        (chunk(0x8fff, &error_at), NbdChunk::Error { error: 28, text_bytes: 10 }),
        (chunk(5, &[1; 30]), NbdChunk::Other { bytes: 30 }),
    ];
    for (bytes, expected) in table {
        assert_eq!(content(&bytes), Ok(expected));
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let long_text = [&28u32.to_be_bytes()[..], &9u16.to_be_bytes(), b"no"].concat();
    let too_long = [&28u32.to_be_bytes()[..], &4097u16.to_be_bytes(), &[0; 4097]].concat();
    for (kind, bytes) in [
        (0, &[0; 1][..]),
        (1, &[0; 7]),
        (1, &[0; 8]),
        (2, &[0; 11]),
        (2, &[0; 13]),
        (0x8001, &[0; 5]),
        (0x8001, &long_text),
        (0x8001, &too_long),
        (0x8002, &[0; 6]),
    ] {
        let said = content(&chunk(kind, bytes)).unwrap_err();
        assert!(said.contains("length") || said.contains("has none"), "{kind} {bytes:?}: {said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn requests_come_back(number in 0u16..9, flags: u16, cookie: u64, offset: u64, length: u32) {
        let command = match number {
            0 => NbdCommand::Read,
            1 => NbdCommand::Write,
            2 => NbdCommand::Disconnect,
            3 => NbdCommand::Flush,
            4 => NbdCommand::Trim,
            6 => NbdCommand::WriteZeroes,
            other => NbdCommand::Other(other),
        };
        let request = NbdRequest { command, flags, cookie, offset, length };
        let bytes = request.encode();
        prop_assert_eq!(NbdRequest::decode(&bytes), Ok(Some(request)));
        for end in 0..REQUEST_BYTES {
            prop_assert_eq!(NbdRequest::decode(&bytes[..end]), Ok(None));
        }
        let mut wrong = bytes;
        wrong[(cookie % 4) as usize] ^= 1;
        prop_assert!(NbdRequest::decode(&wrong).is_err());
    }

    #[test]
    fn replies_come_back(cookie: u64, error: u32, offset: u64, bytes in 1u32..u32::MAX - 8, text in "[ -~]{0,40}") {
        let mut failed = Vec::new();
        error_chunk(&mut failed, cookie, error, &text);
        let text_bytes = text.len() as u32;
        let chunk = |content| NbdReply::Chunk { cookie, is_last: true, content };
        let table = [
            (simple_reply(cookie, error).to_vec(), NbdReply::Simple { cookie, error }, SIMPLE_REPLY_BYTES),
            (done_chunk(cookie).to_vec(), chunk(NbdChunk::Nothing), CHUNK_BYTES),
            (data_chunk(cookie, offset, bytes).to_vec(), chunk(NbdChunk::Data { offset, bytes }), DATA_CHUNK_BYTES),
            (failed, chunk(NbdChunk::Error { error, text_bytes }), CHUNK_BYTES + 6),
        ];
        for (made, expected, used) in table {
            prop_assert_eq!(NbdReply::decode(&made), Ok(Some((expected, used))));
            for end in 0..used {
                prop_assert_eq!(NbdReply::decode(&made[..end]), Ok(None));
            }
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80), kind: u16, simple: bool) {
        let _ = NbdRequest::decode(&bytes);
        let _ = NbdReply::decode(&bytes);
        let mut chunk = if simple { simple_reply(1, 0).to_vec() } else { done_chunk(1).to_vec() };
        if !simple {
            chunk[6..8].copy_from_slice(&kind.to_be_bytes());
        }
        let header = chunk.len() - 4;
        chunk.truncate(header);
        chunk.extend_from_slice(&bytes);
        if let Ok(Some((_, used))) = NbdReply::decode(&chunk) {
            prop_assert!(used <= chunk.len());
        }
    }
}
