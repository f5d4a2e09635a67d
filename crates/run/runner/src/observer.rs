//! The receivers of a run's events: the partial recording, and the caller's observer.

use iolab_recording::Event;

use crate::stream::{NewIntervals, Stream};

/// Receives the events of a run. It is called on the main thread: a slow observer delays orders and
/// samples of the machine, but no operation.
pub trait RunObserver {
    /// Receives an event, and returns what it wants in return.
    fn take(&mut self, event: &Event<'_>) -> Wish;

    /// Whether it wants intervals. They are read back from the partial recording, which costs the
    /// main thread time.
    fn follows_intervals(&self) -> bool {
        false
    }

    /// When the first operations may begin. It is asked when all workers of the first stage are
    /// ready: at once, or again after a while.
    fn start(&mut self) -> Start {
        Start::Now
    }

    /// After how many operations the workers of `job` end (`wear_out`), the busiest of which had
    /// done `reached` when their time was up. It is asked when all of them have come so far, and
    /// again after a while if it is not known yet, because others run the job elsewhere.
    fn wear_out(&mut self, _job: &str, reached: u64) -> Option<u64> {
        Some(reached)
    }
}

/// When the first operations may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Now.
    Now,
    /// That is not known yet.
    Later,
    /// Then, by the clock of the day, ns since the Unix epoch.
    At(u64),
}

/// What an observer wants in return for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Nothing.
    Nothing,
    /// The recording of the run so far ([`Event::SoFar`]). Granted in return for
    /// [`Event::Progress`].
    SoFar,
    /// The end of all workers, as if `exitall` of another worker had ended each. Granted in return
    /// for [`Event::Progress`].
    End,
}

/// All receivers of a run's events.
pub(crate) struct Followers<'a> {
    stream: &'a Stream,
    observer: &'a mut dyn RunObserver,
    intervals: Option<NewIntervals<'a>>,
}

impl<'a> Followers<'a> {
    pub(crate) fn new(stream: &'a Stream, observer: &'a mut dyn RunObserver) -> Followers<'a> {
        let intervals = if observer.follows_intervals() { stream.new_intervals() } else { None };
        Followers { stream, observer, intervals }
    }

    /// Passes an event to both, and returns the observer's wish; the stream has none.
    pub(crate) fn tell(&mut self, event: &Event<'_>) -> Wish {
        self.stream.take(event);
        self.observer.take(event)
    }

    /// Asks the observer when the first operations may begin.
    pub(crate) fn start(&mut self) -> Start {
        self.observer.start()
    }

    /// Asks the observer after how many operations the workers of a job end.
    pub(crate) fn wear_out(&mut self, job: &str, reached: u64) -> Option<u64> {
        self.observer.wear_out(job, reached)
    }

    /// Passes to the observer the intervals that workers have appended since the last call.
    pub(crate) fn tell_intervals(&mut self) {
        let Some(intervals) = &mut self.intervals else { return };
        for (worker, interval) in intervals.read() {
            self.observer.take(&Event::IntervalEnded { worker, interval: &interval });
        }
    }
}
