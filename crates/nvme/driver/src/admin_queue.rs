//! The commands of the admin queue. Several may be outstanding, each with its own page for data;
//! event requests are among them.
//!
//! This is not on the hot path. The code checks every completion and returns what is wrong; the
//! caller decides what to do about it. The transport provides the queue itself.

use std::collections::VecDeque;

use iolab_nvme_spec::event::AsynchronousEvent;
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, Status, SubmissionEntry};

use crate::error::ResetCause;
use crate::transport::{ADMIN_DATA_BYTES, ADMIN_DATA_SLOTS, TransportQueue};

/// Commands that may be outstanding besides event requests.
const COMMAND_SLOTS: usize = ADMIN_DATA_SLOTS as usize;
/// Event requests that may be outstanding.
const EVENT_SLOTS: usize = 8;

/// A slot for one outstanding command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotState {
    Free,
    Waiting,
    Answered(CompletionEntry),
}

/// A command that was sent and has not been answered yet. Valid until the controller is reset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket {
    slot: usize,
}

/// The outstanding commands of the admin queue.
#[derive(Debug)]
pub(crate) struct AdminQueue {
    slots: [SlotState; COMMAND_SLOTS + EVENT_SLOTS],
    /// Counts commands, so that a late completion of a slot's earlier command is not taken for a
    /// new one.
    cids: [u16; COMMAND_SLOTS + EVENT_SLOTS],
    event_requests: usize,
    /// The device refused an event request. No more are sent until the next reset.
    events_refused: bool,
    /// Events that were not handed out yet.
    pub(crate) events: VecDeque<AsynchronousEvent>,
}

const SLOT_BITS: u32 = 5;

impl AdminQueue {
    pub(crate) fn new() -> AdminQueue {
        AdminQueue {
            slots: [SlotState::Free; COMMAND_SLOTS + EVENT_SLOTS],
            cids: std::array::from_fn(|slot| slot as u16),
            event_requests: 0,
            events_refused: false,
            events: VecDeque::new(),
        }
    }

    /// Forgets all outstanding commands. The controller must be disabled.
    pub(crate) fn restart(&mut self) {
        self.slots = [SlotState::Free; COMMAND_SLOTS + EVENT_SLOTS];
        self.events_refused = false;
    }

    /// Sends a command; returns `None` while every slot is taken. A command with data gets a page:
    /// `data` is first copied to it, and the command transfers the given number of bytes.
    pub(crate) fn send<Q: TransportQueue>(
        &mut self,
        queue: &mut Q,
        mut entry: SubmissionEntry,
        data: Option<(&[u8], usize)>,
    ) -> Option<Ticket> {
        let slot = (0..COMMAND_SLOTS).find(|slot| self.slots[*slot] == SlotState::Free)?;
        let room = queue.room()?;
        if let Some((data, bytes)) = data {
            let mut page = [0; ADMIN_DATA_BYTES];
            page[..data.len()].copy_from_slice(data);
            queue.write_slot(slot as u16, &page);
            let window = queue.slot_window(slot as u16, moved_bytes(bytes));
            let pointer = queue.data_pointer(slot as u16, window.address, window.bytes.into());
            let Ok(pointer) = pointer else { unreachable!("a page of the queue's own is aligned") };
            pointer.put_into(&mut entry.words);
        }
        self.push(queue, slot, entry, room);
        Some(Ticket { slot })
    }

    fn push<Q: TransportQueue>(&mut self, queue: &mut Q, slot: usize, entry: SubmissionEntry, room: Q::Room) {
        let cid = self.cids[slot].wrapping_add(1 << SLOT_BITS);
        self.cids[slot] = cid;
        self.slots[slot] = SlotState::Waiting;
        queue.push(room, slot as u16, entry.with_cid(cid).words);
        queue.flush();
    }

    /// Keeps `count` event requests outstanding from now on.
    pub(crate) fn request_events<Q: TransportQueue>(&mut self, queue: &mut Q, count: usize) {
        self.event_requests = count.min(EVENT_SLOTS);
        self.top_up_events(queue);
    }

    fn top_up_events<Q: TransportQueue>(&mut self, queue: &mut Q) {
        for slot in COMMAND_SLOTS..COMMAND_SLOTS + self.event_requests {
            if self.slots[slot] == SlotState::Free
                && !self.events_refused
                && let Some(room) = queue.room()
            {
                let entry = SubmissionEntry::new(AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST.0, 0);
                self.push(queue, slot, entry, room);
            }
        }
    }

    /// Collects completions. If one is invalid, returns the reason and ignores the later ones.
    pub(crate) fn poll<Q: TransportQueue>(&mut self, queue: &mut Q) -> Result<(), ResetCause> {
        let mut collected = 0;
        let mut outcome = Ok(());
        while let Some(entry) = queue.peek() {
            outcome = self.accept(queue, entry);
            if outcome.is_err() {
                break;
            }
            queue.pop();
            collected += 1;
        }
        if collected > 0 {
            queue.consumed(collected);
            self.top_up_events(queue);
        }
        outcome
    }

    fn accept<Q: TransportQueue>(&mut self, queue: &mut Q, entry: CompletionEntry) -> Result<(), ResetCause> {
        let cid = entry.cid();
        let slot = usize::from(cid & ((1 << SLOT_BITS) - 1));
        if self.slots.get(slot) != Some(&SlotState::Waiting) || self.cids[slot] != cid {
            return Err(ResetCause::NotInFlight { queue: 0, cid });
        }
        queue.check(&entry)?;
        if slot < COMMAND_SLOTS {
            self.slots[slot] = SlotState::Answered(entry);
            return Ok(());
        }
        self.slots[slot] = SlotState::Free;
        if entry.status().is_success() {
            self.events.push_back(AsynchronousEvent(entry.dw0()));
        } else if entry.status().code() != Status::ABORT_REQUESTED {
            self.events_refused = true;
        }
        Ok(())
    }

    /// Takes the answer to a command and frees its slot. An answer can be taken once.
    pub(crate) fn take<Q: TransportQueue>(
        &mut self,
        queue: &Q,
        ticket: Ticket,
        data: &mut [u8],
    ) -> Option<CompletionEntry> {
        let SlotState::Answered(entry) = self.slots[ticket.slot] else { return None };
        self.slots[ticket.slot] = SlotState::Free;
        queue.read_slot(ticket.slot as u16, data);
        Some(entry)
    }

    /// The identifier of a command.
    pub(crate) fn cid(&self, ticket: Ticket) -> u16 {
        self.cids[ticket.slot]
    }
}

/// The length in a data pointer. Commands count data in dwords, and some targets refuse a pointer
/// to more bytes than the command transfers.
fn moved_bytes(bytes: usize) -> u32 {
    bytes.next_multiple_of(4).min(ADMIN_DATA_BYTES) as u32
}
