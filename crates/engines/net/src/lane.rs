//! The lane: operations in the order in which they came, each as the next bytes of the stream or
//! the next datagrams.
//!
//! Offsets mean nothing here: what is sent first arrives first. The socket never blocks; `reap`
//! waits for it, so that a job that is ordered to stop can. When the other end closes a stream, or
//! says that it sends no more datagrams (an empty one), what is missing does not come: the
//! operation ends with what there was.
//!
//! Unsafe: the kernel gets addresses of slot buffers.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use iolab_clock::Clock;
use iolab_engine::{
    Completion, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView, Submission, Wait,
};

use crate::options::NetOptions;
use crate::sockets::{self, NetSocket};

/// Empty datagrams that say that no more come: some, because one may be lost.
const GOODBYES: usize = 3;

/// A lane of the engine `net`.
#[derive(Debug)]
pub struct NetLane {
    socket: NetSocket,
    pingpong: bool,
    buffers: PoolView,
    depth: usize,
    queue: VecDeque<Transfer>,
    /// What the first operation was.
    kind: Option<OpKind>,
    clock: Clock,
}

/// An operation on its way.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    slot: u16,
    address: *mut u8,
    length: usize,
    moved: usize,
    sends: bool,
    /// Of a pingpong: its second half follows.
    comes_back: bool,
}

/// How far an operation got.
enum Step {
    Ended(i32),
    GoesOn,
    Waits,
}

impl NetLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<NetLane, OpenError> {
        let options = NetOptions::of(request.options);
        let path = request.files.first().map(|file| file.path.as_path());
        Ok(NetLane {
            socket: sockets::open(&options, path)?,
            pingpong: options.pingpong,
            buffers: request.buffers,
            depth: request.depth,
            queue: VecDeque::with_capacity(request.depth),
            kind: None,
            clock: Clock::monotonic(),
        })
    }

    /// The first operation says whether the job sends to a group or is one of its readers. `Err` is
    /// an errno.
    #[cold]
    fn begin(&mut self, kind: OpKind) -> Result<(), i32> {
        self.kind = Some(kind);
        if kind == OpKind::Write {
            self.socket.learns_peer = false;
            // Any other writer of datagrams has somewhere to send them, or the kernel says so.
            if let Some(group) = self.socket.group {
                self.connect(&group).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
            }
        }
        Ok(())
    }

    fn connect(&self, peer: &SocketAddr) -> io::Result<()> {
        let socket = UdpSocket::from(self.socket.fd.try_clone()?);
        socket.connect(peer)
    }

    /// Takes the first operation as far as the socket lets it now.
    fn step(&mut self) -> Step {
        let Some(first) = self.queue.front().copied() else { return Step::Waits };
        let result = if first.sends { self.send(&first) } else { self.receive(&first) };
        match result {
            Err(libc::EAGAIN) => Step::Waits,
            Err(libc::EINTR) => Step::GoesOn,
            Err(errno) => Step::Ended(-errno),
            Ok(0) if !first.sends && first.length > 0 => Step::Ended(first.moved as i32),
            Ok(count) => {
                let moved = first.moved + count;
                let is_done = moved == first.length;
                let Some(transfer) = self.queue.front_mut() else { return Step::Waits };
                transfer.moved = moved;
                if is_done && first.comes_back {
                    *transfer = Transfer { moved: 0, sends: !first.sends, comes_back: false, ..first };
                    return Step::GoesOn;
                }
                if is_done { Step::Ended(first.length as i32) } else { Step::GoesOn }
            }
        }
    }

    fn send(&self, of: &Transfer) -> Result<usize, i32> {
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the transfer lies within a slot that is the lane's, and `moved` of its bytes have
        // gone.
        answer(unsafe {
            libc::send(self.socket.fd.as_raw_fd(), of.address.add(of.moved).cast(), of.length - of.moved, flags)
        })
    }

    fn receive(&mut self, of: &Transfer) -> Result<usize, i32> {
        if self.socket.learns_peer && self.pingpong {
            self.learn_peer()?;
        }
        // SAFETY: as for send; the bytes are the lane's to write.
        answer(unsafe {
            let room = of.length - of.moved;
            libc::recv(self.socket.fd.as_raw_fd(), of.address.add(of.moved).cast(), room, libc::MSG_DONTWAIT)
        })
    }

    /// Connects to who sent the datagram that comes next, which stays where it is.
    #[cold]
    fn learn_peer(&mut self) -> Result<(), i32> {
        let errno = |error: io::Error| error.raw_os_error().unwrap_or(libc::EIO);
        let socket = UdpSocket::from(self.socket.fd.try_clone().map_err(errno)?);
        let (_, peer) = socket.peek_from(&mut []).map_err(errno)?;
        socket.connect(peer).map_err(errno)?;
        self.socket.learns_peer = false;
        Ok(())
    }

    /// Waits until the first operation can go on.
    fn wait(&self, until_ns: u64) {
        let sends = self.queue.front().is_some_and(|first| first.sends);
        let events = if sends { libc::POLLOUT } else { libc::POLLIN };
        let mut wanted = libc::pollfd { fd: self.socket.fd.as_raw_fd(), events, revents: 0 };
        let left_ns = until_ns.saturating_sub(self.clock.now_ns());
        let timeout = libc::timespec {
            tv_sec: (left_ns / 1_000_000_000).min(i32::MAX as u64) as i64,
            tv_nsec: (left_ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: one valid entry and a valid time. A signal ends the wait, as it should.
        unsafe { libc::ppoll(&raw mut wanted, 1, &raw const timeout, std::ptr::null()) };
    }
}

impl Lane for NetLane {
    const SYNCHRONOUS: bool = false;

    fn submit(&mut self, op: &Op) -> Submission {
        if self.queue.len() >= self.depth {
            return Submission::Full;
        }
        if !op.kind.moves_data() {
            return Submission::Refused(libc::EOPNOTSUPP);
        }
        if self.kind.is_none()
            && let Err(errno) = self.begin(op.kind)
        {
            return Submission::Refused(errno);
        }
        let length = op.length as usize;
        let Some(address) = self.buffers.range_ptr(usize::from(op.slot), op.buffer_offset as usize, length) else {
            return Submission::Refused(libc::EINVAL);
        };
        let sends = op.kind == OpKind::Write;
        self.queue.push_back(Transfer { slot: op.slot, address, length, moved: 0, sends, comes_back: self.pingpong });
        Submission::Accepted
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let until_ns = self.clock.now_ns().saturating_add(wait.timeout_ns);
        let mut reaped = 0;
        while out.room_left() > 0 && !self.queue.is_empty() {
            match self.step() {
                Step::GoesOn => {}
                Step::Ended(result) => {
                    if let Some(transfer) = self.queue.pop_front() {
                        out.push(Completion { slot: u32::from(transfer.slot), result });
                        reaped += 1;
                    }
                }
                Step::Waits if out.as_slice().len() >= wait.at_least => break,
                Step::Waits if self.clock.now_ns() >= until_ns => break,
                Step::Waits => self.wait(until_ns),
            }
        }
        Ok(reaped)
    }

    fn ends(&self) -> bool {
        true
    }
}

impl Drop for NetLane {
    fn drop(&mut self) {
        if self.socket.is_datagram && self.kind == Some(OpKind::Write) {
            for _ in 0..GOODBYES {
                // SAFETY: no byte is read. A reader that has gone needs no goodbye.
                unsafe { libc::send(self.socket.fd.as_raw_fd(), std::ptr::null(), 0, libc::MSG_NOSIGNAL) };
            }
        }
        if let Some(path) = &self.socket.path {
            // Somebody else may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn answer(count: isize) -> Result<usize, i32> {
    usize::try_from(count).map_err(|_| io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}
