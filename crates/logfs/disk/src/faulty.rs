//! A device on which requests fail as a plan says.

use crate::{BlockDevice, DeviceError, DiskCompletion, DiskRequest, Geometry};

/// Returns the error with which a request fails, if it does.
type Plan = dyn FnMut(&DiskRequest) -> Option<DeviceError>;

/// Asks `plan` about every request; a request for which it returns an error fails with that and
/// never reaches the device.
pub struct Faulty<D> {
    device: D,
    plan: Box<Plan>,
    failed: Vec<DiskCompletion>,
}

impl<D: BlockDevice> Faulty<D> {
    /// Wraps a device with a plan.
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
