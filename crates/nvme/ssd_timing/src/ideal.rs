//! A device that takes no time: every command completes at once. It is for measuring everything
//! else.

use crate::request::{CommandKind, TimedCommand};
use crate::statistics::Statistics;

/// The model. It counts what the host does.
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

    /// What the host sees.
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

    /// Counters are at zero.
    pub fn settle(&mut self) {
        self.counts = Statistics::default();
    }

    /// What the host did.
    pub fn statistics(&self) -> Statistics {
        self.counts
    }
}
