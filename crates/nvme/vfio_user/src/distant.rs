//! Memory of a client that cannot be mapped: every access is a message to the client.
//!
//! The device's thread waits for the answer, which the connection's thread passes on. A client that
//! does not answer in time is not asked again.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolab_memory::MappingAccess;
use iolab_pci_device::{DistantMemory, DmaFault};

use crate::protocol::{DmaAccess, MessageCommand, MessageHeader};
use crate::wire::{Incoming, MOST_DATA_BYTES, Wire};

/// How long a client may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Polls within which a client must have received a message.
const LOOKS: u32 = 40;

/// The client's memory, accessed by messages.
#[derive(Debug)]
pub(crate) struct Distant {
    wire: Arc<Wire>,
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug)]
struct State {
    /// Address, length in bytes, and whether the memory may be written.
    regions: Vec<(u64, u64, bool)>,
    /// Most bytes of a transfer that the client accepts.
    most_bytes: usize,
    /// The pending requests, and the answers that have arrived.
    waiting: HashMap<u16, Option<Answer>>,
    next_id: u16,
    /// Whether requests to the client are allowed.
    is_open: bool,
    /// Whether they are forbidden permanently.
    is_lost: bool,
}

/// The payload of an answer, or an error if the access failed.
type Answer = Result<Vec<u8>, ()>;

impl Distant {
    pub(crate) fn new(wire: Arc<Wire>) -> Distant {
        let state = State {
            regions: Vec::new(),
            most_bytes: MOST_DATA_BYTES,
            waiting: HashMap::new(),
            next_id: 0,
            is_open: true,
            is_lost: false,
        };
        Distant { wire, state: Mutex::new(state), arrived: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent after every step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the most bytes of a transfer that the client accepts.
    pub(crate) fn limit(&self, most_bytes: u64) {
        self.lock().most_bytes = usize::try_from(most_bytes).unwrap_or(usize::MAX).clamp(1, MOST_DATA_BYTES);
    }

    /// Adds memory of the client. The caller has checked that it does not overlap other memory.
    pub(crate) fn add(&self, address: u64, bytes: u64, is_writable: bool) {
        self.lock().regions.push((address, bytes, is_writable));
    }

    /// Removes memory of the client.
    pub(crate) fn remove(&self, address: u64) {
        self.lock().regions.retain(|(start, ..)| *start != address);
    }

    /// Fails all pending accesses, and forbids new ones.
    pub(crate) fn close(&self) {
        self.lock().is_open = false;
        self.arrived.notify_all();
    }

    /// Allows accesses again.
    pub(crate) fn reopen(&self) {
        self.lock().is_open = true;
    }

    /// Passes an answer to the thread that waits for it.
    pub(crate) fn deliver(&self, incoming: Incoming) {
        let answer = if incoming.header.error().is_some() { Err(()) } else { Ok(incoming.payload) };
        if let Some(place) = self.lock().waiting.get_mut(&incoming.header.id) {
            *place = Some(answer);
            self.arrived.notify_all();
        }
    }

    /// Sends a request to the client, and waits for its answer.
    fn ask(&self, command: MessageCommand, payload: &[u8]) -> Option<Vec<u8>> {
        let id = {
            let mut state = self.lock();
            if !state.is_open || state.is_lost {
                return None;
            }
            let id = state.next_id;
            state.next_id = id.wrapping_add(1);
            state.waiting.insert(id, None);
            id
        };
        let mut looks = 0;
        let goes_on = || {
            looks += 1;
            looks <= LOOKS && self.lock().is_open
        };
        let sent = self.wire.send(&MessageHeader::command(id, command, payload.len()), payload, &[], goes_on);
        let mut state = self.lock();
        if sent.is_ok() {
            let waits = |state: &mut State| state.is_open && state.waiting.get(&id).is_some_and(Option::is_none);
            let waited = self.arrived.wait_timeout_while(state, PATIENCE, waits);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let answer = state.waiting.remove(&id).flatten();
        // A part of a message may have been sent, or an answer may still arrive that no thread
        // waits for.
        state.is_lost |= answer.is_none() && state.is_open;
        answer?.ok()
    }

    /// Calls `one` for each part of an access; a part fits into one transfer.
    fn each(
        &self,
        fault: DmaFault,
        mut one: impl FnMut(DmaAccess, std::ops::Range<usize>) -> Option<()>,
    ) -> Result<(), DmaFault> {
        if !self.reaches(fault.address, fault.bytes, fault.access) {
            return Err(fault);
        }
        let most_bytes = self.lock().most_bytes;
        for start in (0..fault.bytes).step_by(most_bytes) {
            let end = fault.bytes.min(start + most_bytes);
            let access = DmaAccess { address: fault.address + start as u64, count: (end - start) as u64 };
            one(access, start..end).ok_or(fault)?;
        }
        Ok(())
    }
}

impl DistantMemory for Distant {
    fn reaches(&self, address: u64, bytes: usize, access: MappingAccess) -> bool {
        let state = self.lock();
        let Some(end) = address.checked_add(bytes as u64) else { return false };
        let mut at = address;
        while at < end {
            let holds = |(start, bytes, is_writable): &&(u64, u64, bool)| {
                (*is_writable || access == MappingAccess::Read)
                    && at.checked_sub(*start).is_some_and(|in_it| in_it < *bytes)
            };
            let Some((start, bytes, _)) = state.regions.iter().find(holds) else { return false };
            at = start + bytes;
        }
        true
    }

    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), DmaFault> {
        let fault = DmaFault { address, bytes: to.len(), access: MappingAccess::Read };
        self.each(fault, |access, range| {
            let answer = self.ask(MessageCommand::DmaRead, &access.encode(&[]))?;
            let (answered, data) = DmaAccess::decode(&answer)?;
            let to = &mut to[range];
            if answered != access || data.len() != to.len() {
                return None;
            }
            to.copy_from_slice(data);
            Some(())
        })
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), DmaFault> {
        let fault = DmaFault { address, bytes: from.len(), access: MappingAccess::ReadWrite };
        self.each(fault, |access, range| {
            let answer = self.ask(MessageCommand::DmaWrite, &access.encode(&from[range]))?;
            (DmaAccess::decode(&answer)?.0 == access).then_some(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::wire::Inbox;

    fn distant() -> (Arc<Distant>, Wire) {
        let (near, far) = UnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        (Arc::new(Distant::new(Arc::new(Wire::new(near.into())))), Wire::new(far.into()))
    }

    fn next(wire: &Wire, inbox: &mut Inbox) -> Incoming {
        loop {
            match inbox.take(wire) {
                Ok(incoming) => return incoming.unwrap(),
                Err(_) => wire.has_news(),
            };
        }
    }

    #[test]
    fn regions_say_what_may_be_done_and_touch_each_other() {
        let (distant, _far) = distant();
        distant.add(0x1000, 0x1000, true);
        distant.add(0x2000, 0x1000, false);
        let (read, write) = (MappingAccess::Read, MappingAccess::ReadWrite);
        for (address, bytes, access, expected) in [
            (0x1000, 0x2000, read, true),
            (0x1000, 0x1000, write, true),
            (0x1000, 0x1001, write, false),
            (0xfff, 2, read, false),
            (0x2fff, 2, read, false),
            (u64::MAX, 2, read, false),
        ] {
            assert_eq!(distant.reaches(address, bytes, access), expected, "{address:#x}+{bytes:#x} {access:?}");
        }
        distant.remove(0x1000);
        assert!(!distant.reaches(0x1000, 1, read) && distant.reaches(0x2000, 1, read));
    }

    #[test]
    fn long_accesses_are_several_messages_and_errors_are_faults() {
        let (distant, far) = distant();
        distant.add(0, 0x10_000, true);
        distant.limit(3);
        std::thread::scope(|scope| {
            let device = scope.spawn(|| {
                let mut data = [0; 5];
                distant.read(0x10, &mut data).map(|()| data)
            });
            let mut inbox = Inbox::default();
            for (expected, data) in [((0x10, 3), &b"abc"[..]), ((0x13, 2), b"de")] {
                let asked = next(&far, &mut inbox);
                let (access, _) = DmaAccess::decode(&asked.payload).unwrap();
                assert_eq!((access.address, access.count), expected);
                let payload = access.encode(data);
                let header = asked.header.reply(payload.len());
                distant.deliver(Incoming { header, payload, descriptors: Vec::new() });
            }
            assert_eq!(device.join().unwrap(), Ok(*b"abcde"));
            let device = scope.spawn(|| distant.write(0x20, b"x"));
            let asked = next(&far, &mut inbox);
            let header = asked.header.failure(5);
            distant.deliver(Incoming { header, payload: Vec::new(), descriptors: Vec::new() });
            assert!(device.join().unwrap().is_err());
            // The answer does not match the request.
            let device = scope.spawn(|| distant.write(0x20, b"x"));
            let asked = next(&far, &mut inbox);
            let payload = DmaAccess { address: 0x21, count: 1 }.encode(&[]);
            distant.deliver(Incoming { header: asked.header.reply(16), payload, descriptors: Vec::new() });
            assert!(device.join().unwrap().is_err());
            // No answer comes, and the connection ends.
            let device = scope.spawn(|| distant.read(0, &mut [0; 1]));
            next(&far, &mut inbox);
            distant.close();
            assert!(device.join().unwrap().is_err());
            assert!(distant.read(0, &mut [0; 1]).is_err());
        });
    }
}
