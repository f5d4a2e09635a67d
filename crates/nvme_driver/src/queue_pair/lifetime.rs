//! How a queue pair comes to be and ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use iolab_nvme_spec::completion::COMPLETION_ENTRY_BYTES;
use iolab_nvme_spec::submission::SUBMISSION_ENTRY_BYTES;
use iolab_pci_device::{DmaBuffer, DmaMapper};

use super::slot::Slot;
use super::{ColdQueue, QueuePair};
use crate::controller::{Cold, QueueAddresses, Shared};
use crate::data_pointer::ListArea;
use crate::error::DriverError;
use crate::options::{DataPointer, QueueOptions, WaitPolicy};
use crate::ring::{CompletionRing, SubmissionRing};

/// Leaves each slot several identifiers, so that late completions are told from new ones.
const MOST_SLOTS: u16 = (1 << 14) - 1;

impl QueuePair {
    /// Makes both queues, their memory and their slots.
    pub(crate) fn create(shared: Arc<Shared>, options: QueueOptions) -> Result<QueuePair, DriverError> {
        let options = options.with_entries(shared.facts.capabilities.max_queue_entries());
        check(&shared, &options)?;
        let list_bytes = ListArea::slot_bytes(longest_transfer(&shared), shared.facts.page_bytes);
        let (queue, epoch, [sq_doorbell, cq_doorbell]) = {
            let mut cold = shared.lock();
            cold.alive()?;
            let epoch = shared.epoch.load(Ordering::Acquire);
            let queue = Allocation::make(&mut cold, &options, list_bytes)?;
            let (mut tail, mut head) = cold.doorbells(queue.addresses.qid);
            // Before the device has the queues: it looks at shadow doorbells as soon as it has.
            tail.restart();
            head.restart();
            (queue, epoch, [tail, head])
        };
        if let Err(error) = shared.create_queues(&queue.addresses) {
            let mut cold = shared.lock();
            if cold.dead.is_some() {
                orphan(&queue.buffers, &mut cold);
            } else {
                // A time-out reset the controller, and a refusal left nothing created: the memory is nobody's.
                queue.give_back(&mut cold);
            }
            drop(cold);
            return Err(error);
        }
        let cid_step = (options.slots + 1).next_power_of_two();
        let slots: Box<[Slot]> = (0..options.slots).map(|index| Slot::new(index, cid_step)).collect();
        let [sq, cq, lists] = &queue.buffers;
        let is_simulated = shared.clock.name() == "simulated";
        Ok(QueuePair {
            sq: SubmissionRing::new(sq.memory.clone(), options.entries),
            cq: CompletionRing::new(cq.memory.clone(), options.entries, patience(&options)),
            lists: ListArea::new(lists, list_bytes, shared.facts.page_bytes),
            slots,
            page_bytes: shared.facts.page_bytes,
            sgl: options.data_pointer == DataPointer::Sgl,
            in_flight: 0,
            slot_mask: cid_step - 1,
            cid_step,
            qid: queue.addresses.qid,
            countdown: options.reaps_per_check.max(1),
            epoch,
            current_epoch: Arc::clone(&shared.epoch),
            sq_doorbell,
            cq_doorbell,
            pending: Vec::with_capacity(usize::from(options.slots)),
            shared,
            cold: Box::new(ColdQueue {
                addresses: queue.addresses,
                buffers: queue.buffers.to_vec(),
                interrupt: queue.interrupt,
                next_check_ns: 0,
                checked_head: 0,
                distrust: false,
                unsent: Vec::with_capacity(usize::from(options.slots)),
                dead: false,
                is_simulated,
                options,
            }),
        })
    }

    /// The queue identifier.
    pub fn id(&self) -> u16 {
        self.qid
    }

    /// How many commands may be in flight.
    pub fn slots(&self) -> u16 {
        self.slots.len() as u16
    }

    /// The longest transfer that a slot's list memory describes and the device allows.
    pub(super) fn longest_transfer(&self) -> u64 {
        longest_transfer(&self.shared)
    }
}

fn longest_transfer(shared: &Shared) -> u64 {
    let prepared = u64::from(shared.options.max_transfer_bytes);
    shared.facts.max_transfer_bytes.map_or(prepared, |limit| limit.min(prepared))
}

/// Completions that are consumed before the device is told. A store into a device's registers is what a single command
/// waits for longest, and the device needs the head only before its ring is full. Who sleeps until an interrupt comes
/// leaves no device a reason to hold one back.
fn patience(options: &QueueOptions) -> u32 {
    match options.wait {
        WaitPolicy::Poll => (options.entries / 4).max(1),
        WaitPolicy::Interrupt { .. } | WaitPolicy::Adaptive { .. } => 1,
    }
}

fn check(shared: &Shared, options: &QueueOptions) -> Result<(), DriverError> {
    let most = shared.facts.capabilities.max_queue_entries();
    if options.entries < 2 || options.entries > most {
        let what = format!("a queue of {} entries; the controller takes 2 to {most}", options.entries);
        return Err(DriverError::BadRequest(what));
    }
    if options.slots == 0 || options.slots > MOST_SLOTS {
        return Err(DriverError::BadRequest(format!("{} slots; choose 1 to {MOST_SLOTS}", options.slots)));
    }
    if options.data_pointer == DataPointer::Sgl && !shared.facts.sgl() {
        return Err(DriverError::BadRequest("the controller has no SGLs; choose PRPs".into()));
    }
    Ok(())
}

/// What a queue pair takes from the controller.
struct Allocation {
    addresses: QueueAddresses,
    /// Submission ring, completion ring, lists.
    buffers: [DmaBuffer; 3],
    interrupt: Option<iolab_pci_device::Interrupt>,
}

impl Allocation {
    fn make(cold: &mut Cold, options: &QueueOptions, list_bytes: u64) -> Result<Allocation, DriverError> {
        let vector = options.wait.vector();
        let interrupt = vector.map(|vector| cold.device.interrupt(vector)).transpose()?;
        let entries = options.entries as usize;
        let sizes = [
            entries * SUBMISSION_ENTRY_BYTES,
            entries * COMPLETION_ENTRY_BYTES,
            list_bytes as usize * usize::from(options.slots),
        ];
        let mut made = Vec::with_capacity(sizes.len());
        for bytes in sizes {
            match cold.device.allocate(bytes) {
                Ok(buffer) => made.push(buffer),
                Err(error) => {
                    give_back(&made, &mut *cold.device);
                    return Err(error.into());
                }
            }
        }
        let qid = match cold.take_queue_id() {
            Ok(qid) => qid,
            Err(error) => {
                give_back(&made, &mut *cold.device);
                return Err(error);
            }
        };
        let Ok(buffers) = <[DmaBuffer; 3]>::try_from(made) else { unreachable!("three sizes make three buffers") };
        let [sq, cq, _] = &buffers;
        let (sq_address, cq_address) = (sq.address, cq.address);
        let addresses = QueueAddresses { qid, entries: options.entries, sq_address, cq_address, vector };
        Ok(Allocation { addresses, buffers, interrupt })
    }

    fn give_back(&self, cold: &mut Cold) {
        give_back(&self.buffers, &mut *cold.device);
        cold.queues.free(self.addresses.qid);
    }
}

/// Unmaps memory that the device does not use. What cannot be unmapped goes away with the mapper.
fn give_back(buffers: &[DmaBuffer], mapper: &mut dyn DmaMapper) {
    for buffer in buffers {
        let _ = mapper.unmap(buffer.address);
    }
}

/// Keeps memory mapped until the controller has stopped.
fn orphan(buffers: &[DmaBuffer], cold: &mut Cold) {
    buffers.iter().for_each(|buffer| cold.queues.orphan(buffer.address));
}

impl Drop for QueuePair {
    /// Deletes the queues. If the device does not confirm that, their memory stays mapped until the controller has
    /// stopped, because the device may still write to it.
    fn drop(&mut self) {
        let epoch = || self.current_epoch.load(Ordering::Acquire);
        // A reset has deleted the queues, and this pair did not make them again.
        let deleted = epoch() != self.epoch || self.shared.delete_queues(self.qid).is_ok();
        let mut cold = self.shared.lock();
        if cold.dead.is_none() && (deleted || epoch() != self.epoch) {
            give_back(&self.cold.buffers, &mut *cold.device);
            cold.queues.free(self.qid);
        } else {
            orphan(&self.cold.buffers, &mut cold);
        }
    }
}
