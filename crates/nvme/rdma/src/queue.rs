//! A queue over RDMA: its connection, its commands in flight, and where their data is.

mod driver_side;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iolab_memory::SharedBytes;
use iolab_nvme_association::Association;
use iolab_nvme_driver::{DataWindow, DriverError};
use iolab_nvme_spec::sgl::SglDescriptor;
use iolab_nvme_spec::{CompletionEntry, SubmissionEntry};

use crate::connect::{FOLLOW_BYTES, Wanted};
use crate::connection_line::{COMMAND_BYTES, Line};
use crate::keep_alive::{KEEP_ALIVE_CID, Turns};
use crate::regions::Regions;

/// Identifiers of commands that this transport issues by itself on the admin queue, where the
/// driver uses none whose lowest five bits are above 23.
pub(crate) const PROPERTY_CID: u16 = 30;
const CONNECT_CID: u16 = 28;
/// Messages besides those of the slots: for Connect and properties, and for Keep Alive.
const MORE_MESSAGES: u16 = 2;
/// Bytes of memory that each slot has.
const SLOT_BYTES: usize = 4096;
/// PSDT in word 0 of an entry: SGL.
const SGL: u64 = 1 << 14;
/// The identifier of no command.
const IDLE: u32 = u32::MAX;

/// A command in flight. It ends when it is answered and its message can be used again.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    cid: u32,
    is_sent: bool,
    answer: Option<CompletionEntry>,
}

const NOTHING: InFlight = InFlight { cid: IDLE, is_sent: false, answer: None };

/// A queue: one connection.
#[derive(Debug)]
pub struct RdmaQueue {
    id: u16,
    association: Arc<Association>,
    /// The connection of an I/O queue.
    own: Mutex<Option<Box<Line>>>,
    /// Shares the connection of the admin queue with the keep alive thread.
    turns: Option<Arc<Turns>>,
    /// The generation of the association to which the connection belongs.
    generation: u32,
    room: u32,
    entries: u32,
    slots: u16,
    /// The most bytes of data in a capsule.
    capsule_data: u32,
    /// By slot.
    in_flight: Box<[InFlight]>,
    windows: Box<[DataWindow]>,
    regions: Regions,
    memory: (SharedBytes, u64),
    arrived: VecDeque<CompletionEntry>,
    /// The answer to a command with [`PROPERTY_CID`].
    property: Option<CompletionEntry>,
    popped: u32,
}

impl RdmaQueue {
    pub(crate) fn new(
        id: u16,
        (entries, slots): (u32, u16),
        association: &Arc<Association>,
        regions: &Regions,
        turns: Option<&Arc<Turns>>,
    ) -> Result<RdmaQueue, DriverError> {
        let table = usize::from(slots + 1).next_power_of_two();
        let memory = SharedBytes::anonymous(usize::from(slots) * SLOT_BYTES)
            .map_err(|error| DriverError::BadRequest(format!("memory for the slots of a queue: {error}")))?;
        let address = regions.map(&memory)?;
        Ok(RdmaQueue {
            id,
            association: Arc::clone(association),
            own: Mutex::new(None),
            turns: turns.map(Arc::clone),
            generation: 0,
            room: entries - 1,
            entries,
            slots,
            capsule_data: 0,
            in_flight: vec![NOTHING; table].into(),
            windows: vec![DataWindow::EMPTY; table].into(),
            regions: regions.clone(),
            memory: (memory, address),
            arrived: VecDeque::with_capacity(table),
            property: None,
            popped: 0,
        })
    }

    /// Address of the memory of the slots.
    pub(crate) fn memory_address(&self) -> u64 {
        self.memory.1
    }

    /// Connects the queue. Returns the controller's identifier.
    pub(crate) fn connect(&mut self) -> Result<u16, DriverError> {
        self.disconnect();
        self.generation = self.association.generation();
        let messages = self.slots + MORE_MESSAGES;
        let wanted = Wanted { queue: self.id, entries: self.entries, messages, own: (self.slots, CONNECT_CID) };
        let (line, controller) = Line::connect(self.regions.adapter(), &self.association, wanted)?;
        // The capsules of an admin queue contain only commands.
        self.capsule_data = if self.id == 0 { 0 } else { self.association.capsule_data().min(FOLLOW_BYTES as u32) };
        let mut line = Box::new(line);
        line.keep_alive.0 = self.slots + 1;
        match &self.turns {
            Some(turns) => turns.set_line(Some(line)),
            None => *self.own.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(line),
        }
        Ok(controller)
    }

    /// Called when the controller closes all connections except that of its admin queue.
    pub(crate) fn outlive_others(&mut self) {
        self.generation = self.association.retire();
    }

    /// Closes the connection.
    pub(crate) fn disconnect(&mut self) {
        match &self.turns {
            Some(turns) => turns.set_line(None),
            None => *self.own.get_mut().unwrap_or_else(PoisonError::into_inner) = None,
        }
    }

    #[cold]
    fn break_off(&mut self, reason: &str) {
        self.association.report(self.generation, reason);
        self.disconnect();
    }

    /// Calls a function with the connection, if there is one.
    #[inline]
    fn with_line<R>(&mut self, work: impl FnOnce(&mut Line) -> R) -> Option<R> {
        match &self.turns {
            None => self.own.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().map(|line| work(line)),
            Some(turns) => turns.with(work),
        }
    }

    /// Waits at most `at_most` for an arrival.
    pub(crate) fn wait(&self, at_most: Duration) -> bool {
        let waited = match &self.turns {
            None => {
                let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
                own.as_mut().map(|line| line.wait(at_most))
            }
            Some(turns) => turns.with(|line| line.wait(at_most)),
        };
        waited.unwrap_or_default()
    }

    /// Takes the arrivals.
    #[inline]
    fn receive(&mut self) {
        // The vectors are taken out, so that arrivals can be recorded in this queue.
        let came = self.with_line(|line| {
            line.drain();
            (std::mem::take(&mut line.sent), std::mem::take(&mut line.answers), line.broken.take())
        });
        let Some((mut sent, mut answers, broken)) = came else { return };
        for index in sent.drain(..) {
            if index < self.slots {
                let flight = &mut self.in_flight[usize::from(index)];
                flight.is_sent = true;
                self.finish(index.into());
            }
        }
        for entry in answers.drain(..) {
            self.answered(entry);
        }
        // The vectors keep their memory, unless there were arrivals meanwhile.
        let _ = self.with_line(|line| {
            if line.sent.is_empty() && line.answers.is_empty() {
                (line.sent, line.answers) = (sent, answers);
            }
        });
        if let Some(reason) = broken {
            self.break_off(&reason);
        }
    }

    #[inline]
    fn answered(&mut self, entry: CompletionEntry) {
        let cid = entry.cid();
        if self.id == 0 && cid == PROPERTY_CID {
            self.property = Some(entry);
            return;
        }
        if self.id == 0 && cid == KEEP_ALIVE_CID {
            return;
        }
        let slot = usize::from(cid) & (self.in_flight.len() - 1);
        let flight = &mut self.in_flight[slot];
        if flight.cid == u32::from(cid) && flight.answer.is_none() {
            flight.answer = Some(entry);
            self.finish(slot);
        } else {
            // The driver finds the error in the entry.
            self.arrived.push_back(entry);
        }
    }

    /// Returns a command if it has ended.
    #[inline]
    fn finish(&mut self, slot: usize) {
        let flight = &mut self.in_flight[slot];
        if let (Some(answer), true) = (flight.answer, flight.is_sent) {
            *flight = NOTHING;
            self.arrived.push_back(answer);
        }
    }

    /// Executes a command without data that this transport issues by itself, on the admin queue.
    pub(crate) fn exchange(&mut self, entry: &SubmissionEntry) -> Result<CompletionEntry, DriverError> {
        self.property = None;
        let entry = entry.with_sgl(SglDescriptor::keyed(0, 0, 0));
        let message = self.slots;
        let begun = self.with_line(|line| {
            line.begin(message, &entry.words, 0);
            line.post();
        });
        begun.ok_or_else(|| self.association.broken())?;
        let clock = self.association.clock.clone();
        let deadline_ns = clock.now_ns().saturating_add(self.association.address.connect_ns);
        loop {
            self.receive();
            if let Some(answer) = self.property.take() {
                return Ok(answer);
            }
            let left_ns = deadline_ns.saturating_sub(clock.now_ns());
            if left_ns == 0 {
                self.break_off("the target does not answer a property command in time");
            }
            if !self.is_connected() {
                return Err(self.association.broken());
            }
            self.wait(Duration::from_nanos(left_ns));
        }
    }

    fn is_connected(&mut self) -> bool {
        match &self.turns {
            Some(turns) => turns.is_connected(),
            None => self.own.get_mut().unwrap_or_else(PoisonError::into_inner).is_some(),
        }
    }

    /// The descriptor of a command's data. The data follows the command in its message if that is
    /// allowed. `None` if its memory is not mapped.
    #[inline]
    fn describe(&mut self, slot: u16, gives_data: bool) -> Option<(SglDescriptor, usize)> {
        let window = self.windows[usize::from(slot)];
        let (address, bytes) = (window.address(), window.bytes());
        let region = self.regions.find(address, bytes as usize)?;
        if !gives_data || bytes > self.capsule_data {
            return Some((SglDescriptor::keyed(address, bytes, region.remote_key()), 0));
        }
        let (memory, offset) = (region.memory().clone(), (address - region.address()) as usize);
        self.with_line(|line| {
            let place = line.place(slot) + COMMAND_BYTES;
            memory.copy_to(offset, line.endpoint.send_memory(), place, bytes as usize);
        });
        Some((SglDescriptor::in_capsule(0, bytes), bytes as usize))
    }
}

impl Drop for RdmaQueue {
    fn drop(&mut self) {
        self.disconnect();
        // This queue mapped it, unless it was already unmapped.
        let _ = self.regions.unmap(self.memory.1);
    }
}
