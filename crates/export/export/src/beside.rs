//! The threads of an export with several queues. The first is the caller's, which creates and
//! removes the device; each of the others serves with its own lane.
//!
//! Guarantees: all others are ready before the first one begins; when one fails, all are halted,
//! and its error is the export's. Deliberately not here: the work of a thread.

use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, scope};

use iolab_memory::SlotPool;

use crate::{ServedCounts, Stop};

/// Sent by a thread when it is ready; if it is dropped instead, the thread has failed.
#[derive(Debug)]
pub struct Ready(Sender<()>);

impl Ready {
    /// The thread has everything it needs.
    pub fn tell(self) {
        // The waiting thread keeps the receiver until this is dropped.
        let _ = self.0.send(());
    }
}

/// Opens the lane of the thread with this number, with the slots of the export's options, on the
/// thread that serves it; on failure returns the reason.
pub type OpenLane<'a, L> = dyn Fn(usize) -> Result<(L, SlotPool), String> + Sync + 'a;

/// Makes the error for a thread that cannot serve, from its number and the reason.
pub type Unfit<E> = fn(usize, String) -> E;

/// One of the threads other than the calling one.
pub struct OtherThread<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// Raised when the thread has to end because another one did.
    pub halt: &'a Stop,
    /// To be sent when the thread is about to serve.
    pub ready: Ready,
}

/// Runs `other` on threads 1 to `threads` - 1, and `first` on the calling one once they are ready,
/// until all have ended. Each gets a stop that is raised when it has to end because another one
/// did. Returns what the others have served.
pub fn beside<E: Send>(
    threads: usize,
    unfit: Unfit<E>,
    other: &(dyn Fn(OtherThread<'_>) -> Result<ServedCounts, E> + Sync),
    first: impl FnOnce(&Stop) -> Result<(), E>,
) -> Result<ServedCounts, E> {
    let no_stop = |error| unfit(0, format!("no eventfd: {error}"));
    let halts = (0..threads).map(|_| Stop::by_hand()).collect::<Result<Vec<Stop>, _>>().map_err(no_stop)?;
    let halt_all = || halts.iter().for_each(Stop::raise);
    scope(|scope| {
        let (sender, readiness) = channel();
        let (mut handles, mut begun) = (Vec::new(), Ok(()));
        for (number, halt) in halts.iter().enumerate().skip(1) {
            let (ready, halt_all) = (Ready(sender.clone()), &halt_all);
            let body = move || {
                let served = other(OtherThread { number, halt, ready });
                if served.is_err() {
                    halt_all();
                }
                served
            };
            match Builder::new().name(format!("queue-{number}")).spawn_scoped(scope, body) {
                Ok(handle) => handles.push(handle),
                Err(error) => begun = Err(unfit(number, format!("no thread: {error}"))),
            }
        }
        drop(sender);
        let all_ready = readiness.iter().count() + 1 == threads;
        let served = if all_ready { first(&halts[0]) } else { begun };
        halt_all();
        let (mut tally, mut failed) = (ServedCounts::default(), Ok(()));
        for (place, handle) in handles.into_iter().enumerate() {
            let panicked = |_| Err(unfit(place + 1, "its thread has panicked".to_owned()));
            match handle.join().unwrap_or_else(panicked) {
                Ok(more) => tally += more,
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        // A thread that failed knows the cause; the first one only knows that it was halted.
        failed.and(served).map(|()| tally)
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    fn wait(stop: &Stop) {
        poll(&mut [PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN)], None).unwrap();
    }

    fn one_read() -> ServedCounts {
        ServedCounts { reads: 1, ..ServedCounts::default() }
    }

    #[test]
    fn the_first_begins_when_the_others_are_ready_and_ends_them() {
        let ready = AtomicUsize::new(0);
        let other = |OtherThread { halt, ready: told, .. }: OtherThread<'_>| {
            ready.fetch_add(1, Ordering::SeqCst);
            told.tell();
            wait(halt);
            Ok::<ServedCounts, String>(one_read())
        };
        let first = |_: &Stop| {
            assert_eq!(ready.load(Ordering::SeqCst), 3);
            Ok(())
        };
        assert_eq!(beside(4, |_, what| what, &other, first).unwrap().reads, 3);
        let alone = beside(1, |_, what| what, &other, |_| Ok(()));
        assert_eq!(alone.unwrap(), ServedCounts::default());
    }

    #[test]
    fn one_that_fails_ends_all() {
        let other = |OtherThread { number, halt, ready: told }: OtherThread<'_>| {
            told.tell();
            if number == 2 {
                return Err(format!("{number} failed"));
            }
            wait(halt);
            Ok(one_read())
        };
        let first = |halt: &Stop| {
            wait(halt);
            Err("halted".to_owned())
        };
        assert_eq!(beside(3, |_, what| what, &other, first), Err("2 failed".to_owned()));
    }

    #[test]
    fn the_first_does_not_begin_without_the_others() {
        let other = |OtherThread { number, halt, ready: told }: OtherThread<'_>| {
            if number == 1 {
                return Err("no lane".to_owned());
            }
            told.tell();
            wait(halt);
            Ok(one_read())
        };
        let first = |_: &Stop| panic!("a thread is missing");
        assert_eq!(beside(3, |_, what| what, &other, first), Err("no lane".to_owned()));
    }
}
