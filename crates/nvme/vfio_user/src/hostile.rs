//! Arbitrary input from the other end, for fuzzing: a hostile client for the server, and a hostile
//! server for the client.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use iolab_device_link::{Function, Functions};
use iolab_memory::SharedBytes;
use iolab_pci_device::{DmaTable, Interrupt, InterruptTable, PciFunction};

use crate::VfioUser;
use crate::protocol::{HEADER_BYTES, MessageCommand, MessageHeader};
use crate::session::{Events, Session};
use crate::wire::{Inbox, MOST_DATA_BYTES, Wire};

/// Bytes of the registers of a function in this module.
const REGISTER_BYTES: usize = 0x2000;
/// Memory that clients send.
const MEMORY_BYTES: usize = 0x4000;

/// Seed inputs for [`survive`].
pub const SEEDS: &[&[u8]] = &[
    // For the server: command, descriptors, length and payload, of a version, a mapping, eventfds,
    // a write to the configuration space and several writes.
    b"\x00\x01\x00\x04\x00\x00\x01\x00\x02\x09\x20\x20\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
      \x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x20\x00\x00\x00\x00\x00\x00",
    b"\x00\x01\x00\x04\x00\x00\x01\x00\x08\x01\x14\x14\x00\x00\x00\x24\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\
      \x00\x01\x00\x00\x00\x09\x00\x10\x08\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x04\x00\x00\x00",
    b"\x00\x01\x00\x13\x00\x00\x01\x00{\"capabilities\":{}}\x0f\x00\x20\x01\x00\x00\x00\x00\x00\x00\x00\x04\
      \x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x02\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00\x0d\x00\x00",
    // For the client: lengths and payloads of the answers to the first questions.
    b"\x01\x04\x00\x00\x01\x00\x10\x10\x00\x00\x00\x03\x00\x00\x00\x09\x00\x00\x00\x05\x00\x00\x00\x20\x20\x00\
      \x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x10\x10\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x41\x00\x00\x00",
];

/// Functions that consist of registers only.
struct Toys;

struct Toy(SharedBytes);

impl Functions for Toys {
    fn connect(&self, _memory: DmaTable, _interrupts: InterruptTable) -> Result<Box<dyn Function>, String> {
        let registers = SharedBytes::memfd("iolab-hostile", REGISTER_BYTES).map_err(|error| error.to_string())?;
        Ok(Box::new(Toy(registers)))
    }

    fn answer(&self, question: &str) -> Result<String, String> {
        Err(format!("no answer to {question}"))
    }

    fn vectors(&self) -> u16 {
        4
    }
}

impl Function for Toy {
    fn registers(&self) -> &SharedBytes {
        &self.0
    }

    fn reset(&mut self) {}

    fn read_u32(&self, offset: u32) -> u32 {
        self.0.load_u32(offset as usize, Ordering::Acquire)
    }

    fn write_u32(&self, offset: u32, value: u32) {
        self.0.store_u32(offset as usize, value, Ordering::Release);
    }

    fn settle(&self) {}
}

/// Tests one end. The first byte selects the end; the rest is what the other end sends.
pub fn survive(input: &[u8]) {
    match input.split_first() {
        Some((0, commands)) => clients(commands),
        Some((_, answers)) => servers(answers),
        None => {}
    }
}

/// Sends commands to a session: one byte for the command, one for descriptors, one for the length
/// of the payload.
fn clients(mut input: &[u8]) {
    let Ok((near, _far)) = UnixStream::pair() else { return };
    let wire = Arc::new(Wire::new(near.into()));
    let mut session = Session::new(&Toys, &wire, Events::default());
    let memory = SharedBytes::memfd("iolab-hostile", MEMORY_BYTES).ok();
    let event = Interrupt::new().ok();
    while let Some(([command, with, length], rest)) = input.split_first_chunk() {
        let (payload, next) = rest.split_at(rest.len().min(usize::from(*length)));
        input = next;
        let mut descriptors: Vec<OwnedFd> = Vec::new();
        for _ in 0..with & 7 {
            let file = memory.as_ref().and_then(SharedBytes::file).map(|(file, _)| file);
            let event = event.as_ref().map(AsFd::as_fd);
            let descriptor = if with & 8 == 0 { event } else { file };
            descriptors.extend(descriptor.and_then(|descriptor| descriptor.try_clone_to_owned().ok()));
        }
        if let Ok(answer) = session.handle(MessageCommand::of((*command).into()), payload, descriptors) {
            assert!(answer.payload.len() <= MOST_DATA_BYTES + 16, "an answer longer than a client takes");
        }
    }
}

/// Sends a stream of bytes as a server, which contains answers to the client's first requests, and
/// then disconnects.
fn servers(input: &[u8]) {
    let Ok((near, mut far)) = UnixStream::pair() else { return };
    if near.set_nonblocking(true).is_err() {
        return;
    }
    let mut stream = Vec::new();
    let order = [
        MessageCommand::Version,
        MessageCommand::DeviceInfo,
        MessageCommand::RegionInfo,
        MessageCommand::InterruptInfo,
    ];
    let mut rest = input;
    for (id, command) in (1..).zip(order.into_iter().chain(std::iter::repeat(MessageCommand::RegionRead)).take(40)) {
        let Some((length, more)) = rest.split_first() else { break };
        let (payload, next) = more.split_at(more.len().min(usize::from(*length)));
        rest = next;
        stream.extend_from_slice(&MessageHeader::command(id, command, payload.len()).reply(payload.len()).encode());
        stream.extend_from_slice(payload);
    }
    stream.extend_from_slice(rest);
    // Bytes beyond the capacity of the socket would never be read.
    stream.truncate(64 << 10);
    if far.write_all(&stream).is_err() || far.shutdown(std::net::Shutdown::Write).is_err() {
        return;
    }
    if let Ok(device) = VfioUser::over(near.into(), DmaTable::shareable()) {
        for offset in [0, 0x1c, 0x1000, 0x2000, u32::MAX] {
            device.read_u32(offset);
            device.write_u32(offset, 1);
            let _ = device.mapped_registers(offset);
        }
    }
    // The same bytes also go to the code that frames messages, whatever they contain.
    let Ok((near, mut far)) = UnixStream::pair() else { return };
    let (wire, mut inbox) = (Wire::new(near.into()), Inbox::default());
    if far.write_all(&input[..input.len().min(64 << 10)]).is_err() {
        return;
    }
    while let Ok(Some(incoming)) = inbox.take(&wire) {
        assert_eq!(incoming.header.bytes as usize, HEADER_BYTES + incoming.payload.len());
    }
}
