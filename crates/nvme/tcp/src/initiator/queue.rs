//! A queue over TCP, with the interface of the driver's command side.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use iolab_nvme_association::Association;
use iolab_nvme_driver::{
    AdminCommands, Completions, DataPointerWords, DataWindow, DriverError, QueueLife, Refusal, ResetCause, SlotMemory,
    Submission,
};
use iolab_nvme_spec::sgl::SglDescriptor;
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, IoOpcode, SubmissionEntry};
use iolab_pci_device::{DmaBuffer, DmaMapper, DmaTable, HostMemory};

use super::guesses::Scatter;
use super::in_flight::{IDLE, InFlight, NOTHING};
use super::keep_alive::Turns;
use super::receive::{Incoming, insertable};

use super::wire::{ADMIN_CAPSULE_DATA, Wanted, Wire, wait_readable};

/// Identifier of commands that this transport issues by itself on the admin queue, where the driver
/// uses none whose lowest five bits are above 23.
pub(super) const PROPERTY_CID: u16 = 30;
/// The identifier of Keep Alive.
pub(super) const KEEP_ALIVE_CID: u16 = 29;

/// Bytes of memory that each slot has.
const SLOT_BYTES: usize = 4096;
/// PSDT in word 0 of an entry: SGL.
const SGL: u64 = 1 << 14;
/// A queue: one connection.
#[derive(Debug)]
pub struct TcpQueue {
    pub(super) id: u16,
    pub(super) link: Arc<Association>,
    pub(super) wire: Option<Wire>,
    /// The generation of the link to which the connection belongs.
    generation: u32,
    /// Shares the socket of the admin queue with the keep alive thread.
    turns: Option<Arc<Turns>>,
    /// Free entries.
    room: u32,
    entries: u32,
    /// The most bytes of data in a capsule.
    capsule_data: u32,
    /// By slot.
    pub(super) in_flight: Box<[InFlight]>,
    /// Where the data of each slot's next command is.
    windows: Box<[DataWindow]>,
    pub(super) memory: DmaTable,
    slots: DmaBuffer,
    pub(super) incoming: Option<Incoming>,
    pub(super) arrived: VecDeque<CompletionEntry>,
    /// Commands in the order in which they were sent; some of them may have ended.
    pub(super) order: VecDeque<u16>,
    pub(super) scatter: Scatter,
    /// The answer to a command with [`PROPERTY_CID`].
    pub(super) property: Option<CompletionEntry>,
    popped: u32,
}

impl TcpQueue {
    pub(super) fn new(
        id: u16,
        (entries, slots): (u32, u16),
        link: &Arc<Association>,
        memory: &DmaTable,
    ) -> Result<TcpQueue, DriverError> {
        let mut memory = memory.clone();
        let table = usize::from(slots + 1).next_power_of_two();
        Ok(TcpQueue {
            id,
            link: Arc::clone(link),
            wire: None,
            generation: 0,
            turns: None,
            room: entries - 1,
            entries,
            capsule_data: 0,
            in_flight: vec![NOTHING; table].into(),
            windows: vec![DataWindow::EMPTY; table].into(),
            slots: memory.allocate(usize::from(slots) * SLOT_BYTES)?,
            memory,
            incoming: None,
            arrived: VecDeque::with_capacity(table),
            order: VecDeque::with_capacity(table),
            scatter: Scatter::default(),
            property: None,
            popped: 0,
        })
    }

    /// Address of the memory of the slots.
    pub(super) fn memory_address(&self) -> u64 {
        self.slots.address
    }

    /// Connects the queue. Returns the controller's identifier.
    pub(super) fn connect(&mut self) -> Result<u16, DriverError> {
        self.disconnect();
        self.generation = self.link.generation();
        let (wire, controller) = Wire::connect(&self.link, Wanted { queue: self.id, entries: self.entries })?;
        self.capsule_data = if self.id == 0 { ADMIN_CAPSULE_DATA } else { self.link.capsule_data() };
        self.wire = Some(wire);
        Ok(controller)
    }

    /// Shares the socket of an admin queue with the keep alive thread.
    pub(super) fn share(&mut self, turns: &Arc<Turns>) -> std::io::Result<()> {
        if let Some(wire) = &self.wire {
            turns.set_line(Some(wire.socket.try_clone()?), &wire.framing);
            self.turns = Some(Arc::clone(turns));
        }
        Ok(())
    }

    /// Called when the controller closes all connections except that of its admin queue.
    pub(super) fn outlive_others(&mut self) {
        self.generation = self.link.retire();
    }

    /// Closes the connection.
    pub(super) fn disconnect(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.set_line(None, &iolab_nvme_fabrics::Framing::before_connection());
        }
        (self.wire, self.incoming) = (None, None);
        self.order.clear();
        self.scatter.forget();
    }

    /// Handles a broken connection.
    #[cold]
    pub(super) fn break_off(&mut self, reason: &str) {
        self.link.report(self.generation, reason);
        self.disconnect();
    }

    /// Sends pending bytes.
    #[inline]
    pub(super) fn send(&mut self) {
        let Some(wire) = &mut self.wire else { return };
        let sent = match &self.turns {
            None => wire.out.send(&wire.socket),
            Some(turns) => turns.take(|| wire.out.send(&wire.socket)),
        };
        if let Err(error) = sent {
            self.break_off(&format!("sending: {error}"));
        }
    }

    /// Executes a command without data that this transport issues by itself, on the admin queue.
    pub(super) fn exchange(&mut self, entry: &SubmissionEntry) -> Result<CompletionEntry, DriverError> {
        self.property = None;
        let Some(wire) = &mut self.wire else { return Err(self.link.broken()) };
        wire.framing.command(wire.out.bytes(), &entry.words);
        let deadline_ns = self.link.clock.now_ns().saturating_add(self.link.address.connect_ns);
        loop {
            self.send();
            self.receive();
            if let Some(answer) = self.property.take() {
                return Ok(answer);
            }
            let now_ns = self.link.clock.now_ns();
            if now_ns >= deadline_ns {
                self.break_off("the target does not answer a property command in time");
            }
            let Some(wire) = &self.wire else { return Err(self.link.broken()) };
            wait_readable(&wire.socket, Duration::from_nanos(deadline_ns.saturating_sub(now_ns)));
        }
    }

    /// Waits at most `at_most` for received bytes.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        self.wire.as_ref().is_some_and(|wire| wait_readable(&wire.socket, at_most))
    }

    /// Removes commands that ended in another order than they were sent.
    #[cold]
    fn tidy_order(&mut self) {
        let (in_flight, mask) = (&self.in_flight, self.in_flight.len() - 1);
        self.order.retain(|cid| in_flight[usize::from(*cid) & mask].cid == u32::from(*cid));
    }

    /// Records that a command has ended.
    #[inline]
    pub(super) fn finish(&mut self, entry: CompletionEntry) {
        self.arrived.push_back(entry);
    }

    /// Finds the command with this identifier, and its slot.
    #[inline]
    pub(super) fn find(&mut self, cid: u16) -> Option<usize> {
        let slot = usize::from(cid) & (self.in_flight.len() - 1);
        (self.in_flight[slot].cid == u32::from(cid)).then_some(slot)
    }

    /// Removes the command from a slot.
    #[inline]
    pub(super) fn forget(&mut self, slot: usize) {
        self.in_flight[slot].cid = IDLE;
    }
}

impl Drop for TcpQueue {
    fn drop(&mut self) {
        self.disconnect();
    }
}

impl QueueLife for TcpQueue {
    fn id(&self) -> u16 {
        self.id
    }

    fn create(&mut self, _: &dyn AdminCommands) -> Result<(), DriverError> {
        self.link.intact()?;
        self.connect().map(drop).inspect_err(|error| {
            if matches!(error, DriverError::Disconnected(_)) {
                self.link.report(self.generation, &error.to_string());
            }
        })
    }

    fn delete(&mut self, _: &dyn AdminCommands) -> Result<(), DriverError> {
        // The controller deletes a queue with its connection.
        self.disconnect();
        Ok(())
    }

    fn delete_remains(&mut self, _: &dyn AdminCommands) {
        self.disconnect();
    }

    fn restart(&mut self) {
        self.room = self.entries - 1;
        self.arrived.clear();
        self.in_flight.fill(NOTHING);
        if self.id != 0 {
            self.disconnect();
        }
    }
}

impl Submission for TcpQueue {
    type Room = ();

    #[inline]
    fn room(&self) -> Option<()> {
        (self.room > 0).then_some(())
    }

    #[inline]
    fn push(&mut self, (): (), slot: u16, mut entry: [u64; 8]) {
        self.room -= 1;
        if self.order.len() >= 4 * self.in_flight.len() {
            self.tidy_order();
        }
        let Some(wire) = &mut self.wire else { return };
        let slot = usize::from(slot);
        let opcode = entry[0] as u8;
        let cid = (entry[0] >> 16) as u16;
        // Bit 0 of an opcode: the host sends data (Base, section 4.2).
        let gives_data = opcode & 1 != 0 && opcode != AdminOpcode::FABRICS.0;
        let window = if entry[4] != 0 { self.windows[slot] } else { DataWindow::EMPTY };
        let bytes = window.bytes();
        let in_capsule = gives_data && bytes <= self.capsule_data && bytes > 0;
        let descriptor = if in_capsule { SglDescriptor::in_capsule(0, bytes) } else { SglDescriptor::transport(bytes) };
        [entry[3], entry[4]] = descriptor.words;
        entry[0] |= SGL;
        self.in_flight[slot & (self.in_flight.len() - 1)] = InFlight {
            cid: cid.into(),
            opcode,
            reads: opcode == IoOpcode::READ.0 && self.id != 0 && bytes > 0,
            is_asked: gives_data && !in_capsule,
            address: window.address(),
            bytes,
            ..NOTHING
        };
        if self.id != 0 && !wire.framing.digests.data {
            self.order.push_back(cid);
        }
        if !in_capsule {
            wire.framing.command(wire.out.bytes(), &entry);
            return;
        }
        wire.framing.command_header(wire.out.bytes(), &entry, bytes as usize);
        if let Some(data) = insertable(&wire.framing, &mut self.memory, window.address(), bytes as usize) {
            return wire.out.parcel.insert(data);
        }
        let out = wire.out.bytes();
        let start = out.len();
        out.resize(start + bytes as usize, 0);
        if self.memory.read(window.address(), &mut out[start..]).is_err() {
            return self.break_off("the memory of a command was unmapped");
        }
        wire.framing.end_data(out, start);
    }

    #[inline]
    fn flush(&mut self) {
        self.send();
    }

    fn close(&mut self) {
        self.room = 0;
    }

    #[inline]
    fn plain_data_pointer(&mut self, slot: u16, address: u64, bytes: u64) -> Option<DataPointerWords> {
        *self.windows.get_mut(usize::from(slot))? = DataWindow::new(address, u32::try_from(bytes).ok()?);
        Some(DataPointerWords { dptr: [0, bytes], flags: SGL })
    }

    fn data_pointer(&mut self, slot: u16, address: u64, bytes: u64) -> Result<DataPointerWords, Refusal> {
        self.plain_data_pointer(slot, address, bytes).ok_or(Refusal::Length)
    }

    fn gathered_data_pointer(&mut self, slot: u16, parts: &[DataWindow]) -> Result<DataPointerWords, Refusal> {
        // This transport supports one window for each command.
        match parts {
            [whole] => self.data_pointer(slot, whole.address(), whole.bytes().into()),
            _ => Err(Refusal::TooManyParts),
        }
    }
}

impl SlotMemory for TcpQueue {
    fn slot_window(&self, slot: u16, bytes: u32) -> DataWindow {
        DataWindow::new(self.slots.address + u64::from(slot) * SLOT_BYTES as u64, bytes)
    }

    fn write_slot(&mut self, slot: u16, from: &[u8]) {
        self.slots.memory.write(usize::from(slot) * SLOT_BYTES, from);
    }

    fn read_slot(&self, slot: u16, to: &mut [u8]) {
        self.slots.memory.read(usize::from(slot) * SLOT_BYTES, to);
    }
}

impl Completions for TcpQueue {
    #[inline]
    fn peek(&mut self) -> Option<CompletionEntry> {
        if self.arrived.is_empty() {
            self.receive();
        }
        self.arrived.front().copied()
    }

    #[inline]
    fn pop(&mut self) {
        self.arrived.pop_front();
        self.popped = self.popped.wrapping_add(1);
    }

    #[inline]
    fn check(&mut self, _: &CompletionEntry) -> Result<(), ResetCause> {
        // A completion over a fabric names no queue, and its head is not needed: the entry of a
        // command is free when the command has ended.
        self.room += 1;
        Ok(())
    }

    fn consumed(&mut self, _: u32) {}

    fn progress(&self) -> u32 {
        self.popped
    }

    fn let_controller_work(&self, _: Duration) {}

    fn sleep(&self, at_most: Duration) -> Result<bool, DriverError> {
        Ok(self.wait(at_most))
    }
}
