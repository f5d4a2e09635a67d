//! NVM Express over PCI Express: registers, queues in memory, doorbells, interrupts.
//!
//! ```text
//! Pcie        one controller: registers, mappings, admin queue, shadow doorbells
//!  └─ PcieQueue   a pair of rings and their doorbells; PRPs and SGLs
//!       ├─ ring, doorbell, lists
//!       └─ DeviceHandle   the PCI function, shared with Pcie
//! ```
//!
//! This module accesses devices only through `PciDevice`: real, served or embedded ones. It does
//! not know the meaning of commands, except of those that create and delete queues.

mod device;
mod doorbell;
mod lists;
mod queue;
mod ring;
mod shadow;

/// Orders accesses to memory that is shared with the device. The interleaving tests of
/// `iolab-virtual-ssd` replace this module with that of a model checker.
mod sync {
    pub(crate) use std::sync::atomic::{Ordering, fence};

    /// Runs a test: once here, and in every possible order under the model checker.
    #[cfg(test)]
    pub(crate) fn model(test: impl Fn()) {
        test();
    }
}

use std::time::Duration;

use iolab_nvme_spec::SubmissionEntry;
use iolab_nvme_spec::completion::COMPLETION_ENTRY_BYTES;
use iolab_nvme_spec::identify::{AdminCapabilities, IdentifyController, SglSupport};
use iolab_nvme_spec::registers::{AdminQueueAttributes, Capabilities, DoorbellStride, GONE_U32, Register};
use iolab_nvme_spec::submission::SUBMISSION_ENTRY_BYTES;
use iolab_pci_device::{DmaBuffer, DmaMapper, MapError, PciDevice, SharedBytes};

use crate::error::DriverError;
use crate::options::{DataPointer, QueueOptions, WaitPolicy};
use crate::transport::{
    ADMIN_DATA_BYTES, ADMIN_DATA_SLOTS, ADMIN_ENTRIES, Connection, ControllerSetup, QueueLife, QueueRequest, Transport,
};
use device::DeviceHandle;
use doorbell::Doorbell;
use lists::ListArea;
pub use queue::PcieQueue;
use queue::QueueParts;
use shadow::ShadowPages;

/// A controller on a PCI function.
#[derive(Debug)]
pub struct Pcie {
    device: DeviceHandle,
    capabilities: Capabilities,
    page_bytes: u64,
    admin: PcieQueue,
    may_use_sgl: bool,
    wants_shadow_doorbells: bool,
    shadow: Option<ShadowPages>,
    /// Memory of dropped queues that the controller may still access.
    orphans: Vec<u64>,
}

impl Pcie {
    /// Reads a function's capabilities without changing anything, and allocates the admin queue.
    ///
    /// # Errors
    /// The function is gone, is not a usable controller, or its memory cannot be mapped.
    pub fn new(mut device: Box<dyn PciDevice>, wants_shadow_doorbells: bool) -> Result<Pcie, DriverError> {
        let capabilities = Capabilities(device.read_u64(Register::CAP.0));
        if capabilities.0 == u64::MAX {
            return Err(DriverError::Gone { register: "CAP" });
        }
        let page_bytes = capabilities.min_page_bytes();
        if page_bytes > 65536 || capabilities.mpsmin() > capabilities.mpsmax() {
            let what = format!("its minimum memory page size is {page_bytes} bytes");
            return Err(DriverError::Unsupported(what));
        }
        let parts = QueueParts {
            id: 0,
            entries: ADMIN_ENTRIES,
            sq: device.allocate(ADMIN_ENTRIES as usize * SUBMISSION_ENTRY_BYTES)?,
            cq: device.allocate(ADMIN_ENTRIES as usize * COMPLETION_ENTRY_BYTES)?,
            lists: device.allocate(usize::from(ADMIN_DATA_SLOTS) * ADMIN_DATA_BYTES)?,
            list_bytes: ADMIN_DATA_BYTES as u64,
            page_bytes,
            interrupt: None,
            consumed_at_once: 1,
            // Admin commands must use PRPs (Base, section 4.2).
            uses_sgl: false,
            may_use_sgl: false,
        };
        let stride = DoorbellStride(capabilities.dstrd());
        let doorbells = [stride.submission_tail(0), stride.completion_head(0)];
        let device = DeviceHandle::new(device);
        let admin = PcieQueue::new(parts, doorbells.map(|offset| Doorbell::by_call(offset as u32)), device.clone());
        Ok(Pcie {
            device,
            capabilities,
            page_bytes,
            admin,
            may_use_sgl: false,
            wants_shadow_doorbells,
            shadow: None,
            orphans: Vec::new(),
        })
    }

    /// The doorbells of a queue: tail and head.
    fn doorbells(&self, id: u16) -> [Doorbell; 2] {
        let stride = DoorbellStride(self.capabilities.dstrd());
        let shadow = |offset: u64| self.shadow.as_ref().and_then(|pages| pages.doorbell(offset));
        let device = self.device.lock();
        let offsets = [
            (stride.submission_tail(id), stride.shadow_submission_tail(id)),
            (stride.completion_head(id), stride.shadow_completion_head(id)),
        ];
        offsets.map(|(register, word)| Doorbell::new(&**device, register as u32, shadow(word)))
    }

    fn unmap_all(&self, addresses: &[u64]) {
        let mut device = self.device.lock();
        for address in addresses {
            // Dropping the mapper unmaps what cannot be unmapped here.
            let _ = device.unmap(*address);
        }
    }
}

impl Connection for Pcie {
    fn capabilities(&mut self) -> Result<Capabilities, DriverError> {
        Ok(self.capabilities)
    }

    fn property(&mut self, register: Register) -> Result<u32, DriverError> {
        match self.device.lock().read_u32(register.0) {
            GONE_U32 => Err(DriverError::Gone { register: short_name(register) }),
            value => Ok(value),
        }
    }

    fn set_property(&mut self, register: Register, value: u32) -> Result<(), DriverError> {
        self.device.lock().write_u32(register.0, value);
        Ok(())
    }

    fn reset(&mut self) -> Result<(), DriverError> {
        Ok(self.device.lock().reset()?)
    }

    fn pause(&self, at_most: Duration) {
        self.device.lock().pause(at_most);
    }

    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        self.device.lock().map(memory)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.device.lock().unmap(address)
    }
}

impl ControllerSetup for Pcie {
    fn identified(&mut self, identify: &IdentifyController) -> Result<(), DriverError> {
        self.may_use_sgl = matches!(SglSupport(identify.sgls.get()).supported(), 1 | 2);
        let has_shadow = AdminCapabilities(identify.oacs.get()).doorbell_buffer();
        if self.wants_shadow_doorbells && has_shadow && self.shadow.is_none() {
            self.shadow = Some(ShadowPages::allocate(&mut **self.device.lock(), self.page_bytes)?);
        }
        Ok(())
    }

    fn setup_command(&mut self) -> Option<SubmissionEntry> {
        self.shadow.as_ref().map(ShadowPages::command)
    }

    fn setup_answered(&mut self, accepted: bool) -> Result<(), DriverError> {
        let Some(pages) = &mut self.shadow else { return Ok(()) };
        // If a device accepts the buffers at first and refuses them later, existing queues would
        // ring doorbells in memory that the device does not read.
        if pages.is_active && !accepted {
            return Err(DriverError::Unsupported("it rejects shadow doorbells that it accepted before".into()));
        }
        pages.is_active = accepted;
        Ok(())
    }
}

impl Transport for Pcie {
    type Queue = PcieQueue;

    fn start_admin(&mut self) -> Result<(), DriverError> {
        self.admin.restart();
        let size = (ADMIN_ENTRIES - 1) as u16;
        let attributes = AdminQueueAttributes(0).with_asqs(size).with_acqs(size);
        let (submissions, completions) = self.admin.ring_addresses();
        let device = self.device.lock();
        device.write_u32(Register::AQA.0, attributes.0);
        device.write_u64(Register::ASQ.0, submissions);
        device.write_u64(Register::ACQ.0, completions);
        Ok(())
    }

    fn admin(&mut self) -> &mut PcieQueue {
        &mut self.admin
    }

    fn new_queue(&mut self, request: &QueueRequest<'_>) -> Result<PcieQueue, DriverError> {
        let options = request.options;
        let uses_sgl = options.data_pointer == DataPointer::Sgl;
        if uses_sgl && !self.may_use_sgl {
            return Err(DriverError::BadRequest("the controller does not support SGLs; use PRPs".into()));
        }
        let list_bytes = ListArea::slot_bytes(request.max_transfer_bytes, self.page_bytes);
        let entries = options.entries as usize;
        let [sq, cq, lists] = {
            let sizes = [
                entries * SUBMISSION_ENTRY_BYTES,
                entries * COMPLETION_ENTRY_BYTES,
                list_bytes as usize * usize::from(options.slots),
            ];
            allocate_all(&mut **self.device.lock(), sizes)?
        };
        let interrupt = options.wait.vector().map(|vector| Ok((vector, self.device.lock().interrupt(vector)?)));
        let interrupt = match interrupt.transpose() {
            Ok(interrupt) => interrupt,
            Err(error) => {
                self.unmap_all(&[sq.address, cq.address, lists.address]);
                return Err(error);
            }
        };
        let parts = QueueParts {
            id: request.id,
            entries: options.entries,
            sq,
            cq,
            lists,
            list_bytes,
            page_bytes: self.page_bytes,
            interrupt,
            consumed_at_once: consumed_at_once(options),
            uses_sgl,
            may_use_sgl: self.may_use_sgl,
        };
        let mut doorbells = self.doorbells(request.id);
        // This happens before the device has the queue, because from then on it reads the shadow
        // doorbells.
        doorbells.iter_mut().for_each(Doorbell::restart);
        Ok(PcieQueue::new(parts, doorbells, self.device.clone()))
    }

    fn retire_queue(&mut self, queue: &mut PcieQueue, is_unused: bool) {
        if is_unused {
            self.unmap_all(&queue.addresses());
        } else {
            self.orphans.extend(queue.addresses());
        }
    }

    fn release(&mut self) {
        let mut addresses: Vec<u64> = self.admin.addresses().into();
        addresses.extend(self.shadow.take().map(|pages| pages.addresses()).into_iter().flatten());
        addresses.append(&mut self.orphans);
        self.unmap_all(&addresses);
    }
}

/// The name of a register in messages.
fn short_name(register: Register) -> &'static str {
    match register {
        Register::CC => "CC",
        Register::CSTS => "CSTS",
        Register::VS => "VS",
        _ => "of the controller",
    }
}

/// How many completions are consumed before the head doorbell is rung. For a single command, the
/// store into a device register takes the longest, and the device needs the head only before its
/// ring is full. But if a caller sleeps until an interrupt, a delayed head must not make the device
/// hold one back.
fn consumed_at_once(options: &QueueOptions) -> u32 {
    match options.wait {
        WaitPolicy::Poll => (options.entries / 4).max(1),
        WaitPolicy::Interrupt { .. } | WaitPolicy::Adaptive { .. } => 1,
    }
}

/// Allocates memory of these sizes, all or nothing.
fn allocate_all(mapper: &mut dyn PciDevice, sizes: [usize; 3]) -> Result<[DmaBuffer; 3], DriverError> {
    let mut made: Vec<DmaBuffer> = Vec::with_capacity(sizes.len());
    for bytes in sizes {
        match mapper.allocate(bytes) {
            Ok(buffer) => made.push(buffer),
            Err(error) => {
                for buffer in &made {
                    // Dropping the mapper unmaps what cannot be unmapped here.
                    let _ = DmaMapper::unmap(mapper, buffer.address);
                }
                return Err(error.into());
            }
        }
    }
    let Ok(buffers) = <[DmaBuffer; 3]>::try_from(made) else { unreachable!("three sizes make three buffers") };
    Ok(buffers)
}
