//! How far the clock of a server is ahead of the client's: by the exchange with the shortest round
//! trip, as NTP does (RFC 5905, 8).
//!
//! ```text
//!  client  ──a──────────────b──▶          offset = s - (a + b) / 2
//!               ╲         ╱               error  = (b - a) / 2
//!  server  ──────▶───s───▶───▶
//! ```

use std::collections::BTreeMap;

/// Most exchanges with each host.
const EXCHANGES: u32 = 32;
/// From so many on, time counts, too.
const FEWEST_EXCHANGES: u32 = 8;
/// No more exchanges begin after this time, ns.
const LONGEST_NS: u64 = 1_000_000_000;

/// The difference of two clocks, and how wrong it may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClockOffset {
    /// The server's time minus the client's, ns.
    pub(crate) offset_ns: i64,
    /// Half of the round trip, ns.
    pub(crate) error_ns: u64,
}

/// What tells this machine from all others until it boots again (random(4)); containers share it,
/// and the clock of the day.
pub(crate) fn this_machine() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Those of one machine have one clock, so the best of their estimates is that of all. The clock of
/// this machine is known.
pub(crate) fn share(estimates: &mut [(Option<String>, ClockOffset)], here: Option<&str>) {
    let mut best: BTreeMap<String, ClockOffset> = BTreeMap::new();
    if let Some(here) = here {
        best.insert(here.to_owned(), ClockOffset::default());
    }
    for (machine, found) in estimates.iter() {
        let Some(machine) = machine else { continue };
        let known = best.entry(machine.clone()).or_insert(*found);
        if found.error_ns < known.error_ns {
            *known = *found;
        }
    }
    for (machine, found) in estimates.iter_mut() {
        if let Some(known) = machine.as_ref().and_then(|machine| best.get(machine)) {
            *found = *known;
        }
    }
}

/// Exchanges with one host, one after the other; those with other hosts go on at the same time.
#[derive(Debug, Clone)]
pub(crate) struct ClockProbe {
    begun_ns: u64,
    /// How many have begun, which is the token of the last.
    begun: u32,
    /// When the last began; nothing if it has ended.
    sent_ns: Option<u64>,
    best: Option<ClockOffset>,
}

impl ClockProbe {
    /// None has begun yet. Times are the client's, ns since the Unix epoch.
    pub(crate) fn new(now_ns: u64) -> ClockProbe {
        ClockProbe { begun_ns: now_ns, begun: 0, sent_ns: None, best: None }
    }

    /// Begins the next exchange: returns its token.
    pub(crate) fn ping(&mut self, now_ns: u64) -> Option<u32> {
        let is_long = self.begun >= FEWEST_EXCHANGES && now_ns.saturating_sub(self.begun_ns) >= LONGEST_NS;
        if self.sent_ns.is_some() || self.begun >= EXCHANGES || is_long {
            return None;
        }
        self.begun += 1;
        self.sent_ns = Some(now_ns);
        Some(self.begun)
    }

    /// Ends an exchange; answers to others are none.
    pub(crate) fn pong(&mut self, token: u32, server_ns: u64, now_ns: u64) {
        if token != self.begun {
            return;
        }
        let Some(sent_ns) = self.sent_ns.take() else { return };
        let exchange = between(sent_ns, now_ns, server_ns);
        if self.best.is_none_or(|best| exchange.error_ns < best.error_ns) {
            self.best = Some(exchange);
        }
    }

    /// What was found; nothing before the first exchange.
    pub(crate) fn found(&self) -> Option<ClockOffset> {
        self.best
    }
}

fn between(sent_ns: u64, received_ns: u64, server_ns: u64) -> ClockOffset {
    let round_trip_ns = received_ns.saturating_sub(sent_ns);
    let middle_ns = i128::from(sent_ns) + i128::from(round_trip_ns / 2);
    let offset_ns = (i128::from(server_ns) - middle_ns).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    ClockOffset { offset_ns, error_ns: round_trip_ns.div_ceil(2) }
}

impl ClockOffset {
    /// A time of the client, by the server's clock.
    pub(crate) fn there(self, unix_ns: u64) -> u64 {
        unix_ns.saturating_add_signed(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_round_trip_is_the_servers_time() {
        for (sent, received, server, offset, error) in
            [(100, 200, 150, 0, 50), (100, 200, 1150, 1000, 50), (1000, 1010, 5, -1000, 5), (7, 7, 7, 0, 0)]
        {
            let found = between(sent, received, server);
            assert_eq!(found, ClockOffset { offset_ns: offset, error_ns: error });
            assert_eq!(found.there(sent + (received - sent) / 2), server);
        }
    }

    #[test]
    fn the_shortest_exchange_counts_and_time_ends_the_probe() {
        let mut probe = ClockProbe::new(0);
        let mut now_ns = 0;
        // The clock there is 1000 ns ahead; what a round trip takes above 100 ns, the answer takes.
        for round_trip_ns in [300, 200, 100, 200, 300] {
            let token = probe.ping(now_ns).unwrap();
            assert_eq!(probe.ping(now_ns), None, "one at a time");
            probe.pong(token + 1, 7, now_ns);
            now_ns += round_trip_ns;
            probe.pong(token, now_ns - round_trip_ns + 50 + 1000, now_ns);
        }
        assert_eq!(probe.found(), Some(ClockOffset { offset_ns: 1000, error_ns: 50 }));
        let rest = (0..100).take_while(|_| {
            let token = probe.ping(now_ns);
            token.inspect(|token| probe.pong(*token, 0, now_ns)).is_some()
        });
        assert_eq!(rest.count() as u32, EXCHANGES - 5);
        let mut slow = ClockProbe::new(0);
        let taken = (1..100).take_while(|second| {
            let token = slow.ping(second * LONGEST_NS);
            token.inspect(|token| slow.pong(*token, 0, second * LONGEST_NS)).is_some()
        });
        assert_eq!(taken.count() as u32, FEWEST_EXCHANGES);
    }

    #[test]
    fn those_of_one_machine_have_one_clock() {
        let of = |offset_ns, error_ns| ClockOffset { offset_ns, error_ns };
        let machine = |name: &str| Some(name.to_owned());
        let mut estimates = [
            (machine("a"), of(10, 5)),
            (machine("b"), of(900, 9)),
            (None, of(7, 7)),
            (machine("b"), of(905, 3)),
            (machine("b"), of(890, 20)),
        ];
        share(&mut estimates, Some("a"));
        assert_eq!(estimates.map(|(_, found)| found), [of(0, 0), of(905, 3), of(7, 7), of(905, 3), of(905, 3)]);
    }

    #[test]
    fn a_servers_word_may_be_anything() {
        assert_eq!(between(0, 0, u64::MAX).offset_ns, i64::MAX);
    }
}
