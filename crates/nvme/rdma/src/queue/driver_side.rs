//! Implements the interface of the driver's command side for a queue over RDMA.

use std::time::Duration;

use iolab_nvme_driver::{
    AdminCommands, Completions, DataPointerWords, DataWindow, DriverError, QueueLife, Refusal, ResetCause, SlotMemory,
    Submission,
};
use iolab_nvme_spec::sgl::SglDescriptor;
use iolab_nvme_spec::{AdminOpcode, CompletionEntry};

use super::{InFlight, NOTHING, RdmaQueue, SGL, SLOT_BYTES};
use crate::connection_line::Line;

impl QueueLife for RdmaQueue {
    fn id(&self) -> u16 {
        self.id
    }

    fn create(&mut self, _: &dyn AdminCommands) -> Result<(), DriverError> {
        self.association.intact()?;
        self.connect().map(drop).inspect_err(|error| {
            if matches!(error, DriverError::Disconnected(_)) {
                self.association.report(self.generation, &error.to_string());
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

impl Submission for RdmaQueue {
    type Room = ();

    #[inline]
    fn room(&self) -> Option<()> {
        (self.room > 0).then_some(())
    }

    #[inline]
    fn push(&mut self, (): (), slot: u16, mut entry: [u64; 8]) {
        self.room -= 1;
        let (opcode, cid) = (entry[0] as u8, (entry[0] >> 16) as u16);
        // Bit 0 of an opcode: the host sends data (Base, section 4.2).
        let gives_data = opcode & 1 != 0 && opcode != AdminOpcode::FABRICS.0;
        let described = match entry[4] {
            0 => Some((SglDescriptor::keyed(0, 0, 0), 0)),
            _ => self.describe(slot, gives_data),
        };
        let Some((descriptor, follow)) = described else {
            return self.break_off("the memory of a command was unmapped");
        };
        [entry[3], entry[4]] = descriptor.words;
        entry[0] |= SGL;
        self.in_flight[usize::from(slot)] = InFlight { cid: cid.into(), ..NOTHING };
        self.with_line(|line| line.begin(slot, &entry, follow));
    }

    #[inline]
    fn flush(&mut self) {
        self.with_line(Line::post);
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

impl SlotMemory for RdmaQueue {
    fn slot_window(&self, slot: u16, bytes: u32) -> DataWindow {
        DataWindow::new(self.memory.1 + u64::from(slot) * SLOT_BYTES as u64, bytes)
    }

    fn write_slot(&mut self, slot: u16, from: &[u8]) {
        self.memory.0.write(usize::from(slot) * SLOT_BYTES, from);
    }

    fn read_slot(&self, slot: u16, to: &mut [u8]) {
        self.memory.0.read(usize::from(slot) * SLOT_BYTES, to);
    }
}

impl Completions for RdmaQueue {
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
