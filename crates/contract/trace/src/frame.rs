//! The frames of the file: a mark, then frames, each with its own checksum.
//!
//! ```text
//!  file:   "iolab trace 1\n" │ frame │ frame │ …
//!  frame:   length: u32 │ checksum: u32 │ kind: u8 │ payload: length bytes      (little-endian)
//!
//!  kind 1  Facts       JSON; always the first frame
//!  kind 2  File        JSON; gets the next number of the table of files
//!  kind 3  Thread      JSON; gets the next number of the table of threads
//!  kind 4  Operations  columns, see `block.rs`
//!  kind 5  End         JSON; always the last frame of a whole trace
//!  kind 6  Operations  the same in layout 2; kind 4 is read, not written
//! ```
//!
//! The checksum is the CRC-32 of IEEE 802.3 over kind and payload. A reader skips unknown kinds
//! from 128 on; an unknown lower one belongs to a later format.

use std::io::{self, Read, Write};

/// The first bytes of a trace; the digit is the number of the format.
pub const MARK: &[u8; 14] = b"iolab trace 1\n";

pub(crate) const FACTS: u8 = 1;
pub(crate) const FILE: u8 = 2;
pub(crate) const THREAD: u8 = 3;
pub(crate) const OPERATIONS: u8 = 4;
pub(crate) const END: u8 = 5;
pub(crate) const OPERATIONS_2: u8 = 6;
/// Unknown kinds from here on may be skipped.
pub(crate) const OPTIONAL: u8 = 128;

const HEADER_BYTES: usize = 9;
/// No frame is longer, bytes.
pub(crate) const LONGEST: usize = 16 << 20;

/// Writes a frame; returns its bytes in the file.
pub(crate) fn write(output: &mut impl Write, kind: u8, payload: &[u8]) -> io::Result<u64> {
    let length = u32::try_from(payload.len()).ok().filter(|_| payload.len() <= LONGEST);
    let length = length.ok_or_else(|| io::Error::other("a frame of the trace grew too long"))?;
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..8].copy_from_slice(&checksum(kind, payload).to_le_bytes());
    header[8] = kind;
    output.write_all(&header)?;
    output.write_all(payload)?;
    Ok((HEADER_BYTES + payload.len()) as u64)
}

/// A frame with a correct checksum and any content, for tests of readers.
pub fn forged(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A payload that is too long gives no frame; writing to memory does not fail.
    let _ = write(&mut bytes, kind, payload);
    bytes
}

fn checksum(kind: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(payload);
    hasher.finalize()
}

/// The content at a position of the file.
#[derive(Debug)]
pub(crate) enum Found {
    /// A frame of this kind; the payload is in the buffer.
    Frame(u8),
    /// The end of the file.
    Nothing,
    /// No whole frame, and why.
    Damaged(&'static str),
}

/// Reads the next frame into `payload`; `at` counts the bytes read. Memory is allocated as bytes
/// arrive, regardless of the header.
pub(crate) fn read(input: &mut impl Read, payload: &mut Vec<u8>, at: &mut u64) -> io::Result<Found> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    input.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    let Ok(header): Result<[u8; HEADER_BYTES], _> = header.as_slice().try_into() else {
        return Ok(if header.is_empty() { Found::Nothing } else { Found::Damaged("the file is cut off") });
    };
    let word = |from: usize| u32::from_le_bytes([header[from], header[from + 1], header[from + 2], header[from + 3]]);
    let length = word(0) as usize;
    if length > LONGEST {
        return Ok(Found::Damaged("a frame is longer than the format allows"));
    }
    payload.clear();
    input.by_ref().take(length as u64).read_to_end(payload)?;
    if payload.len() < length {
        return Ok(Found::Damaged("the file is cut off"));
    }
    if checksum(header[8], payload) != word(4) {
        return Ok(Found::Damaged("a checksum is wrong"));
    }
    *at += (HEADER_BYTES + length) as u64;
    Ok(Found::Frame(header[8]))
}
