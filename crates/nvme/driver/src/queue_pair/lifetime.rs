//! Creating and dropping a queue pair.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::slot::Slot;
use super::{ColdQueue, QueuePair};
use crate::controller::Shared;
use crate::error::DriverError;
use crate::options::QueueOptions;
use crate::transport::{QueueLife, QueueRequest, Transport};

/// This limit gives each slot several identifiers, which distinguish a late completion from a new
/// one.
const MOST_SLOTS: u16 = (1 << 14) - 1;

impl<T: Transport> QueuePair<T> {
    /// Creates both queues and their slots.
    pub(crate) fn create(shared: Arc<Shared<T>>, options: QueueOptions) -> Result<QueuePair<T>, DriverError> {
        let mut options = options.with_entries(shared.facts.capabilities.max_queue_entries());
        options.path_patience_ns.get_or_insert(shared.facts.transition_ns());
        check(&shared, &options)?;
        let (mut queue, epoch) = {
            let mut cold = shared.lock();
            cold.alive()?;
            let epoch = shared.epoch.load(Ordering::Acquire);
            let id = cold.take_queue_id()?;
            let request = QueueRequest { id, options: &options, max_transfer_bytes: longest_transfer(&shared) };
            let queue = cold.transport.new_queue(&request).inspect_err(|_| cold.queue_ids.free(id))?;
            (queue, epoch)
        };
        if let Err(error) = queue.create(&*shared) {
            let mut cold = shared.lock();
            // If the controller is alive, either a time-out has reset it, or it refused and created
            // nothing. In both cases it does not use the memory.
            let is_unused = cold.dead.is_none();
            cold.retire(&mut queue, is_unused);
            drop(cold);
            return Err(error);
        }
        let cid_step = (options.slots + 1).next_power_of_two();
        let slots: Box<[Slot]> = (0..options.slots).map(|index| Slot::new(index, cid_step)).collect();
        let is_simulated = shared.clock.name() == "simulated";
        Ok(QueuePair {
            queue,
            slots,
            in_flight: 0,
            slot_mask: cid_step - 1,
            cid_step,
            countdown: options.reaps_per_check.max(1),
            epoch,
            current_epoch: Arc::clone(&shared.epoch),
            pending: Vec::with_capacity(usize::from(options.slots)),
            shared,
            cold: Box::new(ColdQueue {
                next_check_ns: 0,
                checked_progress: 0,
                reject_completion: false,
                unsent: Vec::with_capacity(usize::from(options.slots)),
                held: Vec::new(),
                dead: false,
                is_simulated,
                options,
            }),
        })
    }

    /// The queue identifier.
    pub fn id(&self) -> u16 {
        self.queue.id()
    }

    /// How many commands may be in flight.
    pub fn slots(&self) -> u16 {
        self.slots.len() as u16
    }

    /// The longest transfer that the queue is prepared for and the device allows.
    pub(super) fn longest_transfer(&self) -> u64 {
        longest_transfer(&self.shared)
    }
}

fn longest_transfer<T: Transport>(shared: &Shared<T>) -> u64 {
    let prepared = u64::from(shared.options.max_transfer_bytes);
    shared.facts.max_transfer_bytes.map_or(prepared, |limit| limit.min(prepared))
}

fn check<T: Transport>(shared: &Shared<T>, options: &QueueOptions) -> Result<(), DriverError> {
    let most = shared.facts.capabilities.max_queue_entries();
    if options.entries < 2 || options.entries > most {
        let what = format!("a queue of {} entries; the controller supports 2 to {most}", options.entries);
        return Err(DriverError::BadRequest(what));
    }
    if options.slots == 0 || options.slots > MOST_SLOTS {
        return Err(DriverError::BadRequest(format!("{} slots; use 1 to {MOST_SLOTS}", options.slots)));
    }
    Ok(())
}

impl<T: Transport> Drop for QueuePair<T> {
    /// Deletes the queues. If the device does not confirm that, their memory stays mapped until the
    /// controller has stopped, because the device may still write to it.
    fn drop(&mut self) {
        let epoch = || self.current_epoch.load(Ordering::Acquire);
        // If a reset has deleted the queues, this queue pair did not create them again.
        let deleted = epoch() != self.epoch || self.queue.delete(&*self.shared).is_ok();
        let mut cold = self.shared.lock();
        let is_unused = cold.dead.is_none() && (deleted || epoch() != self.epoch);
        cold.retire(&mut self.queue, is_unused);
    }
}
