//! The clock of a server, compared before the start and, of ranks, once more at the end.

use iolab_clock::Clock;

use super::{Peer, Stage};
use crate::clock_offset::ClockProbe;
use crate::message::ToServer;

impl Peer {
    /// Begins to compare the clocks.
    pub(crate) fn probe_clock(&mut self, clock: &Clock) {
        self.probe = Some(ClockProbe::new(clock.unix_ns()));
        self.ping(clock);
    }

    /// The next exchange; the last one ends the probe.
    pub(super) fn ping(&mut self, clock: &Clock) {
        let Some(probe) = &mut self.probe else { return };
        if let Some(token) = probe.ping(clock.unix_ns()) {
            self.channel.say(&ToServer::Ping { token });
            let _ = self.channel.flush();
            return;
        }
        let found = probe.found().unwrap_or_default();
        self.probe = None;
        if self.stage == Stage::Delivered {
            self.clock_drift_ns = Some(found.offset_ns.saturating_sub(self.clock_offset.offset_ns));
            self.finish();
        } else {
            self.clock_offset = found;
        }
    }

    /// Whether its clock is being compared.
    pub(crate) fn is_probing(&self) -> bool {
        self.probe.is_some() && self.is_there()
    }
}
