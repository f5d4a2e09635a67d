//! The book of I/O queues: which identifiers are taken, and the shadow doorbells they share.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::command::{CreateCqDword11, CreateSqDword11, QueueDword10};
use iolab_nvme_spec::registers::DoorbellStride;
use iolab_nvme_spec::{AdminOpcode, SubmissionEntry};
use iolab_pci_device::{DmaBuffer, DmaMapper, PciDevice};

use super::admin::{AdminCommand, Payload};
use super::{Cold, Facts, Shared};
use crate::doorbell::{Doorbell, ShadowDoorbell};
use crate::error::DriverError;
use crate::options::ControllerOptions;

/// Identifiers and shadow doorbells.
#[derive(Debug, Default)]
pub(crate) struct QueueBook {
    /// Which queue pairs exist; identifier 1 first.
    taken: Vec<bool>,
    shadow: Option<ShadowPages>,
    /// Memory of queues that the device may still have used when they were dropped.
    orphans: Vec<u64>,
}

/// The two buffers of Doorbell Buffer Config.
#[derive(Debug)]
struct ShadowPages {
    values: DmaBuffer,
    events: DmaBuffer,
    page_bytes: u64,
    active: bool,
}

/// Where the rings of a queue pair are, and what shall be signalled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueAddresses {
    pub(crate) qid: u16,
    pub(crate) entries: u32,
    pub(crate) sq_address: u64,
    pub(crate) cq_address: u64,
    pub(crate) vector: Option<u16>,
}

impl QueueBook {
    /// Allocates shadow doorbells if they are wanted and the device has them.
    pub(crate) fn prepare_shadow(
        &mut self,
        device: &mut dyn PciDevice,
        facts: &Facts,
        options: &ControllerOptions,
        page_bytes: u64,
    ) -> Result<(), DriverError> {
        if options.shadow_doorbells && facts.admin_capabilities().doorbell_buffer() && self.shadow.is_none() {
            let values = device.allocate(page_bytes as usize)?;
            let events = device.allocate(page_bytes as usize)?;
            self.shadow = Some(ShadowPages { values, events, page_bytes, active: false });
        }
        Ok(())
    }

    pub(crate) fn release(&mut self, mapper: &mut dyn DmaMapper) {
        let shadow = self.shadow.take().map(|pages| [pages.values.address, pages.events.address]);
        for address in self.orphans.drain(..).chain(shadow.into_iter().flatten()) {
            // What cannot be unmapped goes away with the mapper.
            let _ = mapper.unmap(address);
        }
    }

    /// Notes memory that is unmapped only when the controller has stopped.
    pub(crate) fn orphan(&mut self, address: u64) {
        self.orphans.push(address);
    }

    pub(crate) fn free(&mut self, qid: u16) {
        if let Some(taken) = self.taken.get_mut(usize::from(qid) - 1) {
            *taken = false;
        }
    }

    fn shadow_word(&self, at: u64) -> Option<ShadowDoorbell> {
        let pages = self.shadow.as_ref().filter(|pages| pages.active && at + 4 <= pages.page_bytes)?;
        let value = pages.values.memory.window(at as usize, 4)?;
        let event = pages.events.memory.window(at as usize, 4)?;
        Some(ShadowDoorbell { value, event, last: 0 })
    }
}

impl Cold {
    /// Reserves an identifier for a queue pair.
    pub(crate) fn take_queue_id(&mut self) -> Result<u16, DriverError> {
        let granted = usize::from(self.preparation.granted);
        self.queues.taken.resize(granted.max(self.queues.taken.len()), false);
        let Some(free) = self.queues.taken[..granted].iter().position(|taken| !taken) else {
            let what = format!("the controller grants {granted} queue pairs, and all are in use");
            return Err(DriverError::BadRequest(what));
        };
        self.queues.taken[free] = true;
        Ok(free as u16 + 1)
    }

    /// The doorbells of a queue pair: tail of the submission queue, head of the completion queue.
    pub(crate) fn doorbells(&self, qid: u16) -> (Doorbell, Doorbell) {
        let stride = DoorbellStride(self.capabilities.dstrd());
        let tail = self.queues.shadow_word(stride.shadow_submission_tail(qid));
        let head = self.queues.shadow_word(stride.shadow_completion_head(qid));
        (
            Doorbell::new(&*self.device, stride.submission_tail(qid) as u32, tail),
            Doorbell::new(&*self.device, stride.completion_head(qid) as u32, head),
        )
    }

    /// Tells the controller of the shadow doorbells, in each of its lives anew.
    pub(crate) fn configure_shadow(&mut self) -> Result<(), DriverError> {
        let Some(pages) = &self.queues.shadow else { return Ok(()) };
        for buffer in [&pages.values, &pages.events] {
            buffer.memory.fill(0, pages.page_bytes as usize, 0);
        }
        std::sync::atomic::fence(Ordering::SeqCst);
        let entry = SubmissionEntry::new(AdminOpcode::DOORBELL_BUFFER_CONFIG.0, 0)
            .with_prps(pages.values.address, pages.events.address);
        let outcome = self.command(AdminCommand::new(entry, Payload::None));
        let active = match outcome {
            Ok(_) => true,
            Err(DriverError::Admin { .. }) => false,
            Err(error) => return Err(error),
        };
        if let Some(pages) = &mut self.queues.shadow {
            // A device that took the buffers once and refuses them later would leave queue pairs ringing in memory that
            // nobody reads.
            if pages.active && !active {
                return Err(DriverError::Unsupported("it refuses shadow doorbells that it took before".into()));
            }
            pages.active = active;
        }
        Ok(())
    }
}

impl Shared {
    /// Creates both queues of a pair.
    pub(crate) fn create_queues(&self, at: &QueueAddresses) -> Result<(), DriverError> {
        let size = QueueDword10(0).with_qid(at.qid).with_qsize((at.entries - 1) as u16);
        let completions =
            CreateCqDword11(0).with_pc(true).with_ien(at.vector.is_some()).with_iv(at.vector.unwrap_or(0));
        let entry = SubmissionEntry::new(AdminOpcode::CREATE_IO_CQ.0, 0)
            .with_prps(at.cq_address, 0)
            .with_cdw(10, size.0)
            .with_cdw(11, completions.0);
        self.command(AdminCommand::new(entry, Payload::None))?;
        let submissions = CreateSqDword11(0).with_pc(true).with_cqid(at.qid);
        let entry = SubmissionEntry::new(AdminOpcode::CREATE_IO_SQ.0, 0)
            .with_prps(at.sq_address, 0)
            .with_cdw(10, size.0)
            .with_cdw(11, submissions.0);
        let outcome = self.command(AdminCommand::new(entry, Payload::None));
        if let Err(DriverError::Admin { .. }) = outcome {
            // The completion queue alone is of no use, and its memory is about to go.
            self.delete_queue(AdminOpcode::DELETE_IO_CQ, at.qid)?;
        }
        outcome.map(drop)
    }

    /// Deletes both queues of a pair.
    pub(crate) fn delete_queues(&self, qid: u16) -> Result<(), DriverError> {
        self.delete_queue(AdminOpcode::DELETE_IO_SQ, qid)?;
        self.delete_queue(AdminOpcode::DELETE_IO_CQ, qid)
    }

    /// Deletes whichever queues of a pair exist.
    pub(crate) fn forget_queues(&self, qid: u16) {
        for opcode in [AdminOpcode::DELETE_IO_SQ, AdminOpcode::DELETE_IO_CQ] {
            // What does not exist is refused, which is as good; a device that is gone is found by the next command.
            let _ = self.delete_queue(opcode, qid);
        }
    }

    fn delete_queue(&self, opcode: AdminOpcode, qid: u16) -> Result<(), DriverError> {
        let entry = SubmissionEntry::new(opcode.0, 0).with_cdw(10, QueueDword10(0).with_qid(qid).0);
        self.command(AdminCommand::new(entry, Payload::None)).map(drop)
    }
}
