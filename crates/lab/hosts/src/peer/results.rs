//! What is known of a server's run: so far, and in the end.

use iolab_recording::Recording;

use super::Peer;
use crate::gather::{self, Gathered};
use crate::message::ToServer;

impl Peer {
    /// Asks for the recording of its run so far.
    pub(crate) fn ask_so_far(&mut self) {
        self.so_far = None;
        self.say(&ToServer::Report);
    }

    /// Whether the answer is there, or none will come.
    pub(crate) fn has_so_far(&self) -> bool {
        self.so_far.is_some() || self.recording.is_some() || !self.is_there()
    }

    /// What is known of its run now.
    pub(crate) fn so_far(&self) -> Gathered {
        let known = self.recording.as_ref().or(self.so_far.as_ref()).or(self.planned.as_ref());
        self.gathered(known.cloned())
    }

    /// What came of its run, and what its workers left.
    pub(crate) fn into_results(mut self) -> (Gathered, Vec<iolab_runner::Spools>) {
        // A report of the run so far is better than nothing of a server that died.
        let known = self.recording.take().or(self.so_far.take()).or(self.planned.take());
        (self.gathered(known), std::mem::take(&mut self.receiving.spools))
    }

    fn gathered(&self, known: Option<Recording>) -> Gathered {
        Gathered {
            name: self.name.clone(),
            port: self.port,
            clock: self.clock_offset,
            clock_drift_ns: self.clock_drift_ns,
            recording: known.unwrap_or_else(gather::nothing),
            lost: self.lost.clone(),
        }
    }
}
