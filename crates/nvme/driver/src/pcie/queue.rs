//! A queue of PCIe: two rings in memory that the controller can access, and their doorbells.
//!
//! ```text
//! push  ─▶ submission ring ─▶ flush: tail doorbell ─▶ controller
//! peek  ◀─ completion ring ◀───────────────────────── controller
//! consumed ─▶ head doorbell, now and then
//! ```
//!
//! The admin queue is also of this type. Its doorbells are rung by calls, which every device
//! notices.

use std::time::Duration;

use iolab_nvme_spec::command::{CreateCqDword11, CreateSqDword11, QueueDword10};
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, SubmissionEntry};
use iolab_pci_device::{DmaBuffer, Interrupt, PciError};

use super::device::DeviceHandle;
use super::doorbell::Doorbell;
use super::lists::{self, ListArea};
use super::ring::{CompletionRing, Room, SubmissionRing};
use crate::error::{DriverError, ResetCause};
use crate::queue_pair::Refusal;
use crate::transport::{AdminCommands, Completions, DataPointerWords, DataWindow, QueueLife, SlotMemory, Submission};

/// A submission queue and its completion queue.
#[derive(Debug)]
pub struct PcieQueue {
    sq: SubmissionRing,
    cq: CompletionRing,
    /// Bits of an address within a memory page.
    page_mask: u64,
    /// Data that ends in its first page at or before this offset needs one PRP entry: the size of a
    /// page. 0 if data is described by SGLs.
    plain_end: u64,
    id: u16,
    sq_doorbell: Doorbell,
    cq_doorbell: Doorbell,
    device: DeviceHandle,
    lists: ListArea,
    parts: Box<QueueParts>,
}

/// The parts of a queue.
#[derive(Debug)]
pub(crate) struct QueueParts {
    pub(crate) id: u16,
    pub(crate) entries: u32,
    pub(crate) sq: DmaBuffer,
    pub(crate) cq: DmaBuffer,
    /// Memory of the slots.
    pub(crate) lists: DmaBuffer,
    /// Bytes of that memory for each slot.
    pub(crate) list_bytes: u64,
    pub(crate) page_bytes: u64,
    /// The vector that the device signals, and the interrupt that receives it.
    pub(crate) interrupt: Option<(u16, Interrupt)>,
    /// Completions to consume before the head doorbell is rung.
    pub(crate) consumed_at_once: u32,
    /// Whether data is described by SGLs, and whether the device allows them at all.
    pub(crate) uses_sgl: bool,
    pub(crate) may_use_sgl: bool,
}

impl PcieQueue {
    /// A queue that the controller does not know yet. The doorbells are for the tail and the head.
    pub(crate) fn new(parts: QueueParts, doorbells: [Doorbell; 2], device: DeviceHandle) -> PcieQueue {
        let [sq_doorbell, cq_doorbell] = doorbells;
        PcieQueue {
            sq: SubmissionRing::new(parts.sq.memory.clone(), parts.entries),
            cq: CompletionRing::new(parts.cq.memory.clone(), parts.entries, parts.consumed_at_once),
            page_mask: parts.page_bytes - 1,
            plain_end: if parts.uses_sgl { 0 } else { parts.page_bytes },
            id: parts.id,
            sq_doorbell,
            cq_doorbell,
            device,
            lists: ListArea::new(&parts.lists, parts.list_bytes, parts.page_bytes),
            parts: Box::new(parts),
        }
    }

    /// Bus addresses of both rings.
    pub(crate) fn ring_addresses(&self) -> (u64, u64) {
        (self.parts.sq.address, self.parts.cq.address)
    }

    /// Bus addresses of all memory that the controller may access.
    pub(crate) fn addresses(&self) -> [u64; 3] {
        [self.parts.sq.address, self.parts.cq.address, self.parts.lists.address]
    }

    fn delete_one(&self, opcode: AdminOpcode, admin: &dyn AdminCommands) -> Result<(), DriverError> {
        let entry = SubmissionEntry::new(opcode.0, 0).with_cdw(10, QueueDword10(0).with_qid(self.id).0);
        admin.execute(entry).map(drop)
    }
}

impl QueueLife for PcieQueue {
    fn id(&self) -> u16 {
        self.id
    }

    fn create(&mut self, admin: &dyn AdminCommands) -> Result<(), DriverError> {
        let size = QueueDword10(0).with_qid(self.id).with_qsize((self.parts.entries - 1) as u16);
        let vector = self.parts.interrupt.as_ref().map(|(vector, _)| *vector);
        let completions = CreateCqDword11(0).with_pc(true).with_ien(vector.is_some()).with_iv(vector.unwrap_or(0));
        let entry = SubmissionEntry::new(AdminOpcode::CREATE_IO_CQ.0, 0)
            .with_prps(self.parts.cq.address, 0)
            .with_cdw(10, size.0)
            .with_cdw(11, completions.0);
        admin.execute(entry)?;
        let submissions = CreateSqDword11(0).with_pc(true).with_cqid(self.id);
        let entry = SubmissionEntry::new(AdminOpcode::CREATE_IO_SQ.0, 0)
            .with_prps(self.parts.sq.address, 0)
            .with_cdw(10, size.0)
            .with_cdw(11, submissions.0);
        let outcome = admin.execute(entry);
        if let Err(DriverError::Admin { .. }) = outcome {
            // A completion queue alone is useless, and its memory is about to be freed.
            self.delete_one(AdminOpcode::DELETE_IO_CQ, admin)?;
        }
        outcome.map(drop)
    }

    fn delete(&mut self, admin: &dyn AdminCommands) -> Result<(), DriverError> {
        self.delete_one(AdminOpcode::DELETE_IO_SQ, admin)?;
        self.delete_one(AdminOpcode::DELETE_IO_CQ, admin)
    }

    fn delete_remains(&mut self, admin: &dyn AdminCommands) {
        for opcode in [AdminOpcode::DELETE_IO_SQ, AdminOpcode::DELETE_IO_CQ] {
            // Deleting a queue that does not exist is refused, which is fine. If the device is
            // gone, the next command notices it.
            let _ = self.delete_one(opcode, admin);
        }
    }

    fn restart(&mut self) {
        self.sq.restart();
        self.cq.restart();
        self.sq_doorbell.restart();
        self.cq_doorbell.restart();
    }
}

impl Submission for PcieQueue {
    type Room = Room;

    #[inline(always)]
    fn room(&self) -> Option<Room> {
        self.sq.room()
    }

    #[inline(always)]
    fn push(&mut self, room: Room, _slot: u16, entry: [u64; 8]) {
        self.sq.push(room, entry);
    }

    #[inline(always)]
    fn flush(&mut self) {
        if let Some(tail) = self.sq.take_unrung() {
            self.sq_doorbell.ring(&self.device, tail);
        }
    }

    fn close(&mut self) {
        self.sq.close();
    }

    #[inline(always)]
    fn plain_data_pointer(&mut self, _slot: u16, address: u64, bytes: u64) -> Option<DataPointerWords> {
        let is_plain = (address & self.page_mask) + bytes <= self.plain_end && address & 3 == 0;
        is_plain.then_some(DataPointerWords { dptr: [address, 0], flags: 0 })
    }

    fn data_pointer(&mut self, slot: u16, address: u64, bytes: u64) -> Result<DataPointerWords, Refusal> {
        if address & 3 != 0 {
            return Err(Refusal::Misaligned);
        }
        if self.parts.uses_sgl { Ok(lists::sgl(address, bytes)) } else { Ok(self.lists.prps(slot, address, bytes)) }
    }

    fn gathered_data_pointer(&mut self, slot: u16, parts: &[DataWindow]) -> Result<DataPointerWords, Refusal> {
        if parts.iter().any(|part| part.address & 3 != 0 || part.bytes & 3 != 0 || part.bytes == 0) {
            return Err(Refusal::Misaligned);
        }
        if let [part] = parts {
            return self.data_pointer(slot, part.address, u64::from(part.bytes));
        }
        if self.parts.may_use_sgl {
            self.lists.gathered_sgl(slot, parts)
        } else {
            self.lists.gathered_prps(slot, parts)
        }
    }
}

impl SlotMemory for PcieQueue {
    fn slot_window(&self, slot: u16, bytes: u32) -> DataWindow {
        DataWindow::new(self.lists.address(slot), bytes)
    }

    fn write_slot(&mut self, slot: u16, from: &[u8]) {
        self.lists.write(slot, from);
    }

    fn read_slot(&self, slot: u16, to: &mut [u8]) {
        self.lists.read(slot, to);
    }
}

impl Completions for PcieQueue {
    #[inline(always)]
    fn peek(&mut self) -> Option<CompletionEntry> {
        self.cq.peek()
    }

    #[inline(always)]
    fn pop(&mut self) {
        self.cq.pop();
    }

    #[inline(always)]
    fn check(&mut self, entry: &CompletionEntry) -> Result<(), ResetCause> {
        if entry.sqid() != self.id {
            return Err(ResetCause::WrongQueue { queue: self.id, sqid: entry.sqid() });
        }
        if !self.sq.fetched(entry.sqhd()) {
            return Err(ResetCause::BadHead { queue: self.id, sqhd: entry.sqhd() });
        }
        Ok(())
    }

    #[inline(always)]
    fn consumed(&mut self, completions: u32) {
        if let Some(head) = self.cq.consumed(completions) {
            self.cq_doorbell.ring(&self.device, head);
        }
    }

    fn progress(&self) -> u32 {
        self.cq.head()
    }

    fn let_controller_work(&self, at_most: Duration) {
        if let Some(device) = self.device.try_lock() {
            device.pause(at_most);
        }
    }

    fn sleep(&self, at_most: Duration) -> Result<bool, DriverError> {
        let Some((_, interrupt)) = &self.parts.interrupt else { return Ok(true) };
        interrupt.wait(at_most).map_err(|source| {
            let what = "waiting for an interrupt".into();
            PciError::System { what, source }.into()
        })
    }
}
