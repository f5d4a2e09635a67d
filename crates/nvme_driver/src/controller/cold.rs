//! The state behind the controller's mutex, and how it is reset or given up.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use iolab_clock::Clock;
use iolab_nvme_spec::registers::{Capabilities, DoorbellStride, GONE_U32, Register};
use iolab_pci_device::PciDevice;

use super::queues::QueueBook;
use crate::admin_queue::AdminQueue;
use crate::error::{DriverError, Fault};
use crate::options::ControllerOptions;

/// How long the device is left alone between two looks at it.
const PAUSE: Duration = Duration::from_micros(20);
/// Recoveries that are remembered.
const RECOVERIES_KEPT: usize = 256;

/// A reset of the controller and why it was done.
#[derive(Debug, Clone)]
pub struct Recovery {
    /// Why.
    pub fault: Fault,
    /// How it ended: `None` if the controller works again.
    pub failure: Option<DriverError>,
}

/// Device, admin queue and book-keeping.
pub(crate) struct Cold {
    pub(crate) device: Box<dyn PciDevice>,
    pub(crate) clock: Clock,
    pub(crate) options: ControllerOptions,
    pub(crate) capabilities: Capabilities,
    pub(crate) page_bytes: u64,
    pub(crate) admin: AdminQueue,
    pub(crate) epoch: Arc<AtomicU32>,
    /// Why the controller was given up.
    pub(crate) dead: Option<Arc<DriverError>>,
    pub(crate) recoveries: VecDeque<Recovery>,
    pub(crate) queues: QueueBook,
    /// What `prepare` needs again after a reset.
    pub(crate) preparation: super::enable::Preparation,
}

impl fmt::Debug for Cold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cold")
            .field("capabilities", &self.capabilities)
            .field("dead", &self.dead)
            .finish_non_exhaustive()
    }
}

impl Cold {
    /// Looks at the device without changing anything but allocating the admin queue.
    pub(crate) fn new(
        mut device: Box<dyn PciDevice>,
        clock: Clock,
        options: ControllerOptions,
    ) -> Result<Cold, DriverError> {
        let capabilities = Capabilities(device.read_u64(Register::CAP.0));
        if capabilities.0 == u64::MAX {
            return Err(DriverError::Gone { register: "CAP" });
        }
        let page_bytes = capabilities.min_page_bytes();
        if page_bytes > 65536 || capabilities.mpsmin() > capabilities.mpsmax() {
            let what = format!("its smallest memory page has {page_bytes} bytes");
            return Err(DriverError::Unsupported(what));
        }
        if capabilities.max_queue_entries() < 2 {
            return Err(DriverError::Unsupported("its queues have one entry, of which none is usable".into()));
        }
        let stride = DoorbellStride(capabilities.dstrd());
        let admin = AdminQueue::new(&mut *device, stride)?;
        Ok(Cold {
            device,
            clock,
            options,
            capabilities,
            page_bytes,
            admin,
            epoch: Arc::new(AtomicU32::new(0)),
            dead: None,
            recoveries: VecDeque::new(),
            queues: QueueBook::default(),
            preparation: super::enable::Preparation::default(),
        })
    }

    /// An error if the controller was given up.
    pub(crate) fn alive(&self) -> Result<(), DriverError> {
        match &self.dead {
            Some(reason) => Err(DriverError::Dead(Arc::clone(reason))),
            None => Ok(()),
        }
    }

    /// Lets the device work while the driver waits for it.
    pub(crate) fn pause(&self) {
        self.device.pause(PAUSE);
        // Only a simulated clock moves by this; it would stand still otherwise, and no time-out would ever come.
        self.clock.advance(PAUSE.as_nanos() as u64);
    }

    /// A register, or an error if the device is gone.
    pub(crate) fn register(&self, register: Register, name: &'static str) -> Result<u32, DriverError> {
        match self.device.read_u32(register.0) {
            GONE_U32 => Err(DriverError::Gone { register: name }),
            value => Ok(value),
        }
    }

    /// Resets the controller and prepares it as before. If that fails, the controller is dead from then on, and all
    /// queue pairs learn of it in the same way as of a reset.
    pub(crate) fn recover(&mut self, fault: Fault) -> Result<(), DriverError> {
        // Before anything is touched: from here on nobody believes what is in the rings of the old life.
        self.epoch.fetch_add(1, Ordering::AcqRel);
        // A second attempt for what goes wrong once, such as a lost answer. A device that is gone stays gone.
        let outcome = match self.restart() {
            Err(DriverError::Gone { register }) => Err(DriverError::Gone { register }),
            Err(_) => self.restart(),
            Ok(()) => Ok(()),
        };
        if self.recoveries.len() == RECOVERIES_KEPT {
            self.recoveries.pop_front();
        }
        self.recoveries.push_back(Recovery { fault, failure: outcome.as_ref().err().cloned() });
        if let Err(error) = &outcome {
            self.dead = Some(Arc::new(error.clone()));
        }
        outcome
    }

    fn restart(&mut self) -> Result<(), DriverError> {
        if let Err(error) = self.disable() {
            // A controller that does not even stop may still answer to a reset of its function.
            if matches!(error, DriverError::Gone { .. }) || self.device.reset().is_err() {
                return Err(error);
            }
            self.disable()?;
        }
        self.enable()?;
        self.prepare_again()
    }

    /// Gives the controller up without trying to save it.
    pub(crate) fn give_up(&mut self, fault: Fault, error: DriverError) {
        if self.dead.is_none() {
            self.epoch.fetch_add(1, Ordering::AcqRel);
            self.recoveries.push_back(Recovery { fault, failure: Some(error.clone()) });
            self.dead = Some(Arc::new(error));
        }
    }
}

impl Drop for Cold {
    fn drop(&mut self) {
        // A controller that does not stop keeps its memory: unmapping it would pull it away from under the device.
        if self.disable().is_ok() {
            // The mapper goes away with the device, which takes the mappings with it where this fails.
            let _ = self.admin.release(&mut *self.device);
            self.queues.release(&mut *self.device);
        }
    }
}
