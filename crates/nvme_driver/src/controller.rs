//! The controller: opened, identified, asked, reset and shut down. Cold, and shared by all threads behind one mutex.
//!
//! The mutex is held for single steps (send a command, look for answers), so that several threads may have admin commands
//! outstanding. A reset holds it from beginning to end: whoever gets it next finds a controller that works or is dead.
//! Queue pairs learn of a reset by the epoch, which changes before the controller is touched, and then make their
//! queues anew by themselves (see `queue_pair/recovery.rs`).

mod admin;
mod cold;
mod enable;
mod events;
mod facts;
mod queues;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolab_clock::Clock;
use iolab_pci_device::{PciDevice, SharedBytes};

pub(crate) use admin::{AdminCommand, Payload};
pub(crate) use cold::Cold;
pub use cold::Recovery;
pub use events::{Event, EventDetail};
pub use facts::Facts;
pub(crate) use queues::QueueAddresses;

use crate::error::{DriverError, Fault};
use crate::namespace::{self, Namespace};
use crate::options::{ControllerOptions, QueueOptions};
use crate::queue_pair::QueuePair;

/// An enabled controller. Clones are handles on the same controller; it is disabled when the last handle and the last
/// queue pair are gone.
#[derive(Debug, Clone)]
pub struct Controller {
    shared: Arc<Shared>,
}

/// What handles and queue pairs share.
#[derive(Debug)]
pub(crate) struct Shared {
    cold: Mutex<Cold>,
    /// Changes with every reset of the controller.
    pub(crate) epoch: Arc<AtomicU32>,
    pub(crate) clock: Clock,
    pub(crate) facts: Facts,
    pub(crate) options: ControllerOptions,
}

impl Shared {
    /// The cold part. A thread that panicked with the lock left a controller in an unknown state at worst, which the next
    /// time-out resets.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Cold> {
        self.cold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cold part if nobody works on it now.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Cold>> {
        self.cold.try_lock().ok()
    }

    /// Resets the controller, unless somebody has done so since `seen_epoch`.
    pub(crate) fn recover(&self, seen_epoch: u32, fault: Fault) -> Result<(), DriverError> {
        let mut cold = self.lock();
        cold.alive()?;
        if self.epoch.load(Ordering::Acquire) != seen_epoch {
            return Ok(());
        }
        cold.recover(fault)
    }
}

impl Controller {
    /// Enables the controller behind `device`, identifies it and prepares it for queue pairs.
    pub fn open(
        device: Box<dyn PciDevice>,
        clock: Clock,
        options: ControllerOptions,
    ) -> Result<Controller, DriverError> {
        let mut cold = Cold::new(device, clock.clone(), options.clone())?;
        cold.enable()?;
        let facts = cold.identify()?;
        cold.prepare(&facts)?;
        let epoch = Arc::clone(&cold.epoch);
        Ok(Controller { shared: Arc::new(Shared { cold: Mutex::new(cold), epoch, clock, facts, options }) })
    }

    /// What the controller said about itself.
    pub fn facts(&self) -> &Facts {
        &self.shared.facts
    }

    /// The active namespaces, as they are now.
    pub fn namespaces(&self) -> Result<Vec<Namespace>, DriverError> {
        namespace::all(&self.shared)
    }

    /// One active namespace, as it is now.
    pub fn namespace(&self, nsid: u32) -> Result<Namespace, DriverError> {
        namespace::one(&self.shared, nsid)
    }

    /// Makes a pair of queues. It may be moved to the thread that uses it.
    pub fn queue_pair(&self, options: QueueOptions) -> Result<QueuePair, DriverError> {
        QueuePair::create(Arc::clone(&self.shared), options)
    }

    /// Makes memory of the caller reachable for the device, and returns its bus address. It stays mapped, and has to stay
    /// alive, until it is unmapped or the controller is gone.
    pub fn map(&self, memory: &SharedBytes) -> Result<u64, DriverError> {
        Ok(self.shared.lock().device.map(memory)?)
    }

    /// Takes back what [`Controller::map`] gave; no command that names it is in flight any more.
    pub fn unmap(&self, address: u64) -> Result<(), DriverError> {
        Ok(self.shared.lock().device.unmap(address)?)
    }

    /// Resets the controller, also one that was given up. Commands in flight are sent again by their queue pairs.
    pub fn reset(&self) -> Result<(), DriverError> {
        let mut cold = self.shared.lock();
        cold.dead = None;
        cold.recover(Fault::Requested)
    }

    /// The resets so far with their reasons, oldest first; old ones are forgotten when there are many.
    pub fn recoveries(&self) -> Vec<Recovery> {
        self.shared.lock().recoveries.iter().cloned().collect()
    }

    /// How many times the controller was reset.
    pub fn resets(&self) -> u32 {
        self.shared.epoch.load(Ordering::Acquire)
    }

    /// Whether the controller was given up: its device is gone, or could not be reset.
    pub fn is_given_up(&self) -> bool {
        self.shared.lock().alive().is_err()
    }

    /// Shuts the controller down in the way that keeps its caches (CC.SHN, Base, section 7.6.2), and gives it up.
    pub fn shut_down(&self) -> Result<(), DriverError> {
        self.shared.lock().shut_down(&self.shared.facts)
    }
}
