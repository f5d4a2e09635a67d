//! Replies of a server: simple ones, and the chunks of structured ones.
//!
//! ```text
//! simple   | magic 4 | error 4 | cookie 8 |                          then the data of a read
//! chunk    | magic 4 | flags 2 | type 2 | cookie 8 | length 4 |      then `length` bytes:
//!              none                     nothing
//!              data                     offset 8, data
//!              hole                     offset 8, length 4
//!              error                    error 4, length of text 2, text; perhaps an offset 8
//! ```

use crate::errors::NbdStreamError;
use crate::request::{u32_at, u64_at};

/// Bytes of a simple reply, without the data of a read.
pub const SIMPLE_REPLY_BYTES: usize = 16;
/// Bytes of the header of a chunk.
pub const CHUNK_BYTES: usize = 20;
/// Bytes of the header of a chunk with data, and of its offset.
pub const DATA_CHUNK_BYTES: usize = CHUNK_BYTES + 8;

const SIMPLE_MAGIC: u32 = 0x6744_6698;
const CHUNK_MAGIC: u32 = 0x668e_33ef;
const DONE: u16 = 1;

const NONE: u16 = 0;
const DATA: u16 = 1;
const HOLE: u16 = 2;
const ERROR: u16 = (1 << 15) + 1;
const ERROR_AT: u16 = (1 << 15) + 2;
/// All types with this bit are errors, and begin with error number, length of the text, and text.
const IS_ERROR: u16 = 1 << 15;
/// The longest text of an error.
const MOST_TEXT: usize = 4096;

/// One header of a server, with all of its chunk that is not data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NbdReply {
    /// A whole answer; the data of a read that succeeded follow.
    Simple {
        /// The request.
        cookie: u64,
        /// 0, or an error number of the protocol.
        error: u32,
    },
    /// A part of an answer.
    Chunk {
        /// The request.
        cookie: u64,
        /// Whether it is the last one.
        is_last: bool,
        /// What it has.
        content: NbdChunk,
    },
}

/// What a chunk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NbdChunk {
    /// Nothing.
    Nothing,
    /// Data, which follow.
    Data {
        /// Where they belong on the export, bytes.
        offset: u64,
        /// How many bytes.
        bytes: u32,
    },
    /// Zeroes, which do not follow.
    Hole {
        /// Where they belong on the export, bytes.
        offset: u64,
        /// How many bytes.
        bytes: u32,
    },
    /// The request failed, as a whole or at some place.
    Error {
        /// The error number of the protocol.
        error: u32,
        /// Bytes that follow and say more.
        text_bytes: u32,
    },
    /// Something that was not asked for.
    Other {
        /// Bytes that follow.
        bytes: u32,
    },
}

impl NbdReply {
    /// The reply at the beginning of `bytes`, and how many of them it takes; `None` if it has not
    /// come as a whole.
    ///
    /// # Errors
    /// There is something else.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Option<(NbdReply, usize)>, NbdStreamError> {
        if bytes.len() < SIMPLE_REPLY_BYTES {
            return Ok(None);
        }
        match u32_at(bytes, 0) {
            SIMPLE_MAGIC => {
                let reply = NbdReply::Simple { cookie: u64_at(bytes, 8), error: u32_at(bytes, 4) };
                Ok(Some((reply, SIMPLE_REPLY_BYTES)))
            }
            CHUNK_MAGIC => chunk(bytes),
            _ => Err(NbdStreamError("a reply does not begin with a magic number")),
        }
    }
}

fn chunk(bytes: &[u8]) -> Result<Option<(NbdReply, usize)>, NbdStreamError> {
    if bytes.len() < CHUNK_BYTES {
        return Ok(None);
    }
    let u16_at = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let (kind, length) = (u16_at(6), u32_at(bytes, 16));
    // Bytes after the header that are not data.
    let (least, exactly) = match kind {
        NONE => (0, true),
        DATA => (8, false),
        HOLE => (12, true),
        _ if kind & IS_ERROR != 0 => (6, false),
        _ => (0, false),
    };
    if length < least || (exactly && length != least) {
        return Err(NbdStreamError("a chunk has a length that its type cannot have"));
    }
    let used = CHUNK_BYTES + least as usize;
    if bytes.len() < used {
        return Ok(None);
    }
    let content = match kind {
        NONE => NbdChunk::Nothing,
        DATA if length == least => return Err(NbdStreamError("a chunk of data has none")),
        DATA => NbdChunk::Data { offset: u64_at(bytes, CHUNK_BYTES), bytes: length - least },
        HOLE => NbdChunk::Hole { offset: u64_at(bytes, CHUNK_BYTES), bytes: u32_at(bytes, CHUNK_BYTES + 8) },
        _ if kind & IS_ERROR != 0 => {
            let text = u32::from(u16_at(CHUNK_BYTES + 4));
            let more = if kind == ERROR_AT { 8 } else { 0 };
            let fits = if kind == ERROR || kind == ERROR_AT { length == least + text + more } else { true };
            if !fits || text > length - least || text as usize > MOST_TEXT {
                return Err(NbdStreamError("the text of an error has a length that does not fit"));
            }
            NbdChunk::Error { error: u32_at(bytes, CHUNK_BYTES), text_bytes: length - least }
        }
        _ => NbdChunk::Other { bytes: length },
    };
    Ok(Some((NbdReply::Chunk { cookie: u64_at(bytes, 8), is_last: u16_at(4) & DONE != 0, content }, used)))
}

/// The bytes of a simple reply.
#[inline]
pub fn simple_reply(cookie: u64, error: u32) -> [u8; SIMPLE_REPLY_BYTES] {
    let mut bytes = [0; SIMPLE_REPLY_BYTES];
    bytes[..4].copy_from_slice(&SIMPLE_MAGIC.to_be_bytes());
    bytes[4..8].copy_from_slice(&error.to_be_bytes());
    bytes[8..].copy_from_slice(&cookie.to_be_bytes());
    bytes
}

#[inline]
fn chunk_header(cookie: u64, kind: u16, length: u32) -> [u8; CHUNK_BYTES] {
    let mut bytes = [0; CHUNK_BYTES];
    bytes[..4].copy_from_slice(&CHUNK_MAGIC.to_be_bytes());
    bytes[4..6].copy_from_slice(&DONE.to_be_bytes());
    bytes[6..8].copy_from_slice(&kind.to_be_bytes());
    bytes[8..16].copy_from_slice(&cookie.to_be_bytes());
    bytes[16..].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// The bytes before the data of the only chunk of a read's answer.
#[inline]
pub fn data_chunk(cookie: u64, offset: u64, data_bytes: u32) -> [u8; DATA_CHUNK_BYTES] {
    let mut bytes = [0; DATA_CHUNK_BYTES];
    bytes[..CHUNK_BYTES].copy_from_slice(&chunk_header(cookie, DATA, data_bytes + 8));
    bytes[CHUNK_BYTES..].copy_from_slice(&offset.to_be_bytes());
    bytes
}

/// The bytes of a chunk that ends an answer without more.
#[inline]
pub fn done_chunk(cookie: u64) -> [u8; CHUNK_BYTES] {
    chunk_header(cookie, NONE, 0)
}

/// Appends the chunk of a request that failed. The text is for a person.
pub fn error_chunk(out: &mut Vec<u8>, cookie: u64, error: u32, text: &str) {
    let text = &text.as_bytes()[..text.len().min(MOST_TEXT)];
    out.extend_from_slice(&chunk_header(cookie, ERROR, 6 + text.len() as u32));
    out.extend_from_slice(&error.to_be_bytes());
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text);
}
