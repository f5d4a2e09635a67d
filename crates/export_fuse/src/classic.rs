//! The transport of reads and writes: each request is a `readv` of `/dev/fuse`, each answer a `writev`.
//!
//! Sleeps in `poll(2)` when nothing is in flight. With operations in flight it looks at the connection and at the lane
//! in turn. How many messages are taken before answers are sent follows how many there were the last time, so that
//! neither a single request nor a burst costs a read that finds nothing.

use iolab_engine::Lane;

use crate::channel::{Channel, Message, Received};
use crate::serve::{sleep, stop_raised};
use crate::session::{Reply, Session, Taken};
use crate::unmounter::Unmounter;
use crate::{ExportError, Options};

/// So many rounds without sleeping, and a stop is looked for.
const ROUNDS_BETWEEN_LOOKS: u32 = 1024;

/// Serves until the connection ends or the user wants no more.
pub(crate) fn serve<L: Lane>(
    channel: &Channel,
    session: &mut Session<'_, L>,
    options: &Options,
    unmounter: &mut Unmounter<'_>,
) -> Result<(), ExportError> {
    let mut free: Vec<u16> = (0..session.exporter.slots()).rev().map(|slot| slot as u16).collect();
    let mut message = Message::EMPTY;
    let (mut batch, mut rounds, mut idle) = (1, 0u32, 0);
    loop {
        let mut taken = 0;
        while taken < batch
            && let Some(&slot) = free.last()
        {
            match channel.receive(&mut message, session.exporter.payload(slot))? {
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
        batch = if taken == batch { batch * 2 } else { taken.max(1) }.min(session.exporter.slots());
        session.exporter.work(taken > 0)?;
        while let Some(reply) = session.next_reply() {
            send(channel, session, &reply)?;
            free.push(reply.slot);
        }
        rounds += 1;
        let busy = session.exporter.is_busy();
        idle = if busy || taken > 0 { 0 } else { idle + 1 };
        // One message that was answered at once is likely to be followed by the next only after its sender has run.
        let sleeps = !busy && (idle > options.idle_looks || (taken == 1 && options.idle_looks == 0));
        if sleeps {
            sleep(channel, options)?;
        }
        if sleeps || rounds.is_multiple_of(ROUNDS_BETWEEN_LOOKS) {
            if stop_raised(options) && unmounter.stop()? {
                return Ok(());
            }
            idle = 0;
        }
    }
}

fn send<L: Lane>(channel: &Channel, session: &mut Session<'_, L>, reply: &Reply) -> Result<(), ExportError> {
    channel.reply(reply.unique, reply.error, &session.exporter.payload(reply.slot)[..reply.body_bytes])
}
