//! A transport without a bus: commands and their data go to a controller of this thread as
//! messages.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use iolab_clock::Clock;
use iolab_nvme_driver::*;
use iolab_nvme_spec::identify::IdentifyController;
use iolab_nvme_spec::registers::{Capabilities, ControllerConfiguration, Register};
use iolab_nvme_spec::{CompletionEntry, SubmissionEntry};
use iolab_pci_device::{DmaBuffer, DmaMapper, DmaTable, HostMemory, MapError, SharedBytes};
use iolab_virtual_ssd::capsules::{Capsules, Command};

/// Bytes of memory that each slot has.
const SLOT_BYTES: usize = 4096;
/// PSDT: SGL.
const SGL: u64 = 1 << 14;

/// Both ends of the wire.
#[derive(Debug)]
struct Wire {
    controller: Capsules,
    is_cut: bool,
    /// Whether the connection is broken: nothing is transferred until it is made again.
    is_broken: bool,
    /// Whether it cannot be made again.
    is_down: bool,
    /// How many reconnections were attempted.
    attempts: u32,
    clock: Clock,
    /// The host's memory.
    memory: DmaTable,
    /// Where the data of commands in flight is, by queue and command identifier.
    windows: BTreeMap<(u16, u16), DataWindow>,
    /// Completions that have arrived, by queue.
    arrived: BTreeMap<u16, VecDeque<CompletionEntry>>,
}

impl Wire {
    /// Lets the controller work. If it has nothing to send, time passes until it has.
    fn work(&mut self, at_most: Duration) {
        if self.is_cut || self.is_broken {
            return;
        }
        let now_ns = self.clock.now_ns();
        if !self.take_responses(now_ns) {
            let at_most_ns = at_most.as_nanos() as u64;
            let until_ns = self.controller.next_event_ns().map_or(at_most_ns, |at_ns| at_ns.saturating_sub(now_ns));
            self.clock.advance(until_ns.min(at_most_ns));
            self.take_responses(self.clock.now_ns());
        }
    }

    fn take_responses(&mut self, now_ns: u64) -> bool {
        let responses = self.controller.poll(now_ns);
        let has_any = !responses.is_empty();
        for response in responses {
            let window = self.windows.remove(&(response.queue, response.completion.cid()));
            if let Some(window) = window.filter(|_| !response.data.is_empty()) {
                assert!(response.data.len() <= window.bytes() as usize, "more data than was asked for");
                self.memory.write(window.address(), &response.data).unwrap();
            }
            self.arrived.entry(response.queue).or_default().push_back(response.completion);
        }
        has_any
    }
}

/// A handle on the wire.
#[derive(Debug, Clone)]
struct Handle(Arc<Mutex<Wire>>);

impl Handle {
    fn lock(&self) -> MutexGuard<'_, Wire> {
        self.0.lock().unwrap()
    }
}

/// A transport to a controller in this thread.
#[derive(Debug)]
pub(crate) struct CapsuleTransport {
    wire: Handle,
    admin: CapsuleQueue,
}

/// Cuts the wire.
pub(crate) struct Cutter(Handle);

impl Cutter {
    pub(crate) fn cut(&self) {
        self.0.lock().is_cut = true;
    }

    /// Breaks the connection. It can be made again.
    pub(crate) fn break_connection(&self) {
        self.0.lock().is_broken = true;
    }

    /// Breaks the connection for good.
    pub(crate) fn take_down(&self) {
        let mut wire = self.0.lock();
        (wire.is_broken, wire.is_down) = (true, true);
    }

    /// How many reconnections were attempted.
    pub(crate) fn attempts(&self) -> u32 {
        self.0.lock().attempts
    }
}

impl CapsuleTransport {
    pub(crate) fn new(controller: Capsules, clock: Clock) -> CapsuleTransport {
        let (windows, arrived) = (BTreeMap::new(), BTreeMap::new());
        let wire = Wire {
            controller,
            is_cut: false,
            is_broken: false,
            is_down: false,
            attempts: 0,
            clock,
            memory: DmaTable::new(),
            windows,
            arrived,
        };
        let wire = Handle(Arc::new(Mutex::new(wire)));
        let admin = CapsuleQueue::new(0, ADMIN_ENTRIES, ADMIN_DATA_SLOTS + 8, &wire);
        CapsuleTransport { wire, admin }
    }

    pub(crate) fn cutter(&self) -> Cutter {
        Cutter(self.wire.clone())
    }
}

impl Connection for CapsuleTransport {
    fn capabilities(&mut self) -> Result<Capabilities, DriverError> {
        Ok(Capabilities(self.wire.lock().controller.property(Register::CAP)))
    }

    fn property(&mut self, register: Register) -> Result<u32, DriverError> {
        let wire = self.wire.lock();
        if wire.is_cut {
            return Err(DriverError::Gone { register: "any" });
        }
        if wire.is_broken {
            return Err(DriverError::Disconnected("the test broke it".into()));
        }
        Ok(wire.controller.property(register) as u32)
    }

    fn set_property(&mut self, register: Register, value: u32) -> Result<(), DriverError> {
        let mut wire = self.wire.lock();
        if register == Register::CC && !ControllerConfiguration(value).en() {
            wire.windows.clear();
        }
        wire.controller.set_property(register, value);
        Ok(())
    }

    fn reset(&mut self) -> Result<(), DriverError> {
        let mut wire = self.wire.lock();
        wire.attempts += 1;
        if wire.is_down {
            return Err(DriverError::Disconnected("nobody answers".into()));
        }
        wire.is_broken = false;
        drop(wire);
        self.set_property(Register::CC, 0)
    }

    fn pause(&self, at_most: Duration) {
        self.wire.lock().work(at_most);
    }

    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        self.wire.lock().memory.map(memory)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.wire.lock().memory.unmap(address)
    }
}

impl ControllerSetup for CapsuleTransport {
    fn identified(&mut self, _: &IdentifyController) -> Result<(), DriverError> {
        Ok(())
    }

    fn setup_command(&mut self) -> Option<SubmissionEntry> {
        None
    }

    fn setup_answered(&mut self, _: bool) -> Result<(), DriverError> {
        unreachable!("nothing was set up")
    }
}

impl Transport for CapsuleTransport {
    type Queue = CapsuleQueue;

    fn start_admin(&mut self) -> Result<(), DriverError> {
        self.admin.restart();
        Ok(())
    }

    fn admin(&mut self) -> &mut CapsuleQueue {
        &mut self.admin
    }

    fn new_queue(&mut self, request: &QueueRequest<'_>) -> Result<CapsuleQueue, DriverError> {
        Ok(CapsuleQueue::new(request.id, request.options.entries, request.options.slots, &self.wire))
    }

    fn retire_queue(&mut self, queue: &mut CapsuleQueue, _: bool) {
        self.wire.lock().memory.unmap(queue.memory.address).unwrap();
    }

    fn release(&mut self) {}
}

/// A queue of messages.
#[derive(Debug)]
pub(crate) struct CapsuleQueue {
    id: u16,
    wire: Handle,
    /// Entries that are free.
    room: u32,
    entries: u32,
    pushed: Vec<(u16, [u64; 8])>,
    /// The data of each slot's command.
    windows: Vec<DataWindow>,
    memory: DmaBuffer,
    popped: u32,
}

impl CapsuleQueue {
    fn new(id: u16, entries: u32, slots: u16, wire: &Handle) -> CapsuleQueue {
        let memory = wire.lock().memory.allocate(usize::from(slots) * SLOT_BYTES).unwrap();
        let windows = vec![DataWindow::EMPTY; usize::from(slots)];
        let (room, pushed) = (entries - 1, Vec::new());
        CapsuleQueue { id, wire: wire.clone(), room, entries, pushed, windows, memory, popped: 0 }
    }
}

impl QueueLife for CapsuleQueue {
    fn id(&self) -> u16 {
        self.id
    }

    fn create(&mut self, _: &dyn AdminCommands) -> Result<(), DriverError> {
        Ok(())
    }

    fn delete(&mut self, _: &dyn AdminCommands) -> Result<(), DriverError> {
        Ok(())
    }

    fn delete_remains(&mut self, _: &dyn AdminCommands) {}

    fn restart(&mut self) {
        self.pushed.clear();
        self.room = self.entries - 1;
        self.wire.lock().arrived.remove(&self.id);
    }
}

impl Submission for CapsuleQueue {
    type Room = ();

    fn room(&self) -> Option<()> {
        (self.room > 0).then_some(())
    }

    fn push(&mut self, (): (), slot: u16, entry: [u64; 8]) {
        self.room -= 1;
        self.pushed.push((slot, entry));
    }

    fn flush(&mut self) {
        let mut wire = self.wire.lock();
        if wire.is_broken {
            self.pushed.clear();
        }
        for (slot, words) in self.pushed.drain(..) {
            let entry = SubmissionEntry { words };
            let has_data = words[4] != 0;
            let window = if has_data { self.windows[usize::from(slot)] } else { DataWindow::EMPTY };
            // Bit 0 of an opcode: the host gives data (Base, section 4.2).
            let mut data = vec![0; if entry.opc() & 1 != 0 { window.bytes() as usize } else { 0 }];
            wire.memory.read(window.address(), &mut data).unwrap_or_else(|fault| assert!(data.is_empty(), "{fault}"));
            wire.windows.insert((self.id, entry.cid()), window);
            wire.controller.send(Command { queue: self.id, entry, data });
        }
    }

    fn close(&mut self) {
        self.room = 0;
    }

    fn plain_data_pointer(&mut self, slot: u16, address: u64, bytes: u64) -> Option<DataPointerWords> {
        self.windows[usize::from(slot)] = DataWindow::new(address, bytes as u32);
        Some(DataPointerWords { dptr: [0, bytes], flags: SGL })
    }

    fn data_pointer(&mut self, slot: u16, address: u64, bytes: u64) -> Result<DataPointerWords, Refusal> {
        self.plain_data_pointer(slot, address, bytes).ok_or(Refusal::Misaligned)
    }

    fn gathered_data_pointer(&mut self, _: u16, _: &[DataWindow]) -> Result<DataPointerWords, Refusal> {
        Err(Refusal::TooManyParts)
    }
}

impl SlotMemory for CapsuleQueue {
    fn slot_window(&self, slot: u16, bytes: u32) -> DataWindow {
        DataWindow::new(self.memory.address + u64::from(slot) * SLOT_BYTES as u64, bytes)
    }

    fn write_slot(&mut self, slot: u16, from: &[u8]) {
        self.memory.memory.write(usize::from(slot) * SLOT_BYTES, from);
    }

    fn read_slot(&self, slot: u16, to: &mut [u8]) {
        self.memory.memory.read(usize::from(slot) * SLOT_BYTES, to);
    }
}

impl Completions for CapsuleQueue {
    fn peek(&mut self) -> Option<CompletionEntry> {
        self.wire.lock().arrived.get(&self.id)?.front().copied()
    }

    fn pop(&mut self) {
        self.wire.lock().arrived.get_mut(&self.id).and_then(VecDeque::pop_front);
        self.popped += 1;
    }

    fn check(&mut self, _: &CompletionEntry) -> Result<(), ResetCause> {
        self.room += 1;
        Ok(())
    }

    fn consumed(&mut self, _: u32) {}

    fn progress(&self) -> u32 {
        self.popped
    }

    fn let_controller_work(&self, at_most: Duration) {
        self.wire.lock().work(at_most);
    }

    fn sleep(&self, _: Duration) -> Result<bool, DriverError> {
        Ok(true)
    }
}
