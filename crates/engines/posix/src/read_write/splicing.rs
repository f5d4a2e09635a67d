//! `splice(2)` between a file and a pipe, `vmsplice(2)` between the pipe and the slot.
//!
//! ```text
//!  read    file ──splice──▶ pipe ──vmsplice──▶ slot      (the kernel copies here)
//!  write   slot ──vmsplice──▶ pipe ──splice──▶ file
//! ```
//!
//! The pipe is empty between two operations. If one leaves something in it, because the file took
//! less than the pipe had, the pipe is made anew: the next operation must not find those bytes.
//! Pages of a slot are in the pipe only within `write`, so the slot is free when it returns.
//!
//! Unsafe: the kernel gets addresses of slot buffers.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use iolab_engine::file_calls::retry;
use iolab_engine::{LaneRequest, OpenError};

use crate::read_write::{Stretch, Transfer};

/// The room that is asked of a pipe, bytes: what every user may ask for (pipe(7), `pipe-max-size`).
const ROOM_BYTES: usize = 1 << 20;
/// The room of a pipe that cannot be made larger, bytes.
const USUAL_ROOM_BYTES: usize = 64 << 10;

/// Through a pipe.
#[derive(Debug)]
pub struct Spliced {
    pipe: Pipe,
}

#[derive(Debug)]
struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
    /// Bytes it holds.
    room: usize,
}

impl Pipe {
    fn new() -> io::Result<Pipe> {
        let mut ends = [-1; 2];
        // SAFETY: `ends` is a valid place for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made both, and nobody else owns them.
        let [reader, writer] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        // SAFETY: takes numbers only.
        let room = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, ROOM_BYTES as libc::c_int) };
        let room = usize::try_from(room).unwrap_or(USUAL_ROOM_BYTES);
        Ok(Pipe { reader, writer, room })
    }
}

impl Spliced {
    /// Ends an operation that moved `done` bytes and then got `result`. What is left in the pipe
    /// goes with it.
    #[cold]
    fn give_up(&mut self, done: usize, result: i32) -> i32 {
        match Pipe::new() {
            Ok(pipe) => self.pipe = pipe,
            Err(error) => return -error.raw_os_error().unwrap_or(libc::EIO),
        }
        if done > 0 { done as i32 } else { result }
    }

    /// Moves `length` bytes from the end `pipe` of the pipe to the slot. Returns what the last call
    /// said, which is not positive if it could not go on.
    fn take(pipe: &OwnedFd, address: *mut u8, length: usize) -> i32 {
        let mut moved = 0;
        while moved < length {
            // SAFETY: the caller's stretch has `length` bytes from `address`, of which `moved` are
            // behind this address.
            let base = unsafe { address.add(moved) };
            let part = libc::iovec { iov_base: base.cast(), iov_len: length - moved };
            // SAFETY: the bytes lie within a slot, which is the lane's while it submits, and whose
            // pages leave the pipe before the operation ends.
            let result = retry(|| unsafe { libc::vmsplice(pipe.as_raw_fd(), &raw const part, 1, 0) });
            if result <= 0 {
                return result;
            }
            moved += result as usize;
        }
        moved as i32
    }
}

impl Transfer for Spliced {
    fn open(_request: &LaneRequest<'_>) -> Result<Spliced, OpenError> {
        let failed =
            |error: io::Error| OpenError { message: format!("making a pipe: {error}"), errno: error.raw_os_error() };
        Ok(Spliced { pipe: Pipe::new().map_err(failed)? })
    }

    fn read(&mut self, at: &Stretch) -> i32 {
        let (mut done, mut offset) = (0, at.offset as libc::loff_t);
        while done < at.length {
            let most = (at.length - done).min(self.pipe.room);
            let writer = self.pipe.writer.as_raw_fd();
            let nowhere = std::ptr::null_mut();
            // SAFETY: `offset` is a valid place; the other arguments are numbers.
            let come =
                retry(|| unsafe { libc::splice(at.fd, &raw mut offset, writer, nowhere, most, libc::SPLICE_F_MOVE) });
            if come <= 0 {
                // Nothing is in the pipe.
                return if done > 0 { done as i32 } else { come };
            }
            // SAFETY: `done` is less than the stretch's length.
            let taken = Spliced::take(&self.pipe.reader, unsafe { at.address.add(done) }, come as usize);
            if taken != come {
                return self.give_up(done, taken);
            }
            done += come as usize;
        }
        done as i32
    }

    fn write(&mut self, at: &Stretch) -> i32 {
        let (mut done, mut offset) = (0, at.offset as libc::loff_t);
        while done < at.length {
            let part = (at.length - done).min(self.pipe.room);
            // SAFETY: `done` is less than the stretch's length.
            let given = vmspliced(&self.pipe.writer, unsafe { at.address.add(done) }, part);
            if given <= 0 {
                return self.give_up(done, given);
            }
            let (end, reader) = (done + given as usize, self.pipe.reader.as_raw_fd());
            while done < end {
                let nowhere = std::ptr::null_mut();
                // SAFETY: as for read.
                let gone = retry(|| unsafe {
                    libc::splice(reader, nowhere, at.fd, &raw mut offset, end - done, libc::SPLICE_F_MOVE)
                });
                if gone <= 0 {
                    return self.give_up(done, gone);
                }
                done += gone as usize;
            }
        }
        done as i32
    }
}

/// One `vmsplice` into the pipe, which takes no more than it has room for: pages count, so a piece
/// that is not aligned may be taken in part.
fn vmspliced(writer: &OwnedFd, address: *mut u8, length: usize) -> i32 {
    let part = libc::iovec { iov_base: address.cast(), iov_len: length };
    // SAFETY: as in `take`. The pipe is empty, so the call does not wait for room before it takes
    // something.
    retry(|| unsafe { libc::vmsplice(writer.as_raw_fd(), &raw const part, 1, libc::SPLICE_F_NONBLOCK) })
}
