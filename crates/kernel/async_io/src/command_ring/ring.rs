//! An io_uring for commands of 80 bytes to a driver (`IORING_OP_URING_CMD` with
//! `IORING_SETUP_SQE128`).
//!
//! One thread makes the ring and uses it. The kernel runs its side of a command only while that
//! thread is inside [`CommandRing::enter`] (`IORING_SETUP_DEFER_TASKRUN`), so a command does not
//! interrupt the work of another processor. The ring does not know what the commands mean, nor how
//! long the memory that they point to must live.
//!
//! Unsafe because it passes addresses to the kernel, and writes one field of a submission entry
//! that the io-uring crate hides.
#![allow(unsafe_code, reason = "island: submission entries with addresses")]

use std::io;
use std::os::fd::RawFd;

use io_uring::{IoUring, cqueue, opcode, squeue, types};

/// One command to a driver.
#[derive(Debug, Clone, Copy)]
pub struct RingCommand {
    /// The driver's file descriptor.
    pub fd: RawFd,
    /// `cmd_op`: the requested operation.
    pub operation: u32,
    /// `addr` of the entry; 0 if the driver needs none.
    pub address: u64,
    /// `len` of the entry.
    pub length: u32,
    /// The bytes of the command itself.
    pub data: [u8; 80],
    /// Returned in the [`RingEvent`].
    pub token: u64,
}

/// A completed command, or an event of a watched descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingEvent {
    /// The token that was passed when the operation was queued.
    pub token: u64,
    /// The driver's result, or a negative errno; for a watched descriptor, the `poll(2)` events.
    pub result: i32,
}

/// The ring.
pub struct CommandRing {
    ring: IoUring<squeue::Entry128>,
    queued: u32,
    /// The descriptor that is registered with the ring, so that the kernel need not look it up for
    /// each command.
    held: Option<RawFd>,
}

impl std::fmt::Debug for CommandRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandRing").field("queued", &self.queued).finish_non_exhaustive()
    }
}

/// The offset of `len` in a submission entry (`struct io_uring_sqe`).
const LENGTH_AT: usize = 24;
const IORING_ENTER_GETEVENTS: u32 = 1;

const _: () = assert!(size_of::<squeue::Entry128>() == 128);

impl CommandRing {
    /// Creates a ring for the calling thread, with room for `commands` at once.
    pub fn new(commands: usize) -> io::Result<CommandRing> {
        let entries = u32::try_from(commands.next_power_of_two()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut builder = IoUring::<squeue::Entry128>::builder();
        builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all();
        Ok(CommandRing { ring: builder.build(entries)?, queued: 0, held: None })
    }

    /// Registers `fd` for the life of the ring, which makes each command to it cheaper. Call this
    /// at most once per ring.
    pub fn hold(&mut self, fd: RawFd) -> io::Result<()> {
        self.ring.submitter().register_files(&[fd])?;
        self.held = Some(fd);
        Ok(())
    }

    /// Queues a command; the kernel sees it at the next [`CommandRing::enter`].
    ///
    /// # Safety
    /// The memory that the command points to must stay valid, and must not be accessed, as long as
    /// the driver may use it.
    pub unsafe fn push(&mut self, command: &RingCommand) -> io::Result<()> {
        let entry = entry(command, self.held == Some(command.fd));
        // SAFETY: the caller guarantees that the addresses are valid.
        unsafe { self.push_entry(&entry) }
    }

    /// Queues a wait until a descriptor is readable or hung up. The event comes once.
    pub fn watch(&mut self, fd: RawFd, token: u64) -> io::Result<()> {
        let entry = opcode::PollAdd::new(types::Fd(fd), libc::POLLIN as u32).build().user_data(token);
        // SAFETY: the entry contains no address.
        unsafe { self.push_entry(&entry.into()) }
    }

    /// # Safety
    /// As for [`CommandRing::push`].
    unsafe fn push_entry(&mut self, entry: &squeue::Entry128) -> io::Result<()> {
        // SAFETY: the caller guarantees that the addresses are valid.
        if unsafe { self.ring.submission().push(entry) }.is_err() {
            self.enter(0)?;
            // SAFETY: as above.
            unsafe { self.ring.submission().push(entry) }.map_err(|_| io::ErrorKind::WouldBlock)?;
        }
        self.queued += 1;
        Ok(())
    }

    /// Submits the queued commands, lets the kernel work, and waits until there are `at_least`
    /// events. Returns early, without events, if a signal arrives.
    pub fn enter(&mut self, at_least: u32) -> io::Result<()> {
        // SAFETY: no argument is passed. Whoever pushed the queued entries guarantees that their
        // addresses are valid.
        let entered = unsafe { self.ring.submitter().enter::<()>(self.queued, at_least, IORING_ENTER_GETEVENTS, None) };
        match entered {
            Ok(taken) => self.queued -= taken as u32,
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            // Completions must be taken first. The caller does so and calls again.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EAGAIN)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Does one round of a server: submits the queued commands and, unless `busy`, sleeps until
    /// something happens. Before sleeping, it polls `looks` times without a system call.
    #[inline]
    pub fn round(&mut self, busy: bool, looks: u32) -> io::Result<()> {
        if busy {
            return if self.has_work() { self.enter(0) } else { Ok(()) };
        }
        if looks > 0 {
            if self.has_work() {
                self.enter(0)?;
            }
            for _ in 0..looks {
                if self.has_work() {
                    return self.enter(0);
                }
                std::hint::spin_loop();
            }
        }
        self.enter(1)
    }

    /// Whether [`CommandRing::enter`] would have something to do without waiting: commands are
    /// queued, or the kernel has work or events.
    #[inline]
    pub fn has_work(&mut self) -> bool {
        self.queued > 0 || self.ring.submission().taskrun() || !self.ring.completion().is_empty()
    }

    /// Returns the next event, oldest first.
    #[inline]
    pub fn next_event(&mut self) -> Option<RingEvent> {
        let entry: cqueue::Entry = self.ring.completion().next()?;
        Some(RingEvent { token: entry.user_data(), result: entry.result() })
    }
}

fn entry(command: &RingCommand, is_held: bool) -> squeue::Entry128 {
    let built = if is_held {
        opcode::UringCmd80::new(types::Fixed(0), command.operation)
    } else {
        opcode::UringCmd80::new(types::Fd(command.fd), command.operation)
    };
    let mut entry = built.cmd(command.data).addr(Some(command.address)).build().user_data(command.token);
    // SAFETY: an entry is 128 plain bytes with the layout of struct io_uring_sqe, and `len` is four
    // of them.
    unsafe { (&raw mut entry).cast::<u8>().add(LENGTH_AT).cast::<u32>().write_unaligned(command.length) };
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_ring::Stop;

    #[test]
    fn an_entry_is_laid_out_as_the_kernel_reads_it() {
        let mut data = [0u8; 80];
        data[0] = 0xa0;
        data[79] = 0xaf;
        let command =
            RingCommand { fd: 7, operation: 0x0102_0304, address: 0x1122_3344_5566_7788, length: 2, data, token: 9 };
        let entry = entry(&command, false);
        // SAFETY: an entry is 128 initialised bytes.
        let bytes = unsafe { (&raw const entry).cast::<[u8; 128]>().read() };
        assert_eq!(bytes[0], 46, "IORING_OP_URING_CMD");
        assert_eq!(bytes[4..8], [7, 0, 0, 0], "fd");
        assert_eq!(bytes[8..16], [4, 3, 2, 1, 0, 0, 0, 0], "cmd_op");
        assert_eq!(bytes[16..24], [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11], "addr");
        assert_eq!(bytes[24..28], [2, 0, 0, 0], "len");
        assert_eq!(bytes[32..40], [9, 0, 0, 0, 0, 0, 0, 0], "user_data");
        assert_eq!((bytes[48], bytes[127]), (0xa0, 0xaf), "cmd");
        let held = super::entry(&command, true);
        // SAFETY: as above.
        let bytes = unsafe { (&raw const held).cast::<[u8; 128]>().read() };
        assert_eq!((bytes[1], bytes[4..8].to_vec()), (1, vec![0; 4]), "IOSQE_FIXED_FILE, the first file");
    }

    #[test]
    fn a_watched_descriptor_is_told_once() {
        let Ok(mut ring) = CommandRing::new(4) else { return };
        let stop = Stop::by_hand().unwrap();
        ring.watch(std::os::fd::AsRawFd::as_raw_fd(&stop), 77).unwrap();
        ring.enter(0).unwrap();
        assert_eq!(ring.next_event(), None);
        stop.raise();
        ring.enter(1).unwrap();
        let event = ring.next_event().unwrap();
        assert_eq!((event.token, event.result & i32::from(libc::POLLIN)), (77, i32::from(libc::POLLIN)));
        assert_eq!(ring.next_event(), None);
    }
}
