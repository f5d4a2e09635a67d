//! The server's end of the handshake.
//!
//! It has one export, by its name and as the default. The caller bounds the time by the time-outs
//! of the stream; the number and the lengths of options are bounded here.

use std::io::{Read, Write};

use crate::errors::NbdHandshakeError;
use crate::options::{
    FIXED_NEWSTYLE, GREETING, HAVE_OPTION, MOST_NAME, NO_ZEROES, NbdFlags, NbdSizes, answer, append_answer,
    counted_text, info, option, read_array, read_data,
};
use crate::request::{u32_at, u64_at};

/// The most options of one client.
const MOST_OPTIONS: usize = 64;

/// What a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NbdOffer {
    /// The name of the export.
    pub name: String,
    /// Its size, bytes.
    pub size_bytes: u64,
    /// What it can do.
    pub flags: NbdFlags,
    /// The sizes of requests.
    pub sizes: NbdSizes,
}

/// What a client and a server have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NbdAgreement {
    /// Whether reads are answered in chunks.
    pub is_structured: bool,
}

/// The flags of a client that has been greeted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NbdClientFlags(u32);

/// Lets a new client choose the export; requests follow. `None` if it leaves instead.
///
/// # Errors
/// The stream, its time-outs, or a client that breaks the protocol.
pub fn welcome(stream: &mut (impl Read + Write), offer: &NbdOffer) -> Result<Option<NbdAgreement>, NbdHandshakeError> {
    let flags = greet_client(stream)?;
    choosing(stream, offer, flags)
}

/// Greets a new client and waits until it asks for TLS; everything else is refused. The handshake
/// of TLS follows, and then [`welcome_secured`]. `None` if the client leaves instead.
///
/// # Errors
/// As of [`welcome`].
pub fn welcome_to_tls(stream: &mut (impl Read + Write)) -> Result<Option<NbdClientFlags>, NbdHandshakeError> {
    let flags = greet_client(stream)?;
    for _ in 0..MOST_OPTIONS {
        let (option, data) = next_option(stream)?;
        let mut out = Vec::new();
        match option {
            option::STARTTLS if data.is_empty() => append_answer(&mut out, option, answer::ACK, &[]),
            option::STARTTLS => append_answer(&mut out, option, answer::INVALID, b"this option has no data"),
            option::ABORT => append_answer(&mut out, option, answer::ACK, &[]),
            // It has no answer but the end.
            option::EXPORT_NAME => return Ok(None),
            _ => append_answer(&mut out, option, answer::TLS_REQUIRED, b"TLS is required"),
        }
        let is_written = stream.write_all(&out);
        match option {
            option::ABORT => return Ok(None),
            option::STARTTLS if data.is_empty() => return Ok(is_written.map(|()| Some(NbdClientFlags(flags)))?),
            _ => is_written?,
        }
    }
    Err(NbdHandshakeError::Protocol("endless options"))
}

/// Lets a client choose the export after the handshake of TLS; requests follow.
///
/// # Errors
/// As of [`welcome`].
pub fn welcome_secured(
    stream: &mut (impl Read + Write),
    offer: &NbdOffer,
    NbdClientFlags(flags): NbdClientFlags,
) -> Result<Option<NbdAgreement>, NbdHandshakeError> {
    choosing(stream, offer, flags)
}

/// Sends the greeting. Returns the client's flags.
fn greet_client(stream: &mut (impl Read + Write)) -> Result<u32, NbdHandshakeError> {
    let mut greeting = [0; 18];
    greeting[..8].copy_from_slice(&GREETING.to_be_bytes());
    greeting[8..16].copy_from_slice(&HAVE_OPTION.to_be_bytes());
    greeting[16..].copy_from_slice(&(FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
    stream.write_all(&greeting)?;
    let flags = u32::from_be_bytes(read_array(stream)?);
    if flags & !u32::from(FIXED_NEWSTYLE | NO_ZEROES) != 0 {
        return Err(NbdHandshakeError::Protocol("flags that were not offered"));
    }
    Ok(flags)
}

/// The next option of a client and its data.
fn next_option(stream: &mut impl Read) -> Result<(u32, Vec<u8>), NbdHandshakeError> {
    let header: [u8; 16] = read_array(stream)?;
    if u64_at(&header, 0) != HAVE_OPTION {
        return Err(NbdHandshakeError::Protocol("an option without its magic number"));
    }
    Ok((u32_at(&header, 8), read_data(stream, u32_at(&header, 12))?))
}

/// Answers options until one chooses the export.
fn choosing(
    stream: &mut (impl Read + Write),
    offer: &NbdOffer,
    flags: u32,
) -> Result<Option<NbdAgreement>, NbdHandshakeError> {
    let mut agreed = NbdAgreement { is_structured: false };
    for _ in 0..MOST_OPTIONS {
        let (option, data) = next_option(stream)?;
        let mut out = Vec::new();
        let chosen = match option {
            option::EXPORT_NAME => {
                // There is no answer for an unknown name: the connection is closed.
                if !offer.is_named(&data) {
                    return Ok(None);
                }
                out.extend_from_slice(&offer.size_bytes.to_be_bytes());
                out.extend_from_slice(&offer.flags.0.to_be_bytes());
                if flags & u32::from(NO_ZEROES) == 0 {
                    out.extend_from_slice(&[0; 124]);
                }
                true
            }
            option::ABORT => {
                append_answer(&mut out, option, answer::ACK, &[]);
                // A client may have closed already.
                let _ = stream.write_all(&out);
                return Ok(None);
            }
            _ => {
                let mut answers = Answers { option, out: &mut out };
                answers.of(offer, &data, &mut agreed)
            }
        };
        stream.write_all(&out)?;
        if chosen {
            return Ok(Some(agreed));
        }
    }
    Err(NbdHandshakeError::Protocol("endless options"))
}

impl NbdOffer {
    fn is_named(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name.as_bytes()
    }
}

/// The answers to one option.
struct Answers<'a> {
    option: u32,
    out: &'a mut Vec<u8>,
}

impl Answers<'_> {
    /// Answers an option. Returns whether the export was chosen by it.
    fn of(&mut self, offer: &NbdOffer, data: &[u8], agreed: &mut NbdAgreement) -> bool {
        match (self.option, data.len()) {
            (option::LIST, 0) => {
                self.add(answer::SERVER, &counted_text(&offer.name));
                self.add(answer::ACK, &[]);
                false
            }
            (option::STRUCTURED_REPLY, 0) => {
                agreed.is_structured = true;
                self.add(answer::ACK, &[]);
                false
            }
            (option::LIST | option::STRUCTURED_REPLY, _) => self.fail(answer::INVALID, "this option has no data"),
            (option::INFO | option::GO, _) => self.information(offer, data),
            _ => self.fail(answer::UNSUPPORTED, "this option is not supported"),
        }
    }

    fn add(&mut self, kind: u32, data: &[u8]) {
        append_answer(self.out, self.option, kind, data);
    }

    fn fail(&mut self, kind: u32, text: &str) -> bool {
        self.add(kind, text.as_bytes());
        false
    }

    /// Tells about the export, which is also chosen by `GO`.
    fn information(&mut self, offer: &NbdOffer, data: &[u8]) -> bool {
        let Some((name, wanted)) = name_and_wanted(data) else {
            return self.fail(answer::INVALID, "the data of the option does not fit together");
        };
        if name.len() > MOST_NAME {
            return self.fail(answer::TOO_BIG, "the name is too long");
        }
        if !offer.is_named(name) {
            return self.fail(answer::UNKNOWN, "there is no export of this name");
        }
        let mut export = info::EXPORT.to_be_bytes().to_vec();
        export.extend_from_slice(&offer.size_bytes.to_be_bytes());
        export.extend_from_slice(&offer.flags.0.to_be_bytes());
        self.add(answer::INFO, &export);
        // Sizes are told whoever asks: a client that does not know them is told by errors later.
        let mut sizes = info::BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [offer.sizes.minimum, offer.sizes.preferred, offer.sizes.maximum] {
            sizes.extend_from_slice(&size.to_be_bytes());
        }
        self.add(answer::INFO, &sizes);
        if wanted.chunks_exact(2).any(|kind| kind == info::NAME.to_be_bytes()) {
            let mut own = info::NAME.to_be_bytes().to_vec();
            own.extend_from_slice(offer.name.as_bytes());
            self.add(answer::INFO, &own);
        }
        self.add(answer::ACK, &[]);
        self.option == option::GO
    }
}

/// The name, and the kinds of information that are wanted.
fn name_and_wanted(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let (count, wanted) = rest.split_first_chunk::<2>()?;
    (wanted.len() == usize::from(u16::from_be_bytes(*count)) * 2).then_some((name, wanted))
}
