//! The transport by reads and writes: each request is a `readv` of `/dev/fuse`, each answer is a
//! `writev`.
//!
//! It sleeps in `poll(2)` when nothing is in flight. With operations in flight, it polls the
//! connection and the lane in turn. The number of messages taken before answers are sent adapts to
//! the last round, so that neither a single request nor a burst costs a read that finds nothing.

use crate::FuseError;
use crate::channel::{Channel, Message, Received};
use crate::ending::Ending;
use crate::service::{Reply, Service, Taken};

/// The number of rounds without sleeping after which a stop is checked.
const ROUNDS_BETWEEN_LOOKS: u32 = 1024;

/// How many messages are taken in one round.
struct Batch {
    size: usize,
    most: usize,
    /// Consecutive rounds with a single message.
    singles: u32,
}

/// After this many single messages, a read for a second one is tried, in case one is always
/// waiting.
const SINGLES_BEFORE_TRYING: u32 = 8;

impl Batch {
    /// Adapts to a round.
    fn took(&mut self, taken: usize) {
        let is_single = taken == 1 && self.size == 1;
        self.singles = if is_single { self.singles + 1 } else { 0 };
        self.size = match taken {
            1 if is_single && self.singles < SINGLES_BEFORE_TRYING => 1,
            _ if taken == self.size => (taken * 2).min(self.most),
            _ => taken.max(1),
        };
    }
}

/// Serves until the connection ends or the user stops it.
///
/// # Errors
/// The error of the connection or of the service.
pub fn serve<S: Service>(
    channel: &Channel,
    session: &mut S,
    idle_looks: u32,
    mut ending: Ending<'_>,
) -> Result<(), S::Error> {
    let (slots, _) = session.shape();
    let mut free: Vec<u16> = (0..slots).rev().map(|slot| slot as u16).collect();
    let mut message = Message::EMPTY;
    let mut batch = Batch { size: 1, most: slots, singles: 0 };
    let (mut rounds, mut idle) = (0u32, 0);
    loop {
        let mut taken = 0;
        while taken < batch.size
            && let Some(&slot) = free.last()
        {
            match channel.receive(&mut message, session.payload(slot))? {
                Received::End => return Ok(()),
                Received::Nothing => break,
                Received::Message => taken += 1,
            }
            match session.take(slot, &message) {
                Taken::Started => {
                    free.pop();
                }
                Taken::Reply(reply) => send(channel, session, &reply)?,
                Taken::Silence => {}
            }
        }
        batch.took(taken);
        session.work(taken > 0)?;
        while let Some(reply) = session.next_reply() {
            send(channel, session, &reply)?;
            free.push(reply.slot);
        }
        rounds = rounds.wrapping_add(1);
        let busy = session.is_busy();
        idle = if busy || taken > 0 { 0 } else { idle + 1 };
        // After one message that was answered at once, the next one probably comes only after its
        // sender has run.
        let sleeps = !busy && (idle > idle_looks || (taken == 1 && idle_looks == 0));
        let mut look = rounds.is_multiple_of(ROUNDS_BETWEEN_LOOKS);
        if sleeps {
            look |= ending.sleep(channel)?;
            idle = 0;
        }
        if look && ending.is_now()? {
            return Ok(());
        }
    }
}

fn send<S: Service>(channel: &Channel, session: &mut S, reply: &Reply) -> Result<(), FuseError> {
    channel.reply(reply.unique, reply.error, &session.payload(reply.slot)[..reply.body_bytes])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_follows_what_there_is() {
        let mut batch = Batch { size: 1, most: 5, singles: 0 };
        let mut sizes = Vec::new();
        // First single messages, then more than can be taken, then few, then none.
        for taken in [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 5, 3, 0] {
            assert!(taken <= batch.size);
            batch.took(taken);
            sizes.push(batch.size);
        }
        assert_eq!(sizes, [1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 5, 5, 3, 1]);
    }
}
