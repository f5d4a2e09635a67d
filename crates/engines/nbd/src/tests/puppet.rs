//! A server for tests that answers as it is told: in any order, in any form, cut anywhere, wrongly,
//! or not at all. Every byte of its export follows from its offset.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use iolab_nbd::{NbdCommand, NbdFlags, NbdRequest, REQUEST_BYTES, data_chunk, done_chunk, error_chunk, simple_reply};
use iolab_random::SplitMix64;

const EXPORT_BYTES: u64 = 2 << 30;

/// The byte of the export at an offset; long runs of them are zeroes.
pub(super) fn byte_at(offset: u64) -> u8 {
    if (offset >> 12).is_multiple_of(3) { 0 } else { (offset ^ (offset >> 9)) as u8 | 1 }
}

/// How a puppet answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    pub(super) structured: bool,
    /// In the order of the requests.
    pub(super) ordered: bool,
    /// Answers arrive in small pieces.
    pub(super) cuts: bool,
    /// Requests for this offset fail with `ENOSPC`.
    pub(super) fails_at: Option<u64>,
    /// It reads, and answers nothing.
    pub(super) silent: bool,
    /// It closes the connection after so many requests.
    pub(super) goes_after: Option<usize>,
    /// It answers what was not asked.
    pub(super) mad: bool,
    pub(super) flags: u16,
    pub(super) minimum: u32,
    pub(super) maximum: u32,
}

impl Default for Manner {
    fn default() -> Manner {
        let flags = NbdFlags::HAS_FLAGS | NbdFlags::FLUSH | NbdFlags::TRIM;
        Manner {
            structured: true,
            ordered: true,
            cuts: false,
            fails_at: None,
            silent: false,
            goes_after: None,
            mad: false,
            flags,
            minimum: 1,
            maximum: 1 << 20,
        }
    }
}

/// The server.
pub(super) struct Puppet {
    address: SocketAddr,
    serving: Option<JoinHandle<()>>,
    /// Whether it accepts no more connections.
    halts: Arc<AtomicBool>,
}

impl Puppet {
    pub(super) fn start(seed: u64, manner: Manner) -> Puppet {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let halts = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&halts);
        let serving = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                // Otherwise each further piece of an answer would wait until the client
                // acknowledges the first, which it delays by 40 ms.
                stream.set_nodelay(true).unwrap();
                // The last connection only ends the wait for one.
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                // A client that goes ends its connection, and nothing else.
                std::thread::spawn(move || serve(&mut stream, seed, manner));
            }
        });
        Puppet { address, serving: Some(serving), halts }
    }

    pub(super) fn uri(&self) -> String {
        format!("nbd://{}/", self.address)
    }

    pub(super) fn end(mut self) {
        self.halt();
    }

    fn halt(&mut self) {
        if let Some(serving) = self.serving.take() {
            self.halts.store(true, Ordering::Release);
            drop(TcpStream::connect(self.address).unwrap());
            serving.join().unwrap();
        }
    }
}

fn serve(stream: &mut TcpStream, seed: u64, manner: Manner) -> Option<()> {
    greet(stream, &manner)?;
    let mut random = SplitMix64::new(seed);
    let mut waiting: Vec<NbdRequest> = Vec::new();
    let mut count = 0;
    loop {
        // Collects what comes together, then answers all of it.
        stream.set_read_timeout(if waiting.is_empty() { None } else { Some(Duration::from_millis(1)) }).ok()?;
        let mut bytes = [0; REQUEST_BYTES];
        match stream.peek(&mut bytes) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(_) => {
                answer(stream, &mut waiting, &mut random, &manner)?;
                continue;
            }
        }
        stream.set_read_timeout(None).ok()?;
        stream.read_exact(&mut bytes).ok()?;
        let request = NbdRequest::decode(&bytes).unwrap().unwrap();
        count += 1;
        match request.command {
            NbdCommand::Disconnect => return None,
            NbdCommand::Write => {
                let mut data = vec![0; request.length as usize];
                stream.read_exact(&mut data).ok()?;
                let fails = manner.fails_at == Some(request.offset);
                let right = (request.offset..).map(byte_at).zip(&data).all(|(byte, came)| byte == *came);
                assert!(right || fails, "a write has other bytes than the test has written: {request:?}");
            }
            _ => {}
        }
        if manner.goes_after.is_some_and(|most| count > most) {
            answer(stream, &mut waiting, &mut random, &manner)?;
            return None;
        }
        if !manner.silent {
            waiting.push(request);
        }
    }
}

fn read_u32(stream: &mut TcpStream) -> Option<u32> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).ok()?;
    Some(u32::from_be_bytes(bytes))
}

fn greet(stream: &mut TcpStream, manner: &Manner) -> Option<()> {
    stream.write_all(b"NBDMAGICIHAVEOPT\0\x03").ok()?;
    read_u32(stream)?;
    loop {
        read_u32(stream)?;
        read_u32(stream)?;
        let (option, length) = (read_u32(stream)?, read_u32(stream)?);
        stream.read_exact(&mut vec![0; length as usize]).ok()?;
        let mut say = |kind: u32, data: &[u8]| {
            let head = [0x0003_e889, 0x0455_65a9, option, kind, data.len() as u32].map(u32::to_be_bytes).concat();
            stream.write_all(&[&head[..], data].concat()).ok()
        };
        match option {
            7 => {
                say(3, &[&[0, 0][..], &EXPORT_BYTES.to_be_bytes(), &manner.flags.to_be_bytes()].concat())?;
                let sizes = [manner.minimum, 4096, manner.maximum].map(u32::to_be_bytes).concat();
                say(3, &[&[0, 3][..], &sizes].concat())?;
                return say(1, &[]);
            }
            8 if manner.structured => say(1, &[])?,
            _ => say((1 << 31) + 1, &[])?,
        }
    }
}

/// Answers everything that waits.
fn answer(
    stream: &mut TcpStream,
    waiting: &mut Vec<NbdRequest>,
    random: &mut SplitMix64,
    manner: &Manner,
) -> Option<()> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    while !waiting.is_empty() {
        let next = if manner.ordered { 0 } else { random.below(waiting.len() as u64) as usize };
        let request = waiting.remove(next);
        parts.push(reply(&request, random, manner));
    }
    if manner.mad {
        parts.insert(0, simple_reply(u64::MAX, 0).to_vec());
    }
    let bytes = parts.concat();
    if !manner.cuts {
        return stream.write_all(&bytes).ok();
    }
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + random.below(9000) as usize).min(rest.len()));
        stream.write_all(piece).ok()?;
        if random.below(32) == 0 {
            std::thread::sleep(Duration::from_micros(200));
        }
        rest = after;
    }
    Some(())
}

fn reply(request: &NbdRequest, random: &mut SplitMix64, manner: &Manner) -> Vec<u8> {
    let NbdRequest { cookie, offset, length, .. } = *request;
    let mut out = Vec::new();
    if manner.fails_at == Some(offset) && request.command != NbdCommand::Flush {
        if manner.structured {
            error_chunk(&mut out, cookie, libc::ENOSPC as u32, "as it was told");
            return out;
        }
        return simple_reply(cookie, libc::ENOSPC as u32).to_vec();
    }
    let data = |from: u64, bytes: u32| (from..from + u64::from(bytes)).map(byte_at).collect::<Vec<u8>>();
    match (request.command, manner.structured) {
        (NbdCommand::Read, false) => [simple_reply(cookie, 0).to_vec(), data(offset, length)].concat(),
        (NbdCommand::Read, true) if manner.ordered && random.below(4) > 0 => {
            [data_chunk(cookie, offset, length).to_vec(), data(offset, length)].concat()
        }
        (NbdCommand::Read, true) => {
            chunks(&mut out, request, random);
            out
        }
        (_, true) if random.below(2) == 0 => done_chunk(cookie).to_vec(),
        _ => simple_reply(cookie, 0).to_vec(),
    }
}

/// A read in several chunks, the last part first; zeroes as holes, or as data.
fn chunks(out: &mut Vec<u8>, request: &NbdRequest, random: &mut SplitMix64) {
    let NbdRequest { cookie, offset, length, .. } = *request;
    let mut end = length;
    while end > 0 {
        let bytes = (1 + random.below(u64::from(length)) as u32).min(end);
        end -= bytes;
        let from = offset + u64::from(end);
        let data: Vec<u8> = (from..from + u64::from(bytes)).map(byte_at).collect();
        let start = out.len();
        if data.iter().all(|byte| *byte == 0) && random.below(2) == 0 {
            out.extend_from_slice(&done_chunk(cookie));
            out[start + 6..start + 8].copy_from_slice(&2u16.to_be_bytes());
            out[start + 16..start + 20].copy_from_slice(&12u32.to_be_bytes());
            out.extend_from_slice(&from.to_be_bytes());
            out.extend_from_slice(&bytes.to_be_bytes());
        } else {
            out.extend_from_slice(&data_chunk(cookie, from, bytes));
            out.extend_from_slice(&data);
        }
        // The last chunk is this one, or an empty one behind it.
        let is_last = end == 0 && random.below(2) == 0;
        out[start + 4..start + 6].copy_from_slice(&u16::from(is_last).to_be_bytes());
        if end == 0 && !is_last {
            out.extend_from_slice(&done_chunk(cookie));
        }
    }
}
