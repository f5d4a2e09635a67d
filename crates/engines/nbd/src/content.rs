//! Whether a job may write to an export: judged by what is on it, because nothing here knows who
//! else uses it. Cold.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use iolab_guard::{SIGNATURE_BYTES, signatures};
use iolab_nbd::{NbdChunk, NbdCommand, NbdReply, NbdRequest, NbdUri, errno_of_wire};
use iolab_options::Settings;

use crate::link::Link;
use crate::options::Asked;

/// Bytes of one request here: every server takes it.
const PIECE_BYTES: u64 = 64 << 10;
/// The most headers that answer one request here.
const MOST_HEADERS: usize = 1000;

/// Why a job must not write to the export of this name; `None` if it may, or if the engine will
/// refuse the name itself.
pub(crate) fn refusal(name: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
    let uri: NbdUri = name.to_string_lossy().parse().ok()?;
    let is_named = |path: &PathBuf| path.to_string_lossy().parse().is_ok_and(|named: NbdUri| named == uri);
    if allowed.iter().any(is_named) {
        return None;
    }
    let start = first_bytes(&uri, options).map_err(|error| error.to_string());
    judge(&uri, start.as_deref().map_err(String::as_str), job)
}

/// Judges the content that was read, or the reason why it could not be.
fn judge(uri: &NbdUri, start: Result<&[u8], &str>, job: &str) -> Option<String> {
    let what = match start.map(signatures) {
        Ok(found) if found.is_empty() => return None,
        Ok(found) => format!("it holds {}", found.join(" and ")),
        Err(reason) => format!("cannot examine it: {reason}"),
    };
    Some(format!("{uri}: {what}; job {job} would overwrite it. To allow that, add --allow-destroy '{uri}'"))
}

/// The first bytes of an export, as many as show what is on it.
fn first_bytes(uri: &NbdUri, options: &Settings) -> io::Result<Vec<u8>> {
    let connected = Link::connect(uri, Asked::of(options).timeout);
    let mut link = connected.map_err(|error| io::Error::other(error.message))?;
    let block = u64::from(link.export.sizes.minimum);
    let bytes = (SIGNATURE_BYTES as u64).next_multiple_of(block).min(link.export.size_bytes / block * block);
    let piece = PIECE_BYTES.min(u64::from(link.export.sizes.maximum));
    let mut data = vec![0; bytes as usize];
    for (number, part) in data.chunks_mut(piece as usize).enumerate() {
        read(&mut link, number as u64 * piece, part)?;
    }
    link.leave();
    data.truncate(SIGNATURE_BYTES);
    Ok(data)
}

/// One read, and nothing else on the connection.
fn read(link: &mut Link, offset: u64, to: &mut [u8]) -> io::Result<()> {
    let length = to.len() as u32;
    let request = NbdRequest { command: NbdCommand::Read, flags: 0, cookie: offset + 1, offset, length };
    link.channel.write_all(&request.encode())?;
    let mut failed = None;
    for _ in 0..MOST_HEADERS {
        let (is_last, content) = match next_header(link, request.cookie)? {
            NbdReply::Simple { error: 0, .. } if !link.export.is_structured => {
                return link.channel.read_exact(to);
            }
            NbdReply::Simple { error, .. } => return Err(io::Error::from_raw_os_error(errno_of_wire(error))),
            NbdReply::Chunk { is_last, content, .. } => (is_last, content),
        };
        match content {
            NbdChunk::Data { offset: at, bytes } => {
                let place = part(to, at.wrapping_sub(offset), bytes)?;
                link.channel.read_exact(place)?;
            }
            NbdChunk::Hole { offset: at, bytes } => part(to, at.wrapping_sub(offset), bytes)?.fill(0),
            NbdChunk::Error { error, text_bytes } => {
                io::copy(&mut Read::by_ref(&mut link.channel).take(text_bytes.into()), &mut io::sink())?;
                failed = Some(errno_of_wire(error));
            }
            NbdChunk::Nothing | NbdChunk::Other { .. } => {}
        }
        if is_last {
            return failed.map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)));
        }
    }
    Err(io::Error::other("the answer to a read does not end"))
}

fn part(to: &mut [u8], from: u64, bytes: u32) -> io::Result<&mut [u8]> {
    let outside = || io::Error::other("the server sends data that was not asked for");
    let from = usize::try_from(from).map_err(|_| outside())?;
    let end = from.checked_add(bytes as usize).ok_or_else(outside)?;
    to.get_mut(from..end).ok_or_else(outside)
}

/// The next header, byte by byte at its end: no byte behind it may be taken.
fn next_header(link: &mut Link, expected: u64) -> io::Result<NbdReply> {
    let mut bytes = vec![0; iolab_nbd::SIMPLE_REPLY_BYTES];
    link.channel.read_exact(&mut bytes)?;
    loop {
        if let Some((reply, _)) = NbdReply::decode(&bytes).map_err(io::Error::other)? {
            let (NbdReply::Simple { cookie, .. } | NbdReply::Chunk { cookie, .. }) = reply;
            return match cookie == expected {
                true => Ok(reply),
                false => Err(io::Error::other("the server answers what was not asked")),
            };
        }
        let mut more = [0];
        link.channel.read_exact(&mut more)?;
        bytes.push(more[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_refused_by_what_is_on_it() {
        let uri: NbdUri = "nbd://host/disk".parse().unwrap();
        let mut start = vec![0; SIGNATURE_BYTES];
        assert_eq!(judge(&uri, Ok(&start), "w"), None, "nothing is on it");
        start[..4].copy_from_slice(b"XFSB");
        let said = judge(&uri, Ok(&start), "w").unwrap();
        for part in ["holds an XFS file system", "job w", "--allow-destroy 'nbd://host:10809/disk'"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(judge(&uri, Err("no answer"), "w").unwrap().contains("cannot examine it: no answer"));
    }
}
