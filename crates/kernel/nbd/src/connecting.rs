//! The client's end of the handshake.
//!
//! It asks for structured replies and for one export. A server without `NBD_OPT_GO` is asked the
//! old way. With TLS, the caller secures the stream between the two halves of the handshake. It
//! bounds the time by the time-outs of the stream.

use std::io::{Read, Write};

use crate::errors::NbdHandshakeError;
use crate::options::{
    self, FIXED_NEWSTYLE, GREETING, HAVE_OPTION, MOST_NAME, NO_ZEROES, NbdFlags, NbdSizes, OLDSTYLE, REPLY_MAGIC,
    answer, counted_text, info, option, read_array, read_data,
};
use crate::request::{NbdCommand, NbdRequest, u32_at, u64_at};

/// The most answers to one option: exports of a list, pieces of information.
const MOST_ANSWERS: usize = 1000;
/// The most names in a message.
const MOST_NAMES: usize = 8;

/// An export that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NbdExport {
    /// Its size, bytes.
    pub size_bytes: u64,
    /// What it can do.
    pub flags: NbdFlags,
    /// The sizes of requests.
    pub sizes: NbdSizes,
    /// Whether reads are answered in chunks.
    pub is_structured: bool,
}

/// What a greeting has agreed on: flags of both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NbdGreeting(u16);

/// Chooses an export on a new connection; requests follow.
///
/// # Errors
/// The stream, its time-outs, a peer that breaks the protocol, or a server that refuses.
pub fn choose_export(stream: &mut (impl Read + Write), name: &str) -> Result<NbdExport, NbdHandshakeError> {
    let greeting = greet(stream)?;
    choose_secured(stream, name, greeting)
}

/// Greets a server and asks it for TLS; the handshake of TLS follows, and then [`choose_secured`].
///
/// # Errors
/// As of [`choose_export`]; a server without TLS refuses.
pub fn ask_for_tls(stream: &mut (impl Read + Write)) -> Result<NbdGreeting, NbdHandshakeError> {
    let greeting = greet(stream)?;
    if greeting.0 & FIXED_NEWSTYLE == 0 {
        return Err(NbdHandshakeError::NoTls);
    }
    options::write_option(stream, option::STARTTLS, &[])?;
    match read_answer(stream, option::STARTTLS)? {
        (answer::ACK, _) => Ok(greeting),
        (kind, _) if kind & answer::IS_ERROR != 0 => Err(NbdHandshakeError::NoTls),
        _ => Err(NbdHandshakeError::Protocol("an answer that does not fit the option")),
    }
}

/// Chooses an export on a connection that has been secured after [`ask_for_tls`].
///
/// # Errors
/// As of [`choose_export`].
pub fn choose_secured(
    stream: &mut (impl Read + Write),
    name: &str,
    NbdGreeting(flags): NbdGreeting,
) -> Result<NbdExport, NbdHandshakeError> {
    if name.len() > MOST_NAME {
        return Err(NbdHandshakeError::Refused {
            name: name.to_owned(),
            why: format!("a name has at most {MOST_NAME} bytes"),
        });
    }
    if flags & FIXED_NEWSTYLE == 0 {
        return by_name(stream, name, flags, false);
    }
    let is_structured = structured_replies(stream)?;
    let mut data = counted_text(name);
    data.extend_from_slice(&1u16.to_be_bytes());
    data.extend_from_slice(&info::BLOCK_SIZE.to_be_bytes());
    options::write_option(stream, option::GO, &data)?;
    let (mut export, mut sizes) = (None, NbdSizes::UNSAID);
    for _ in 0..MOST_ANSWERS {
        let (kind, data) = read_answer(stream, option::GO)?;
        match kind {
            answer::INFO => {
                let wrong = NbdHandshakeError::Protocol("information about an export that does not fit its type");
                match (data.get(..2).map(|kind| u16::from_be_bytes([kind[0], kind[1]])), data.len()) {
                    (Some(info::EXPORT), 12) => {
                        export = Some((u64_at(&data, 2), NbdFlags(u16::from_be_bytes([data[10], data[11]]))));
                    }
                    (Some(info::BLOCK_SIZE), 14) => {
                        let [minimum, preferred, maximum] = [2, 6, 10].map(|at| u32_at(&data, at));
                        sizes = NbdSizes { minimum, preferred, maximum }.checked().ok_or(wrong)?;
                    }
                    (Some(info::EXPORT | info::BLOCK_SIZE) | None, _) => return Err(wrong),
                    // Names and descriptions.
                    _ => {}
                }
            }
            answer::ACK => {
                let (size_bytes, flags) = export.ok_or(NbdHandshakeError::Protocol("an export without a size"))?;
                return checked(NbdExport { size_bytes, flags, sizes, is_structured });
            }
            answer::UNSUPPORTED => return by_name(stream, name, flags, is_structured),
            answer::UNKNOWN => {
                return Err(NbdHandshakeError::Unknown { name: name.to_owned(), there: others(stream) });
            }
            _ => return Err(refused(name, kind, &data)),
        }
    }
    Err(NbdHandshakeError::Protocol("endless information about an export"))
}

/// The request with which a client leaves.
pub fn leave() -> [u8; crate::REQUEST_BYTES] {
    NbdRequest { command: NbdCommand::Disconnect, flags: 0, cookie: 0, offset: 0, length: 0 }.encode()
}

fn checked(export: NbdExport) -> Result<NbdExport, NbdHandshakeError> {
    if export.size_bytes > i64::MAX as u64 {
        return Err(NbdHandshakeError::Protocol("an export of more than 2^63 bytes"));
    }
    if !export.flags.has(NbdFlags::HAS_FLAGS) {
        return Err(NbdHandshakeError::Protocol("an export without flags"));
    }
    Ok(export)
}

/// Reads the greeting and answers it. Returns the flags of both.
fn greet(stream: &mut (impl Read + Write)) -> Result<NbdGreeting, NbdHandshakeError> {
    let magic = u64::from_be_bytes(read_array(stream)?);
    if magic != GREETING {
        return Err(NbdHandshakeError::Protocol("no greeting (is it another kind of server?)"));
    }
    match u64::from_be_bytes(read_array(stream)?) {
        HAVE_OPTION => {}
        OLDSTYLE => return Err(NbdHandshakeError::Oldstyle),
        _ => return Err(NbdHandshakeError::Protocol("an unknown style of handshake")),
    }
    let flags = u16::from_be_bytes(read_array(stream)?);
    let common = flags & (FIXED_NEWSTYLE | NO_ZEROES);
    stream.write_all(&u32::from(common).to_be_bytes())?;
    Ok(NbdGreeting(common))
}

fn structured_replies(stream: &mut (impl Read + Write)) -> Result<bool, NbdHandshakeError> {
    options::write_option(stream, option::STRUCTURED_REPLY, &[])?;
    match read_answer(stream, option::STRUCTURED_REPLY)? {
        (answer::ACK, _) => Ok(true),
        (answer::TLS_REQUIRED, _) => Err(NbdHandshakeError::TlsRequired),
        (kind, _) if kind & answer::IS_ERROR != 0 => Ok(false),
        _ => Err(NbdHandshakeError::Protocol("an answer that does not fit the option")),
    }
}

/// The next answer to an option: its type and its data.
fn read_answer(stream: &mut impl Read, option: u32) -> Result<(u32, Vec<u8>), NbdHandshakeError> {
    let header: [u8; 20] = read_array(stream)?;
    if u64_at(&header, 0) != REPLY_MAGIC {
        return Err(NbdHandshakeError::Protocol("an answer without its magic number"));
    }
    if u32_at(&header, 8) != option {
        return Err(NbdHandshakeError::Protocol("an answer to another option"));
    }
    Ok((u32_at(&header, 12), read_data(stream, u32_at(&header, 16))?))
}

fn refused(name: &str, kind: u32, data: &[u8]) -> NbdHandshakeError {
    if kind == answer::TLS_REQUIRED {
        return NbdHandshakeError::TlsRequired;
    }
    if kind & answer::IS_ERROR == 0 {
        return NbdHandshakeError::Protocol("an answer that does not fit the option");
    }
    let text: String =
        String::from_utf8_lossy(data).chars().filter(|character| !character.is_control()).take(200).collect();
    let why = if text.is_empty() { format!("error {}", kind & !answer::IS_ERROR) } else { text };
    NbdHandshakeError::Refused { name: name.to_owned(), why }
}

/// Chooses an export by the option that every server has. An error is told by closing alone.
fn by_name(
    stream: &mut (impl Read + Write),
    name: &str,
    flags: u16,
    is_structured: bool,
) -> Result<NbdExport, NbdHandshakeError> {
    options::write_option(stream, option::EXPORT_NAME, name.as_bytes())?;
    let header: [u8; 10] = read_array(stream).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => NbdHandshakeError::Unknown { name: name.to_owned(), there: String::new() },
        _ => error.into(),
    })?;
    if flags & NO_ZEROES == 0 {
        let _zeroes: [u8; 124] = read_array(stream)?;
    }
    let flags = NbdFlags(u16::from_be_bytes([header[8], header[9]]));
    checked(NbdExport { size_bytes: u64_at(&header, 0), flags, sizes: NbdSizes::UNSAID, is_structured })
}

/// The exports of the server in a few words, if it tells.
fn others(stream: &mut (impl Read + Write)) -> String {
    let mut names = Vec::new();
    if options::write_option(stream, option::LIST, &[]).is_ok() {
        for _ in 0..MOST_ANSWERS {
            let Ok((answer::SERVER, data)) = read_answer(stream, option::LIST) else { break };
            let Some((length, rest)) = data.split_first_chunk::<4>() else { break };
            let name = rest.get(..u32::from_be_bytes(*length) as usize).unwrap_or_default();
            names.push(format!("`{}`", String::from_utf8_lossy(name).escape_debug()));
        }
    }
    match names.len() {
        0 => String::new(),
        count if count > MOST_NAMES => {
            let rest = iolab_text::counted((count - MOST_NAMES) as u64, "other");
            format!("; it has {} and {rest}", names[..MOST_NAMES].join(", "))
        }
        _ => format!("; it has {}", names.join(", ")),
    }
}
