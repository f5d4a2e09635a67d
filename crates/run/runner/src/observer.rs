//! Those who follow a run: one takes the events for the partial recording, the other is the
//! caller's.

use iolab_recording::Event;

use crate::stream::{NewIntervals, Stream};

/// Takes the events of a run. Called from the main thread, between what it does for the workers:
/// whoever takes long delays orders and looks at the machine, though no operation.
pub trait RunObserver {
    /// Takes an event, and says what it wants in return.
    fn take(&mut self, event: &Event<'_>) -> Wish;

    /// Whether it wants to be told of intervals. They are read back from the partial recording,
    /// which costs the main thread time.
    fn follows_intervals(&self) -> bool {
        false
    }
}

/// What an observer wants in return for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Nothing.
    Nothing,
    /// The recording of the run so far ([`Event::SoFar`]). Granted in return for
    /// [`Event::Progress`].
    SoFar,
}

/// All who follow a run.
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

    /// Tells all of them; what comes back is the observer's wish, for the stream has none.
    pub(crate) fn tell(&mut self, event: &Event<'_>) -> Wish {
        self.stream.take(event);
        self.observer.take(event)
    }

    /// Tells the observer of the intervals that workers have appended since the last call.
    pub(crate) fn tell_intervals(&mut self) {
        let Some(intervals) = &mut self.intervals else { return };
        for (worker, interval) in intervals.read() {
            self.observer.take(&Event::IntervalEnded { worker, interval: &interval });
        }
    }
}
