//! How far the clock of a server is ahead of the client's: by the exchange with the shortest round
//! trip, as NTP does (RFC 5905, 8).
//!
//! ```text
//!  client  ──a──────────────b──▶          offset = s - (a + b) / 2
//!               ╲         ╱               error  = (b - a) / 2
//!  server  ──────▶───s───▶───▶
//! ```

use iolab_clock::Clock;

use crate::channel::{Channel, ChannelError, Patience};
use crate::message::{ToClient, ToServer};

/// Exchanges with each host.
const EXCHANGES: u32 = 32;

/// The difference of two clocks, and how wrong it may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClockOffset {
    /// The server's time minus the client's, ns.
    pub(crate) offset_ns: i64,
    /// Half of the round trip, ns.
    pub(crate) error_ns: u64,
}

/// Measures. Other messages that come meanwhile are dropped: the server has nothing else to say
/// now.
pub(crate) fn measure(
    channel: &mut Channel,
    clock: &Clock,
    patience: Patience<'_>,
) -> Result<ClockOffset, ChannelError> {
    let mut best: Option<ClockOffset> = None;
    for token in 0..EXCHANGES {
        let sent_ns = clock.unix_ns();
        channel.say(&ToServer::Ping { token });
        let server_ns = loop {
            match channel.receive(patience)?.message()? {
                ToClient::Pong { token: echo, unix_ns } if echo == token => break unix_ns,
                ToClient::Refused(_) | ToClient::Finished => return Err(ChannelError::Closed),
                _ => {}
            }
        };
        let exchange = between(sent_ns, clock.unix_ns(), server_ns);
        if best.is_none_or(|best| exchange.error_ns < best.error_ns) {
            best = Some(exchange);
        }
    }
    Ok(best.unwrap_or_default())
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
        // A server's word may be anything.
        assert_eq!(between(0, 0, u64::MAX).offset_ns, i64::MAX);
    }
}
