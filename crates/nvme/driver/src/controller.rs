//! The controller: opening, identifying, querying, resetting and shutting it down. Not on the hot
//! path. All threads share it behind one mutex.
//!
//! A thread holds the mutex only for single steps (send a command, poll for answers), so several
//! threads may have admin commands outstanding. A reset holds the mutex from beginning to end, so
//! the next thread that locks it finds a controller that works or is dead. A reset first changes
//! the epoch. Queue pairs notice the new epoch and then create their queues again (see
//! `queue_pair/recovery.rs`).

mod access;
mod admin;
mod admin_command;
mod cold;
mod enable;
mod event_types;
mod events;
mod facts;
mod shared;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use iolab_clock::Clock;
use iolab_pci_device::{PciDevice, SharedBytes};

pub(crate) use admin_command::{AdminCommand, Payload};
pub use cold::ControllerReset;
pub(crate) use cold::{ATTEMPTS, Cold};
pub use event_types::{AsyncEvent, EventDetail};
pub use facts::ControllerFacts;
pub(crate) use shared::Shared;

use crate::error::{DriverError, ResetCause};
use crate::namespace::{self, Namespace};
use crate::options::{ControllerOptions, QueueOptions};
use crate::pcie::Pcie;
use crate::queue_pair::QueuePair;
use crate::transport::Transport;

/// An enabled controller. Clones are handles on the same controller. It is disabled when the last
/// handle and the last queue pair are dropped.
#[derive(Debug)]
pub struct Controller<T: Transport = Pcie> {
    shared: Arc<Shared<T>>,
}

impl<T: Transport> Clone for Controller<T> {
    fn clone(&self) -> Controller<T> {
        Controller { shared: Arc::clone(&self.shared) }
    }
}

impl Controller {
    /// Enables the controller on a PCI function, identifies it and prepares it for queue pairs.
    pub fn open(
        device: Box<dyn PciDevice>,
        clock: Clock,
        options: ControllerOptions,
    ) -> Result<Controller, DriverError> {
        let transport = Pcie::new(device, options.shadow_doorbells)?;
        Controller::connect(transport, clock, options)
    }
}

impl<T: Transport> Controller<T> {
    /// Enables the controller behind `transport`, identifies it and prepares it for queue pairs.
    pub fn connect(transport: T, clock: Clock, options: ControllerOptions) -> Result<Controller<T>, DriverError> {
        let mut cold = Cold::new(transport, clock.clone(), options.clone())?;
        cold.enable()?;
        let facts = cold.identify()?;
        cold.prepare(&facts)?;
        let epoch = Arc::clone(&cold.epoch);
        let notice_events = |shared: &Arc<Shared<T>>| Controller { shared: Arc::clone(shared) }.notice_events();
        let cold = Mutex::new(cold);
        Ok(Controller { shared: Arc::new(Shared { cold, epoch, clock, facts, options, notice_events }) })
    }

    /// The facts that the controller reported when it was identified.
    pub fn facts(&self) -> &ControllerFacts {
        &self.shared.facts
    }

    /// All active namespaces in their current state.
    pub fn namespaces(&self) -> Result<Vec<Namespace>, DriverError> {
        namespace::all(&self.shared)
    }

    /// One active namespace in its current state.
    pub fn namespace(&self, nsid: u32) -> Result<Namespace, DriverError> {
        namespace::one(&self.shared, nsid)
    }

    /// Creates a queue pair. It may be moved to the thread that uses it.
    pub fn queue_pair(&self, options: QueueOptions) -> Result<QueuePair<T>, DriverError> {
        QueuePair::create(Arc::clone(&self.shared), options)
    }

    /// Maps memory of the caller for the device and returns its address. The memory stays mapped,
    /// and must stay alive, until it is unmapped or the controller is dropped.
    pub fn map(&self, memory: &SharedBytes) -> Result<u64, DriverError> {
        Ok(self.shared.lock().transport.map(memory)?)
    }

    /// Unmaps memory that [`Controller::map`] mapped. No command that uses it may be in flight.
    pub fn unmap(&self, address: u64) -> Result<(), DriverError> {
        Ok(self.shared.lock().transport.unmap(address)?)
    }

    /// Resets the controller, even if it was given up. Queue pairs resend their commands in flight.
    pub fn reset(&self) -> Result<(), DriverError> {
        let mut cold = self.shared.lock();
        cold.dead = None;
        cold.recover(ResetCause::Requested)
    }

    /// The resets so far with their reasons, oldest first. Only the newest ones are kept.
    pub fn recoveries(&self) -> Vec<ControllerReset> {
        self.shared.lock().recoveries.iter().cloned().collect()
    }

    /// How many times the controller was reset.
    pub fn resets(&self) -> u32 {
        self.shared.epoch.load(Ordering::Acquire)
    }

    /// Whether the controller was given up, because its device is gone or could not be reset.
    pub fn is_given_up(&self) -> bool {
        self.shared.lock().alive().is_err()
    }

    /// Shuts the controller down normally, which preserves the contents of its caches (CC.SHN,
    /// Base, section 7.6.2), and gives it up.
    pub fn shut_down(&self) -> Result<(), DriverError> {
        self.shared.lock().shut_down(&self.shared.facts)
    }
}
