//! The admin queue: several commands at once, each with a page of its own for data, and the event requests among them.
//!
//! Cold. It checks every completion; what it finds wrong it says, what to do about it is its owner's business.

use std::collections::VecDeque;

use iolab_nvme_spec::event::AsynchronousEvent;
use iolab_nvme_spec::registers::DoorbellStride;
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, Status, SubmissionEntry};
use iolab_pci_device::{DmaBuffer, DmaMapper, PciDevice};

use crate::error::{DriverError, Fault};
use crate::ring::{CompletionRing, Room, SubmissionRing};

/// Entries of both rings.
pub(crate) const ADMIN_ENTRIES: u32 = 64;
/// Commands that may be outstanding besides event requests.
const COMMAND_SLOTS: usize = 16;
/// Event requests that may be outstanding.
const EVENT_SLOTS: usize = 8;
/// Bytes of data that an admin command moves at most: longer data goes in pieces.
pub(crate) const ADMIN_DATA_BYTES: usize = 4096;

/// A place for one outstanding command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    Waiting,
    Answered(CompletionEntry),
}

/// A command that was sent and not answered yet. Good for the life of the controller in which it was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket {
    place: usize,
}

/// Rings, places and data of the admin queue.
#[derive(Debug)]
pub(crate) struct AdminQueue {
    sq: SubmissionRing,
    cq: CompletionRing,
    sq_doorbell: u32,
    cq_doorbell: u32,
    /// Bus addresses of the rings.
    pub(crate) sq_address: u64,
    pub(crate) cq_address: u64,
    data: DmaBuffer,
    places: [Place; COMMAND_SLOTS + EVENT_SLOTS],
    /// Counts commands, so that late completions of earlier users of a place do not pass for new ones.
    cids: [u16; COMMAND_SLOTS + EVENT_SLOTS],
    event_requests: usize,
    /// The device refused an event request: none is sent any more in this life.
    events_refused: bool,
    /// Events not handed out yet.
    pub(crate) events: VecDeque<AsynchronousEvent>,
}

const PLACE_BITS: u32 = 5;

impl AdminQueue {
    /// Allocates everything; the controller is not told anything.
    pub(crate) fn new(mapper: &mut dyn PciDevice, stride: DoorbellStride) -> Result<AdminQueue, DriverError> {
        let sq = mapper.allocate(ADMIN_ENTRIES as usize * 64)?;
        let cq = mapper.allocate(ADMIN_ENTRIES as usize * 16)?;
        let data = mapper.allocate(COMMAND_SLOTS * ADMIN_DATA_BYTES)?;
        Ok(AdminQueue {
            sq_address: sq.address,
            cq_address: cq.address,
            sq: SubmissionRing::new(sq.memory, ADMIN_ENTRIES),
            cq: CompletionRing::new(cq.memory, ADMIN_ENTRIES, 1),
            sq_doorbell: stride.submission_tail(0) as u32,
            cq_doorbell: stride.completion_head(0) as u32,
            data,
            places: [Place::Free; COMMAND_SLOTS + EVENT_SLOTS],
            cids: std::array::from_fn(|place| place as u16),
            event_requests: 0,
            events_refused: false,
            events: VecDeque::new(),
        })
    }

    /// Forgets all that was outstanding; the controller is disabled.
    pub(crate) fn restart(&mut self) {
        self.sq.restart();
        self.cq.restart();
        self.places = [Place::Free; COMMAND_SLOTS + EVENT_SLOTS];
        self.events_refused = false;
    }

    /// Gives the memory back; the controller is disabled.
    pub(crate) fn release(&mut self, mapper: &mut dyn DmaMapper) -> Result<(), DriverError> {
        for address in [self.sq_address, self.cq_address, self.data.address] {
            mapper.unmap(address)?;
        }
        Ok(())
    }

    /// Sends a command; `None` while every place is taken. With data it gets a page, to which `data` is copied before.
    pub(crate) fn send(
        &mut self,
        device: &dyn PciDevice,
        entry: SubmissionEntry,
        data: Option<&[u8]>,
    ) -> Option<Ticket> {
        let place = (0..COMMAND_SLOTS).find(|place| self.places[*place] == Place::Free)?;
        let room = self.sq.room()?;
        let offset = place * ADMIN_DATA_BYTES;
        let entry = match data {
            Some(data) => {
                self.data.memory.fill(offset, ADMIN_DATA_BYTES, 0);
                self.data.memory.write(offset, data);
                entry.with_prps(self.data.address + offset as u64, 0)
            }
            None => entry,
        };
        self.push(device, place, entry, room);
        Some(Ticket { place })
    }

    fn push(&mut self, device: &dyn PciDevice, place: usize, entry: SubmissionEntry, room: Room) {
        let cid = self.cids[place].wrapping_add(1 << PLACE_BITS);
        self.cids[place] = cid;
        self.places[place] = Place::Waiting;
        self.sq.push(room, entry.with_cid(cid).words);
        if let Some(tail) = self.sq.take_unrung() {
            device.write_u32(self.sq_doorbell, tail);
        }
    }

    /// Keeps this many event requests outstanding from now on.
    pub(crate) fn request_events(&mut self, device: &dyn PciDevice, count: usize) {
        self.event_requests = count.min(EVENT_SLOTS);
        self.top_up_events(device);
    }

    fn top_up_events(&mut self, device: &dyn PciDevice) {
        for place in COMMAND_SLOTS..COMMAND_SLOTS + self.event_requests {
            if self.places[place] == Place::Free
                && !self.events_refused
                && let Some(room) = self.sq.room()
            {
                let entry = SubmissionEntry::new(AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST.0, 0);
                self.push(device, place, entry, room);
            }
        }
    }

    /// Collects completions. What is wrong with one is returned, and nothing after it is believed.
    pub(crate) fn poll(&mut self, device: &dyn PciDevice) -> Result<(), Fault> {
        let mut collected = false;
        let mut outcome = Ok(());
        while let Some(entry) = self.cq.peek() {
            outcome = self.accept(entry);
            if outcome.is_err() {
                break;
            }
            self.cq.pop();
            collected = true;
        }
        if collected {
            device.write_u32(self.cq_doorbell, self.cq.head());
            self.top_up_events(device);
        }
        outcome
    }

    fn accept(&mut self, entry: CompletionEntry) -> Result<(), Fault> {
        let cid = entry.cid();
        let place = usize::from(cid & ((1 << PLACE_BITS) - 1));
        if entry.sqid() != 0 {
            return Err(Fault::WrongQueue { queue: 0, sqid: entry.sqid() });
        }
        if self.places.get(place) != Some(&Place::Waiting) || self.cids[place] != cid {
            return Err(Fault::NotInFlight { queue: 0, cid });
        }
        if !self.sq.fetched(entry.sqhd()) {
            return Err(Fault::BadHead { queue: 0, sqhd: entry.sqhd() });
        }
        if place < COMMAND_SLOTS {
            self.places[place] = Place::Answered(entry);
            return Ok(());
        }
        self.places[place] = Place::Free;
        if entry.status().is_success() {
            self.events.push_back(AsynchronousEvent(entry.dw0()));
        } else if entry.status().code() != Status::ABORT_REQUESTED {
            self.events_refused = true;
        }
        Ok(())
    }

    /// The answer to a command, once; its place is free again.
    pub(crate) fn take(&mut self, ticket: Ticket, data: &mut [u8]) -> Option<CompletionEntry> {
        let Place::Answered(entry) = self.places[ticket.place] else { return None };
        self.places[ticket.place] = Place::Free;
        self.data.memory.read(ticket.place * ADMIN_DATA_BYTES, data);
        Some(entry)
    }

    /// The identifier under which the device knows a command.
    pub(crate) fn cid(&self, ticket: Ticket) -> u16 {
        self.cids[ticket.place]
    }
}
