//! What both ends say before an export is chosen.
//!
//! ```text
//! server   NBDMAGIC 8 | IHAVEOPT 8 | flags 2
//! client   flags 4
//! client   IHAVEOPT 8 | option 4 | length 4 | data                           once or more
//! server   magic 8 | option 4 | type 4 | length 4 | data                     once or more for each
//! ```

use std::io::{self, Read, Write};

use crate::errors::NbdHandshakeError;

pub(crate) const GREETING: u64 = 0x4e42_444d_4147_4943;
pub(crate) const HAVE_OPTION: u64 = 0x4948_4156_454f_5054;
pub(crate) const OLDSTYLE: u64 = 0x0000_4202_8186_1253;
pub(crate) const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;

/// Of both ends: the handshake goes on after an option that is not known.
pub(crate) const FIXED_NEWSTYLE: u16 = 1;
/// Of both ends: `EXPORT_NAME` is not answered with 124 zeroes.
pub(crate) const NO_ZEROES: u16 = 2;

/// The most bytes of an option or of an answer: two names of 4096 bytes and what is beside them.
pub(crate) const MOST_BYTES: u32 = 16 << 10;
/// The longest name of an export, which every peer takes.
pub(crate) const MOST_NAME: usize = 4096;

pub(crate) mod option {
    pub(crate) const EXPORT_NAME: u32 = 1;
    pub(crate) const ABORT: u32 = 2;
    pub(crate) const LIST: u32 = 3;
    pub(crate) const STARTTLS: u32 = 5;
    pub(crate) const INFO: u32 = 6;
    pub(crate) const GO: u32 = 7;
    pub(crate) const STRUCTURED_REPLY: u32 = 8;
}

pub(crate) mod answer {
    pub(crate) const ACK: u32 = 1;
    pub(crate) const SERVER: u32 = 2;
    pub(crate) const INFO: u32 = 3;
    pub(crate) const IS_ERROR: u32 = 1 << 31;
    pub(crate) const UNSUPPORTED: u32 = IS_ERROR + 1;
    pub(crate) const INVALID: u32 = IS_ERROR + 3;
    pub(crate) const TLS_REQUIRED: u32 = IS_ERROR + 5;
    pub(crate) const UNKNOWN: u32 = IS_ERROR + 6;
    pub(crate) const TOO_BIG: u32 = IS_ERROR + 9;
}

pub(crate) mod info {
    pub(crate) const EXPORT: u16 = 0;
    pub(crate) const NAME: u16 = 1;
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

/// What an export can do (transmission flags).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NbdFlags(pub u16);

impl NbdFlags {
    /// The flags mean something; every server sets it.
    pub const HAS_FLAGS: u16 = 1;
    /// Nothing can be changed.
    pub const READ_ONLY: u16 = 1 << 1;
    /// Flushes are taken.
    pub const FLUSH: u16 = 1 << 2;
    /// Changes can be asked to survive a loss of power.
    pub const FUA: u16 = 1 << 3;
    /// Trims are taken.
    pub const TRIM: u16 = 1 << 5;
    /// Zeroes are written without sending them.
    pub const WRITE_ZEROES: u16 = 1 << 6;
    /// A read can be asked for in one piece.
    pub const DONT_FRAGMENT: u16 = 1 << 7;
    /// Several connections see one export: a flush of one covers the others.
    pub const MULTI_CONNECTION: u16 = 1 << 8;

    /// Whether it has all of these.
    pub fn has(self, flags: u16) -> bool {
        self.0 & flags == flags
    }
}

/// The sizes of requests that an export takes, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NbdSizes {
    /// Offsets and lengths are multiples of it.
    pub minimum: u32,
    /// Multiples of it are served best.
    pub preferred: u32,
    /// No read or write is longer.
    pub maximum: u32,
}

impl NbdSizes {
    /// What every server takes that says nothing: `doc/proto.md`, "Block size constraints".
    pub const UNSAID: NbdSizes = NbdSizes { minimum: 1, preferred: 4096, maximum: 32 << 20 };

    /// Sizes that make sense; `None` for others.
    pub(crate) fn checked(self) -> Option<NbdSizes> {
        let NbdSizes { minimum, preferred, maximum } = self;
        let fits = minimum.is_power_of_two()
            && minimum <= 64 << 10
            && preferred.is_power_of_two()
            && preferred >= minimum
            && maximum >= minimum
            && (maximum == u32::MAX || maximum.is_multiple_of(minimum));
        fits.then(|| NbdSizes { maximum: maximum / minimum * minimum, ..self })
    }
}

pub(crate) fn read_array<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// `length` bytes, which must not be more than the handshake needs.
pub(crate) fn read_data(stream: &mut impl Read, length: u32) -> Result<Vec<u8>, NbdHandshakeError> {
    if length > MOST_BYTES {
        return Err(NbdHandshakeError::Protocol("more data than the handshake has"));
    }
    let mut data = vec![0; length as usize];
    stream.read_exact(&mut data)?;
    Ok(data)
}

/// An option of a client, in one write.
pub(crate) fn write_option(stream: &mut impl Write, option: u32, data: &[u8]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(16 + data.len());
    bytes.extend_from_slice(&HAVE_OPTION.to_be_bytes());
    bytes.extend_from_slice(&option.to_be_bytes());
    bytes.extend_from_slice(&(data.len() as u32).to_be_bytes());
    bytes.extend_from_slice(data);
    stream.write_all(&bytes)
}

/// An answer of a server.
pub(crate) fn append_answer(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend_from_slice(&REPLY_MAGIC.to_be_bytes());
    out.extend_from_slice(&option.to_be_bytes());
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    out.extend_from_slice(data);
}

/// A text with its length in front of it.
pub(crate) fn counted_text(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes
}
