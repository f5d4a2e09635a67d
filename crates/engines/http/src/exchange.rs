//! One request and its response, on a connection that stays open between them.
//!
//! A server may close an idle connection at any time. A request on a connection that was used
//! before, and was closed before anything came back, is therefore sent once more on a new one.

use std::io::{self, ErrorKind, Read};
use std::time::Duration;

use iolab_sockets::{PieceList, StreamSocket};
use iolab_tls::{StreamChannel, TlsClient};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::options::Asked;
use crate::response::{self, BodyLength, ResponseHead};

/// Bytes that one call receives of heads and of what comes with them.
const BUFFER_BYTES: usize = 16 << 10;
/// The most bytes of a body that nobody wants; with more, the connection is closed instead.
const MOST_UNWANTED: u64 = 1 << 20;
/// How much of the text of an error is kept.
const MOST_TEXT: usize = 512;

/// An answer.
#[derive(Debug, Default)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    /// Bytes of the body, wherever they went.
    pub(crate) body_bytes: u64,
    /// Whether the object has iolab's mark.
    pub(crate) is_marked: bool,
    /// The beginning of the body of an error.
    pub(crate) text: String,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) errno: i32,
    pub(crate) why: String,
}

impl Trouble {
    fn of(doing: &str, error: &io::Error) -> Trouble {
        let errno = match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => libc::ETIMEDOUT,
            ErrorKind::UnexpectedEof => libc::ECONNRESET,
            // Who the server is, or what it speaks.
            ErrorKind::InvalidData => libc::EPROTO,
            _ => error.raw_os_error().unwrap_or(libc::EIO),
        };
        let why = match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => format!("{doing}: the server is silent"),
            ErrorKind::UnexpectedEof => format!("{doing}: the server closed the connection"),
            _ => format!("{doing}: {error}"),
        };
        Trouble { errno, why }
    }

    fn protocol(what: &str) -> Trouble {
        Trouble { errno: libc::EPROTO, why: what.to_owned() }
    }
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) head: &'a str,
    pub(crate) content: &'a [u8],
    /// Whether the response may have a body.
    pub(crate) has_body: bool,
}

/// The connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    host: String,
    port: u16,
    timeout: Duration,
    tls: Option<TlsClient>,
    channel: Option<StreamChannel>,
    buffer: Box<[u8]>,
    /// What of the buffer was received and not used.
    from: usize,
    to: usize,
    list: PieceList,
}

/// Where the bytes of a body go: to the caller, or to the text of an error.
struct Sink<'a> {
    to: &'a mut [u8],
    placed: usize,
    is_wanted: bool,
    text: Vec<u8>,
    bytes: u64,
}

impl Sink<'_> {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if self.is_wanted {
            let room = &mut self.to[self.placed..];
            let fits = room.len().min(bytes.len());
            room[..fits].copy_from_slice(&bytes[..fits]);
            self.placed += fits;
        } else {
            let fits = bytes.len().min(MOST_TEXT - self.text.len());
            self.text.extend_from_slice(&bytes[..fits]);
        }
    }
}

impl Exchange {
    pub(crate) fn new(asked: &Asked) -> Exchange {
        Exchange {
            host: asked.host.clone(),
            port: asked.port,
            timeout: asked.timeout,
            tls: asked.tls.clone(),
            channel: None,
            buffer: vec![0; BUFFER_BYTES].into(),
            from: 0,
            to: 0,
            list: PieceList::default(),
        }
    }

    /// Connects, unless it is connected.
    pub(crate) fn connect(&mut self) -> Result<(), Trouble> {
        if self.channel.is_none() {
            let socket = StreamSocket::to_host(&self.host, self.port, self.timeout);
            let socket = socket.map_err(|error| Trouble::of("connecting", &error))?;
            socket.set_timeouts(self.timeout).map_err(|error| Trouble::of("connecting", &error))?;
            let mut channel = StreamChannel::from(socket);
            if let Some(tls) = &self.tls {
                channel.secure(tls, &self.host).map_err(|error| Trouble::of("connecting", &error))?;
            }
            self.channel = Some(channel);
            (self.from, self.to) = (0, 0);
        }
        Ok(())
    }

    /// Sends a request and receives its response; the body of a success goes to `to`, as far as it
    /// fits.
    pub(crate) fn round(&mut self, sent: &Sent<'_>, to: &mut [u8]) -> Result<HttpAnswer, Trouble> {
        let was_used = self.channel.is_some();
        match self.try_round(sent, to) {
            Err((true, _)) if was_used => {
                self.channel = None;
                self.try_round(sent, to).map_err(|(_, trouble)| trouble)
            }
            other => other.map_err(|(_, trouble)| trouble),
        }
        .inspect_err(|_| self.channel = None)
    }

    /// One try. With an error: whether nothing had come back.
    fn try_round(&mut self, sent: &Sent<'_>, to: &mut [u8]) -> Result<HttpAnswer, (bool, Trouble)> {
        self.connect().map_err(|trouble| (false, trouble))?;
        let sending = self.send(sent);
        let head = match self.head(sent.has_body) {
            Ok(head) => head,
            // What was wrong with sending says more than that nothing came back.
            Err((nothing_came, trouble)) => {
                let trouble = match sending {
                    Err(error) if nothing_came => Trouble::of("sending", &error),
                    _ => trouble,
                };
                return Err((nothing_came && trouble.errno != libc::ETIMEDOUT, trouble));
            }
        };
        let is_wanted = (200..300).contains(&head.status);
        let mut sink = Sink { to, placed: 0, is_wanted, text: Vec::new(), bytes: 0 };
        let mut stays = head.stays && sending.is_ok();
        match head.body {
            BodyLength::Known(bytes) if !is_wanted && bytes > MOST_UNWANTED => stays = false,
            BodyLength::Known(bytes) => self.body(bytes, &mut sink).map_err(|trouble| (false, trouble))?,
            BodyLength::Chunks => self.chunks(&mut sink).map_err(|trouble| (false, trouble))?,
            BodyLength::UntilClosed => self.rest(&mut sink).map_err(|trouble| (false, trouble))?,
        }
        if !stays {
            self.channel = None;
        }
        let text = String::from_utf8_lossy(&sink.text).chars().filter(|character| !character.is_control()).collect();
        Ok(HttpAnswer { status: head.status, body_bytes: sink.bytes, is_marked: head.is_marked, text })
    }

    fn send(&mut self, sent: &Sent<'_>) -> io::Result<()> {
        let Some(channel) = &mut self.channel else { return Err(ErrorKind::NotConnected.into()) };
        let (head, content) = (sent.head.as_bytes(), sent.content);
        let mut gone = 0;
        while gone < head.len() + content.len() {
            let mut pieces = self.list.writing();
            if gone < head.len() {
                pieces.bytes(&head[gone..]);
            }
            pieces.bytes(&content[gone.saturating_sub(head.len())..]);
            match channel.send(pieces) {
                Ok(bytes) => gone += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => wait_for_room(channel, self.timeout)?,
                Err(error) => return Err(error),
            }
        }
        while !channel.push()? {
            wait_for_room(channel, self.timeout)?;
        }
        Ok(())
    }

    /// Receives more into the buffer.
    fn more(&mut self) -> io::Result<()> {
        if self.from > 0 {
            self.buffer.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        if self.to == self.buffer.len() {
            let mut larger = vec![0; self.buffer.len() * 2];
            larger[..self.to].copy_from_slice(&self.buffer);
            self.buffer = larger.into();
        }
        let Some(channel) = &mut self.channel else { return Err(ErrorKind::NotConnected.into()) };
        let bytes = receive(channel, &mut self.buffer[self.to..])?;
        self.to += bytes;
        Ok(())
    }

    /// The head of the response, after those that only announce it. With an error: whether nothing
    /// had come.
    fn head(&mut self, has_body: bool) -> Result<ResponseHead, (bool, Trouble)> {
        const MOST_ANNOUNCEMENTS: usize = 10;
        let mut announcements = 0;
        loop {
            match response::head(&self.buffer[self.from..self.to], has_body) {
                Ok(Some(head)) => {
                    self.from += head.bytes;
                    if head.status >= 200 {
                        return Ok(head);
                    }
                    announcements += 1;
                    if announcements > MOST_ANNOUNCEMENTS {
                        return Err((false, Trouble::protocol("endless announcements of a response")));
                    }
                }
                Ok(None) => {
                    let nothing_came = self.from == self.to && announcements == 0;
                    self.more().map_err(|error| (nothing_came, Trouble::of("receiving", &error)))?;
                }
                Err(what) => return Err((false, Trouble::protocol(what))),
            }
        }
    }

    /// `left` bytes of a body.
    fn body(&mut self, mut left: u64, sink: &mut Sink<'_>) -> Result<(), Trouble> {
        loop {
            let has = (self.to - self.from).min(usize::try_from(left).unwrap_or(usize::MAX));
            sink.take(&self.buffer[self.from..self.from + has]);
            self.from += has;
            left -= has as u64;
            if left == 0 {
                return Ok(());
            }
            // Nothing is left in the buffer: what fits goes directly to the caller.
            let room = sink.to.len() - sink.placed;
            let direct = room.min(usize::try_from(left).unwrap_or(usize::MAX));
            let received = match &mut self.channel {
                Some(channel) if sink.is_wanted && direct > 0 => {
                    let received = receive(channel, &mut sink.to[sink.placed..sink.placed + direct]);
                    received.map(|bytes| {
                        sink.placed += bytes;
                        sink.bytes += bytes as u64;
                        left -= bytes as u64;
                    })
                }
                _ => self.more(),
            };
            received.map_err(|error| Trouble::of("receiving", &error))?;
            if left == 0 {
                return Ok(());
            }
        }
    }

    fn chunks(&mut self, sink: &mut Sink<'_>) -> Result<(), Trouble> {
        loop {
            let bytes = self.chunk_length()?;
            if bytes == 0 {
                break;
            }
            self.body(bytes, sink)?;
            if sink.bytes > MOST_UNWANTED + sink.to.len() as u64 {
                return Err(Trouble::protocol("a body that is far too long"));
            }
            let mut nothing = Sink { to: &mut [], placed: 0, is_wanted: true, text: Vec::new(), bytes: 0 };
            self.body(2, &mut nothing)?;
        }
        // Trailers, up to an empty line.
        loop {
            let unread = &self.buffer[self.from..self.to];
            if unread.starts_with(b"\r\n") {
                self.from += 2;
                return Ok(());
            }
            match unread.windows(2).position(|window| window == b"\r\n") {
                Some(end) => self.from += end + 2,
                None if unread.len() > response::MOST_HEAD_BYTES => {
                    return Err(Trouble::protocol("trailers without an end"));
                }
                None => self.more().map_err(|error| Trouble::of("receiving", &error))?,
            }
        }
    }

    fn chunk_length(&mut self) -> Result<u64, Trouble> {
        loop {
            match response::chunk(&self.buffer[self.from..self.to]) {
                Ok(Some((bytes, used))) => {
                    self.from += used;
                    return Ok(bytes);
                }
                Ok(None) => self.more().map_err(|error| Trouble::of("receiving", &error))?,
                Err(what) => return Err(Trouble::protocol(what)),
            }
        }
    }

    /// Everything until the server closes the connection.
    fn rest(&mut self, sink: &mut Sink<'_>) -> Result<(), Trouble> {
        loop {
            sink.take(&self.buffer[self.from..self.to]);
            self.from = self.to;
            if sink.bytes > MOST_UNWANTED + sink.to.len() as u64 {
                return Err(Trouble::protocol("a body that is far too long"));
            }
            match self.more() {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(Trouble::of("receiving", &error)),
            }
        }
    }
}

/// Receives something, waiting for it.
fn receive(channel: &mut StreamChannel, to: &mut [u8]) -> io::Result<usize> {
    loop {
        match channel.read(to) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn wait_for_room(channel: &StreamChannel, timeout: Duration) -> io::Result<()> {
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    match poll(&mut [PollFd::new(channel, PollFlags::OUT)], Some(&timeout)) {
        Ok(0) => Err(ErrorKind::TimedOut.into()),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
