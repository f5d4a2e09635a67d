//! A device that takes no time: every command completes at once. It is used to measure the cost of
//! everything else.

use crate::request::{CommandKind, TimedCommand};
use crate::statistics::Statistics;

/// The model. It counts the host's commands.
#[derive(Debug, Clone, Default)]
pub struct Ideal {
    visible_bytes: u64,
    counts: Statistics,
}

impl Ideal {
    /// A device of this size.
    pub fn new(visible_bytes: u64) -> Self {
        Self { visible_bytes, counts: Statistics::default() }
    }

    /// The visible capacity.
    pub fn visible_bytes(&self) -> u64 {
        self.visible_bytes
    }

    /// Completes now.
    pub fn schedule(&mut self, now_ns: u64, request: &TimedCommand) -> u64 {
        match request.kind {
            CommandKind::Read => self.counts.host_read_bytes += request.length_bytes,
            CommandKind::Write => self.counts.host_written_bytes += request.length_bytes,
            _ => {}
        }
        now_ns
    }

    /// Resets the counters.
    pub fn settle(&mut self) {
        self.counts = Statistics::default();
    }

    /// The counters of host commands.
    pub fn statistics(&self) -> Statistics {
        self.counts
    }
}
