//! The lane of engines that hand operations to a client of something remote: a library or a
//! protocol with a queue of its own.
//!
//! ```text
//! runner ─ submit ─▶ ClientLane ─ offer ─▶ client ─▶ server
//!        ◀─ reap ──             ◀─ take, done ──
//! ```
//! An engine writes a [`LaneClient`]; counting, waiting, and the way of completions to the runner
//! stand here once.

use iolab_clock::Clock;

use crate::waiting::{Sleeper, reap_rest, wanted};
use crate::{CompletionRow, Completions, Lane, LaneError, Op, Submission, Wait};

/// Looks without a completion, for a caller that only polls, between two readings of the clock.
const LOOKS_BEFORE_CLOCK: u32 = 64;
/// How long the end of a lane waits at once for operations that its client still has.
const END_WAIT_NS: u64 = 1_000_000_000;

/// What an engine's client does for its lane.
pub trait LaneClient {
    /// Whether the client uses slots until each operation has completed, so that the lane must not
    /// end before. Others end their operations when they are dropped.
    const WAITS_AT_END: bool;

    /// Begins an operation. It ends with a completion in [`LaneClient::done`].
    ///
    /// # Errors
    /// The errno with which the operation is refused; nothing of it is left.
    fn offer(&mut self, op: &Op) -> Result<(), i32>;

    /// Sends what has been held back.
    ///
    /// # Errors
    /// The lane broke.
    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    /// Moves what has completed to [`LaneClient::done`]. Never waits.
    ///
    /// # Errors
    /// The lane broke.
    fn take(&mut self) -> Result<(), LaneError>;

    /// Completions that the lane has not handed over.
    fn done(&mut self) -> &mut CompletionRow;

    /// Waits until something may have completed, at most for so long.
    ///
    /// # Errors
    /// The lane broke.
    fn wait(&mut self, timeout_ns: u64) -> Result<(), LaneError>;

    /// Lets a library work that works only when it is called. Never waits.
    ///
    /// # Errors
    /// The lane broke.
    fn poke(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    /// Gives up servers that have been silent for too long. Returns when the next one will have
    /// been, by the same clock.
    fn give_up_silent(&mut self, _now_ns: u64) -> u64 {
        u64::MAX
    }

    /// What the client has to say about the run.
    fn notes(&self) -> &[String];
}

/// A lane on a client.
#[derive(Debug)]
pub struct ClientLane<C: LaneClient> {
    client: C,
    /// Accepted and not reaped.
    in_flight: usize,
    /// Looks without a completion since the last reading of the clock.
    fruitless: u32,
    clock: Clock,
}

impl<C: LaneClient> ClientLane<C> {
    /// A lane without operations.
    pub fn new(client: C) -> ClientLane<C> {
        ClientLane { client, in_flight: 0, fruitless: 0, clock: Clock::best().0 }
    }

    /// The client.
    pub fn client(&self) -> &C {
        &self.client
    }

    /// Accepted and not completed.
    #[inline]
    fn with_client(&mut self) -> usize {
        self.in_flight - self.client.done().len()
    }
}

impl<C: LaneClient> Sleeper for ClientLane<C> {
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    #[inline]
    fn collect(&mut self, out: &mut Completions) -> Result<usize, LaneError> {
        if self.with_client() > 0 {
            self.client.take()?;
        }
        let found = self.client.done().drain_into(out);
        self.in_flight -= found;
        Ok(found)
    }

    fn sleep(&mut self, now_ns: u64, end_ns: u64) -> Result<(), LaneError> {
        let end_ns = end_ns.min(self.client.give_up_silent(now_ns));
        if self.client.done().is_empty() {
            self.client.wait(end_ns.saturating_sub(now_ns))?;
        }
        Ok(())
    }
}

impl<C: LaneClient> Lane for ClientLane<C> {
    const SYNCHRONOUS: bool = false;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        match self.client.offer(op) {
            Ok(()) => {
                self.in_flight += 1;
                Submission::Accepted
            }
            Err(errno) => Submission::Refused(errno),
        }
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        self.client.flush()
    }

    #[inline]
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let mut found = self.collect(out)?;
        if found > 0 {
            self.fruitless = 0;
        } else if self.in_flight > 0 && wanted(wait, 0, self.in_flight, out) == 0 {
            // The caller only looks, so that `sleep` never comes to its turn.
            self.client.poke()?;
            self.fruitless += 1;
            if self.fruitless.is_multiple_of(LOOKS_BEFORE_CLOCK) {
                self.client.give_up_silent(self.clock.now_ns());
            }
            found += self.collect(out)?;
        }
        reap_rest(self, wait, found, out)
    }

    fn notes(&self) -> &[String] {
        self.client.notes()
    }
}

impl<C: LaneClient> Drop for ClientLane<C> {
    fn drop(&mut self) {
        // Time-outs of the client bound this wait.
        while C::WAITS_AT_END && self.with_client() > 0 {
            if self.client.wait(END_WAIT_NS).is_err() || self.client.take().is_err() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::rc::Rc;

    use super::*;
    use crate::{Completion, OpKind};

    /// Completes one operation for each wait, and gives all up at the time `silent_at_ns`.
    struct Client {
        begun: VecDeque<u16>,
        done: CompletionRow,
        pokes: u32,
        silent_after_ns: u64,
        /// Completions so far, for whom outlives the lane.
        ended: Rc<Cell<u32>>,
        wakes: usize,
    }

    impl Client {
        fn new(silent_after_ns: u64) -> Client {
            let (begun, done) = (VecDeque::new(), CompletionRow::with_depth(4));
            Client { begun, done, pokes: 0, silent_after_ns, ended: Rc::default(), wakes: 0 }
        }

        fn end(&mut self, result: i32) {
            let Some(slot) = self.begun.pop_front() else { return };
            self.done.push(Completion { slot: u32::from(slot), result });
            self.ended.set(self.ended.get() + 1);
        }
    }

    impl LaneClient for Client {
        const WAITS_AT_END: bool = true;

        fn offer(&mut self, op: &Op) -> Result<(), i32> {
            if op.file != 0 {
                return Err(libc::EBADF);
            }
            self.begun.push_back(op.slot);
            Ok(())
        }

        fn take(&mut self) -> Result<(), LaneError> {
            for _ in 0..std::mem::take(&mut self.wakes) {
                self.end(512);
            }
            Ok(())
        }

        fn done(&mut self) -> &mut CompletionRow {
            &mut self.done
        }

        fn wait(&mut self, _: u64) -> Result<(), LaneError> {
            self.wakes += 1;
            Ok(())
        }

        fn poke(&mut self) -> Result<(), LaneError> {
            self.pokes += 1;
            Ok(())
        }

        fn give_up_silent(&mut self, now_ns: u64) -> u64 {
            if now_ns >= self.silent_after_ns {
                (0..self.begun.len()).for_each(|_| self.end(-libc::ETIMEDOUT));
            }
            self.silent_after_ns
        }

        fn notes(&self) -> &[String] {
            &[]
        }
    }

    fn op(slot: u16, file: u32) -> Op {
        Op { offset: 0, length: 512, buffer_offset: 0, file, slot, kind: OpKind::Read, priority: 0 }
    }

    fn reap(lane: &mut ClientLane<Client>, at_least: usize) -> Vec<(u32, i32)> {
        let mut out = Completions::with_room(4);
        lane.reap(Wait { at_least, timeout_ns: 60_000_000_000 }, &mut out).unwrap();
        out.as_slice().iter().map(|done| (done.slot, done.result)).collect()
    }

    #[test]
    fn what_is_accepted_completes_once_and_what_is_refused_never() {
        let mut lane = ClientLane::new(Client::new(u64::MAX));
        assert!(matches!(lane.submit(&op(0, 1)), Submission::Refused(libc::EBADF)));
        for slot in 0..3 {
            assert!(matches!(lane.submit(&op(slot, 0)), Submission::Accepted));
        }
        assert_eq!(reap(&mut lane, 2), [(0, 512), (1, 512)]);
        assert_eq!(lane.in_flight, 1);
        assert_eq!(reap(&mut lane, 0), []);
        assert_eq!(lane.client().pokes, 1, "a look lets the library work");
        assert_eq!(reap(&mut lane, 9), [(2, 512)], "no more is waited for than there is");
        assert_eq!(reap(&mut lane, 9), []);
    }

    #[test]
    fn silence_ends_operations_for_callers_that_wait_and_for_those_that_look() {
        let mut lane = ClientLane::new(Client::new(0));
        lane.submit(&op(3, 0));
        assert_eq!(reap(&mut lane, 1), [(3, -libc::ETIMEDOUT)]);
        lane.submit(&op(2, 0));
        let looks = (0..).find(|_| reap(&mut lane, 0) == [(2, -libc::ETIMEDOUT)]).unwrap();
        assert!(looks < LOOKS_BEFORE_CLOCK, "{looks}");
    }

    #[test]
    fn the_end_of_a_lane_waits_for_what_its_client_has() {
        let client = Client::new(u64::MAX);
        let ended = Rc::clone(&client.ended);
        let mut lane = ClientLane::new(client);
        (0..3).for_each(|slot| assert!(matches!(lane.submit(&op(slot, 0)), Submission::Accepted)));
        drop(lane);
        assert_eq!(ended.get(), 3);
    }
}
