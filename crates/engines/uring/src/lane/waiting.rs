//! How a lane enters the kernel: submitting and waiting in one call, and what to do if that is
//! refused, interrupted or done in part.
//!
//! Guarantees: a poll does not enter the kernel unless the kernel says that it holds completions
//! back (task work, overflow) or must be polled.

use iolab_engine::LaneError;

use crate::abi::{enter, sq_flag};
use crate::options::Requested;
use crate::ring::Ring;

/// How often a lane with a submission thread polls for completions before it sleeps.
const SPINS: usize = 2000;
/// How often to offer a submission again for which the kernel has no memory, before the lane gives
/// up.
const PATIENCE: usize = 10_000;

/// A ring and the entries offered to it. `flushed` is the number that the kernel has, or will have
/// with the next enter.
#[derive(Debug)]
pub(crate) struct Gate<const WIDE: bool = false> {
    pub(crate) ring: Ring<WIDE>,
    /// Entries offered to the kernel and not yet consumed.
    pub(crate) unsubmitted: u32,
    pub(crate) poll_thread: bool,
    pub(crate) poll_device: bool,
}

impl<const WIDE: bool> Gate<WIDE> {
    pub(crate) fn new(ring: Ring<WIDE>, requested: &Requested) -> Gate<WIDE> {
        let Requested { poll_thread, poll_device, .. } = *requested;
        Gate { ring, unsubmitted: 0, poll_thread, poll_device }
    }

    /// Shows the queued entries to the kernel.
    #[inline]
    pub(crate) fn offer(&mut self) {
        let count = self.ring.publish();
        self.unsubmitted += if self.poll_thread { 0 } else { count };
    }

    /// Makes the kernel consume the offered entries.
    #[inline]
    pub(crate) fn flush(&mut self, flushed: usize) -> Result<(), LaneError> {
        if self.poll_thread {
            return self.await_thread(0, 0, flushed);
        }
        if self.unsubmitted > 0 {
            return self.enter_ring(0, 0, 0, flushed);
        }
        Ok(())
    }

    /// Cancels or awaits the kernel's operations: the buffers are freed afterwards.
    pub(crate) fn drain(&mut self, flushed: usize) {
        let mut cancelled = false;
        let mut left = flushed - self.unsubmitted as usize;
        while left > 0 {
            let ready = self.ring.ready().min(left);
            self.ring.take(ready);
            left -= ready;
            if left == 0 {
                break;
            }
            if !cancelled {
                self.ring.cancel_everything();
                cancelled = true;
            }
            let result = self.ring.enter(0, left as u32, enter::GETEVENTS | enter::SQ_WAKEUP);
            if result < 0 && result != -libc::EINTR {
                break; // The ring is broken; closing it makes the kernel give up the rest.
            }
        }
    }

    /// Makes the kernel move completions into the ring until it has `need`.
    #[inline]
    pub(crate) fn await_ring(&mut self, need: usize, timeout_ns: u64, flushed: usize) -> Result<(), LaneError> {
        if self.poll_thread {
            return self.await_thread(need, timeout_ns, flushed);
        }
        let ready = self.ring.ready();
        if need > ready || self.unsubmitted > 0 {
            let need = if self.poll_device && timeout_ns != u64::MAX { 0 } else { need };
            return self.enter_ring(need, timeout_ns, enter::GETEVENTS, flushed);
        }
        // No wait is requested. Enter only if the kernel holds completions that an enter would
        // deliver.
        let hidden = self.ring.flags() & (sq_flag::TASKRUN | sq_flag::CQ_OVERFLOW) != 0;
        if ready == 0 && (hidden || (self.poll_device && flushed > 0)) {
            return self.enter_ring(0, 0, enter::GETEVENTS, flushed);
        }
        Ok(())
    }

    /// Waits while a kernel thread submits: polls for a while before it sleeps.
    #[inline(never)]
    fn await_thread(&mut self, need: usize, timeout_ns: u64, flushed: usize) -> Result<(), LaneError> {
        if flushed > 0 && self.ring.needs_wakeup() {
            let woken = self.ring.enter(0, 0, enter::SQ_WAKEUP);
            if woken < 0 && woken != -libc::EINTR {
                return Err(LaneError { call: "io_uring_enter", errno: -woken });
            }
        }
        if need == 0 && self.ring.flags() & sq_flag::CQ_OVERFLOW != 0 {
            return self.enter_ring(0, 0, enter::GETEVENTS, flushed);
        }
        if timeout_ns > 0 {
            for _ in 0..SPINS {
                if self.ring.ready() >= need {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
        }
        if self.ring.ready() < need {
            self.enter_ring(need, timeout_ns, enter::GETEVENTS | enter::SQ_WAKEUP, flushed)?;
        }
        Ok(())
    }

    /// Submits the offered entries and, with `GETEVENTS`, waits until `need` completions are in the
    /// ring.
    #[inline]
    fn enter_ring(&mut self, need: usize, timeout_ns: u64, flags: u32, flushed: usize) -> Result<(), LaneError> {
        let result = self.ring.enter_for(self.unsubmitted, need as u32, timeout_ns, flags);
        if result as u32 == self.unsubmitted && (self.ring.ready() >= need || timeout_ns != u64::MAX) {
            self.unsubmitted = 0;
            return Ok(());
        }
        self.enter_again(result, need, timeout_ns, flags, flushed)
    }

    /// The enter was refused, interrupted or consumed only a part: continues as far as possible.
    #[cold]
    #[inline(never)]
    fn enter_again(
        &mut self,
        first: i32,
        need: usize,
        timeout_ns: u64,
        flags: u32,
        flushed: usize,
    ) -> Result<(), LaneError> {
        let forever = timeout_ns == u64::MAX;
        let mut patience = PATIENCE;
        let mut result = first;
        loop {
            match -result {
                consumed if consumed <= 0 => {
                    let progressed = result > 0 || self.unsubmitted == 0;
                    self.unsubmitted -= result as u32;
                    if self.unsubmitted == 0 && (!forever || self.ring.ready() >= need) {
                        return Ok(());
                    }
                    if !progressed {
                        return Err(LaneError { call: "io_uring_enter", errno: libc::EAGAIN });
                    }
                }
                libc::EINTR if forever => {}
                libc::EINTR | libc::ETIME => return Ok(()),
                // No room now: completions make room, and a later enter submits the rest.
                libc::EAGAIN | libc::EBUSY if self.ring.ready() > 0 => return Ok(()),
                libc::EAGAIN | libc::EBUSY if flushed > self.unsubmitted as usize => {
                    let waited = self.ring.enter(0, 1, enter::GETEVENTS);
                    if waited < 0 && waited != -libc::EINTR {
                        return Err(LaneError { call: "io_uring_enter", errno: -waited });
                    }
                }
                // Nothing in flight can make room: the kernel is temporarily short of memory.
                libc::EAGAIN | libc::EBUSY if patience > 0 => {
                    patience -= 1;
                    std::thread::yield_now();
                }
                errno => return Err(LaneError { call: "io_uring_enter", errno }),
            }
            result = self.ring.enter_for(self.unsubmitted, need as u32, timeout_ns, flags);
        }
    }
}
