//! The resources that a driver uses of a device: its function, its mapped memory and its
//! interrupts, with their limits.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

use iolab_memory::{MappingAccess, SharedBytes};
use iolab_pci_device::{DmaMapper, DmaTable, Interrupt, InterruptTable};

use crate::message::{Message, MessageKind, VERSION};

/// Mappings that a driver may have at a time. A queue pair needs three, a pool of buffers needs
/// one. All drivers together stay below the kernel's limit for a process (`vm.max_map_count`).
pub const MOST_MAPPINGS: usize = 512;

/// Bytes that a driver may have mapped at a time.
pub const MOST_MAPPED_BYTES: u64 = 64 << 30;

/// Creates functions for drivers that connect, and answers questions about the device.
pub trait Functions: Send + Sync + 'static {
    /// Creates a function whose host is `memory` and whose interrupts are in `interrupts`, or
    /// returns why not. Dropping it removes it from the device.
    fn connect(&self, memory: DmaTable, interrupts: InterruptTable) -> Result<Box<dyn Function>, String>;

    /// Answers a question, or returns why not.
    fn answer(&self, question: &str) -> Result<String, String>;

    /// How many interrupt vectors each function has.
    fn vectors(&self) -> u16;
}

/// One function, while its driver is connected.
pub trait Function: Send {
    /// BAR 0, in a memfd.
    fn registers(&self) -> &SharedBytes;

    /// Resets the function.
    fn reset(&mut self);

    /// Reads a register for a driver that cannot map it.
    fn read_u32(&self, offset: u32) -> u32;

    /// Writes a register for a driver that cannot map it. Read-only registers do not change.
    fn write_u32(&self, offset: u32, value: u32);

    /// Waits until no thread of the device uses memory that was unmapped before, but only for a
    /// limited time.
    fn settle(&self);
}

/// One driver: its memory, its interrupts, its function.
pub(crate) struct Driver<'a> {
    functions: &'a dyn Functions,
    memory: DmaTable,
    /// Bytes of each mapping, by its address.
    mapped: HashMap<u64, u64>,
    interrupts: Option<InterruptTable>,
    function: Option<Box<dyn Function>>,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(functions: &'a dyn Functions) -> Driver<'a> {
        Driver { functions, memory: DmaTable::new(), mapped: HashMap::new(), interrupts: None, function: None }
    }

    /// BAR 0, if the driver has a function.
    pub(crate) fn registers(&self) -> Option<&SharedBytes> {
        self.function.as_ref().map(|function| function.registers())
    }

    pub(crate) fn handle(&mut self, request: Message, descriptor: Option<OwnedFd>) -> Result<Message, String> {
        let mut reply = Message::new(request.kind);
        match request.kind {
            MessageKind::Hello => {
                reply.address = VERSION;
                self.hello(&request, &mut reply)?;
            }
            MessageKind::Map => self.map(&request, descriptor)?,
            MessageKind::Unmap => {
                self.memory.unmap(request.address).map_err(|error| error.to_string())?;
                self.mapped.remove(&request.address);
            }
            MessageKind::Interrupt => self.connect_interrupt(request.address, descriptor)?,
            MessageKind::Reset => self.function.as_mut().ok_or("no function to reset")?.reset(),
            MessageKind::Ask => reply.text = self.functions.answer(&request.text)?,
        }
        Ok(reply)
    }

    fn hello(&mut self, request: &Message, reply: &mut Message) -> Result<(), String> {
        if request.address != VERSION {
            return Err(format!("this server uses protocol version {VERSION}, not {}", request.address));
        }
        if self.function.is_some() {
            return Err("this connection already has a function".into());
        }
        let interrupts = InterruptTable::with_vectors(self.functions.vectors());
        let function = self.functions.connect(self.memory.clone(), interrupts.clone())?;
        if function.registers().file().is_none() {
            return Err("the registers of the device are not in a memfd".into());
        }
        reply.bytes = function.registers().len() as u64;
        reply.offset = u64::from(interrupts.count());
        (self.interrupts, self.function) = (Some(interrupts), Some(function));
        Ok(())
    }

    fn map(&mut self, request: &Message, descriptor: Option<OwnedFd>) -> Result<(), String> {
        let file = descriptor.ok_or("a mapping without a file descriptor")?;
        let bytes = usize::try_from(request.bytes).map_err(|_| "a mapping beyond the address space")?;
        if self.mapped.len() >= MOST_MAPPINGS {
            return Err(format!("the limit of {MOST_MAPPINGS} mappings per driver is reached"));
        }
        let mapped: u64 = self.mapped.values().sum();
        if request.bytes > MOST_MAPPED_BYTES.saturating_sub(mapped) {
            return Err(format!("the limit is {MOST_MAPPED_BYTES} mapped bytes per driver, and {mapped} are mapped"));
        }
        let access = if request.text == "r" { MappingAccess::Read } else { MappingAccess::ReadWrite };
        let memory = SharedBytes::of_peer(file.as_fd(), request.offset, bytes, access);
        let memory = memory.map_err(|error| format!("memory that cannot be mapped: {error}"))?;
        self.memory.map_at(request.address, memory).map_err(|error| error.to_string())?;
        self.mapped.insert(request.address, request.bytes);
        Ok(())
    }

    fn connect_interrupt(&mut self, vector: u64, descriptor: Option<OwnedFd>) -> Result<(), String> {
        let event = descriptor.ok_or("an interrupt without a file descriptor")?;
        let table = self.interrupts.as_ref().ok_or("there is no function to connect interrupts of")?;
        let interrupt = Interrupt::of_peer(event).map_err(|error| error.to_string())?;
        let connected = u16::try_from(vector).is_ok_and(|vector| table.connect(vector, Some(interrupt)));
        if connected { Ok(()) } else { Err(format!("there is no interrupt vector {vector}")) }
    }
}
