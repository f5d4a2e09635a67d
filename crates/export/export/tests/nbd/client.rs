//! A client for tests: blocking, one request after the other or many at once.

use std::collections::HashMap;
use std::io::{Read, Write};

use iolab_nbd::{
    NbdChunk, NbdCommand, NbdExport, NbdReply, NbdRequest, SIMPLE_REPLY_BYTES, choose_export, errno_of_wire, leave,
};
use iolab_sockets::StreamSocket;

/// The errno with which a request failed; of a connection that is gone, `ENOTCONN`.
type Outcome<T> = Result<T, i32>;

pub(crate) struct Client {
    socket: StreamSocket,
    pub(crate) export: NbdExport,
    cookie: u64,
}

/// A stream that refuses structured replies in the client's name, for servers' simple ones.
struct Unstructured<'a>(&'a mut StreamSocket);

const STRUCTURED: u32 = 8;
const UNKNOWN_OPTION: u32 = 99;

impl Read for Unstructured<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.0.read(to)?;
        // The answer to the option names it: the client must find the one that it asked for.
        for at in 0..bytes.saturating_sub(3) {
            if to[at..at + 4] == UNKNOWN_OPTION.to_be_bytes() {
                to[at..at + 4].copy_from_slice(&STRUCTURED.to_be_bytes());
            }
        }
        Ok(bytes)
    }
}

impl Write for Unstructured<'_> {
    fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
        let mut bytes = from.to_vec();
        if from.len() == 16 && from[8..12] == STRUCTURED.to_be_bytes() {
            bytes[8..12].copy_from_slice(&UNKNOWN_OPTION.to_be_bytes());
        }
        self.0.write_all(&bytes)?;
        Ok(from.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Client {
    pub(crate) fn connect(mut socket: StreamSocket, structured: bool) -> Client {
        let export = match structured {
            true => choose_export(&mut socket, "disk").unwrap(),
            false => choose_export(&mut Unstructured(&mut socket), "disk").unwrap(),
        };
        assert_eq!(export.is_structured, structured);
        Client { socket, export, cookie: 100 }
    }

    fn send(&mut self, command: NbdCommand, offset: u64, length: u32, flags: u16) -> Outcome<u64> {
        self.cookie += 1;
        let request = NbdRequest { command, flags, cookie: self.cookie, offset, length };
        self.socket.write_all(&request.encode()).map_err(|_| libc::ENOTCONN)?;
        Ok(self.cookie)
    }

    /// The next answer: its cookie, and the data of a read of `lengths[cookie]` bytes.
    fn answer(&mut self, lengths: &HashMap<u64, u32>) -> Outcome<(u64, Outcome<Vec<u8>>)> {
        let mut head = vec![0; SIMPLE_REPLY_BYTES];
        self.socket.read_exact(&mut head).map_err(|_| libc::ENOTCONN)?;
        let reply = loop {
            match NbdReply::decode(&head).unwrap() {
                Some((reply, used)) => {
                    assert_eq!(used, head.len());
                    break reply;
                }
                None => {
                    let mut more = [0];
                    self.socket.read_exact(&mut more).map_err(|_| libc::ENOTCONN)?;
                    head.push(more[0]);
                }
            }
        };
        let mut data = |bytes: u32| {
            let mut data = vec![0; bytes as usize];
            self.socket.read_exact(&mut data).map_err(|_| libc::ENOTCONN).map(|()| data)
        };
        Ok(match reply {
            NbdReply::Simple { cookie, error: 0 } => {
                let length = lengths.get(&cookie).copied().unwrap_or(0);
                assert!(length == 0 || !self.export.is_structured, "a read is answered by a chunk");
                (cookie, Ok(data(length)?))
            }
            NbdReply::Simple { cookie, error } => (cookie, Err(errno_of_wire(error))),
            NbdReply::Chunk { cookie, is_last, content } => {
                assert!(is_last && self.export.is_structured);
                match content {
                    NbdChunk::Data { bytes, .. } => {
                        assert_eq!(Some(&bytes), lengths.get(&cookie));
                        (cookie, Ok(data(bytes)?))
                    }
                    NbdChunk::Error { error, text_bytes } => {
                        assert!(!data(text_bytes)?.is_empty(), "an error has a text");
                        (cookie, Err(errno_of_wire(error)))
                    }
                    other => panic!("{other:?}"),
                }
            }
        })
    }

    fn one(&mut self, cookie: u64, length: u32) -> Outcome<Vec<u8>> {
        let (answered, outcome) = self.answer(&HashMap::from([(cookie, length)]))?;
        assert_eq!(answered, cookie);
        outcome
    }

    pub(crate) fn read(&mut self, offset: u64, length: u32) -> Outcome<Vec<u8>> {
        let cookie = self.send(NbdCommand::Read, offset, length, 0)?;
        self.one(cookie, length)
    }

    /// Several reads at once; their data in the order of the ranges.
    pub(crate) fn read_all(&mut self, ranges: &[(u64, u32)]) -> Vec<Outcome<Vec<u8>>> {
        let mut lengths = HashMap::new();
        let cookies: Vec<u64> = ranges
            .iter()
            .map(|(offset, length)| {
                let cookie = self.send(NbdCommand::Read, *offset, *length, 0).unwrap();
                lengths.insert(cookie, *length);
                cookie
            })
            .collect();
        let mut answers = HashMap::new();
        for _ in ranges {
            let (cookie, outcome) = self.answer(&lengths).unwrap();
            assert!(answers.insert(cookie, outcome).is_none(), "{cookie} is answered twice");
        }
        cookies.iter().map(|cookie| answers.remove(cookie).expect("an answer to each")).collect()
    }

    pub(crate) fn write(&mut self, offset: u64, data: &[u8], flags: u16) -> Outcome<()> {
        let cookie = self.send(NbdCommand::Write, offset, data.len() as u32, flags)?;
        self.socket.write_all(data).map_err(|_| libc::ENOTCONN)?;
        self.one(cookie, 0).map(|_| ())
    }

    /// A request without data, whatever it is.
    pub(crate) fn change(&mut self, command: NbdCommand, offset: u64, length: u32, flags: u16) -> Outcome<()> {
        let cookie = self.send(command, offset, length, flags)?;
        self.one(cookie, 0).map(|_| ())
    }

    pub(crate) fn leave(mut self) {
        self.socket.write_all(&leave()).unwrap();
        assert_eq!(self.socket.read(&mut [0]).unwrap_or(0), 0, "the server closes the connection");
    }
}
