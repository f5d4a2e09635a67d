//! A device of whose requests some fail, as a plan says.

use crate::{BlockDevice, DeviceError, DiskCompletion, DiskRequest, Geometry};

/// Says whether a request fails, and how.
type Plan = dyn FnMut(&DiskRequest) -> Option<DeviceError>;

/// Asks `plan` about every request; what the plan names an error for fails with it and never
/// reaches the device.
pub struct Faulty<D> {
    device: D,
    plan: Box<Plan>,
    failed: Vec<DiskCompletion>,
}

impl<D: BlockDevice> Faulty<D> {
    /// A device with a plan.
    pub fn new(device: D, plan: impl FnMut(&DiskRequest) -> Option<DeviceError> + 'static) -> Faulty<D> {
        Faulty { device, plan: Box::new(plan), failed: Vec::new() }
    }
}

impl<D: BlockDevice> BlockDevice for Faulty<D> {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        match (self.plan)(&request) {
            None => self.device.submit(request),
            Some(error) => {
                self.failed.push(request.complete(Err(error)));
                Ok(())
            }
        }
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        let wait = wait && self.failed.is_empty();
        done.append(&mut self.failed);
        self.device.reap(wait, done);
    }
}
