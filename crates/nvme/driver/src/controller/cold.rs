//! The state behind the controller's mutex, and how it is reset or given up.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use iolab_clock::Clock;
use iolab_nvme_spec::registers::Capabilities;

use super::event_types::AsyncEvent;
use crate::admin_queue::AdminQueue;
use crate::error::{DriverError, ResetCause};
use crate::options::ControllerOptions;
use crate::transport::{QueueLife, Transport};

/// Time between two polls of the device.
const PAUSE: Duration = Duration::from_micros(20);
/// How many consecutive resets or connections may fail before the controller is given up.
pub(crate) const ATTEMPTS: usize = 8;
/// How many resets are remembered.
const RECOVERIES_KEPT: usize = 256;

/// A reset of the controller and its reason.
#[derive(Debug, Clone)]
pub struct ControllerReset {
    /// The reason.
    pub fault: ResetCause,
    /// How it ended: `None` if the controller works again.
    pub failure: Option<DriverError>,
}

/// The identifiers of existing queue pairs; identifier 1 comes first.
#[derive(Debug, Default)]
pub(crate) struct QueueIds {
    taken: Vec<bool>,
}

impl QueueIds {
    pub(crate) fn free(&mut self, id: u16) {
        if let Some(taken) = self.taken.get_mut(usize::from(id) - 1) {
            *taken = false;
        }
    }
}

/// The configuration that a controller gets each time it is enabled.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Preparation {
    pub(super) event_requests: usize,
    pub(super) events: u32,
    /// I/O queue pairs that the device has granted.
    pub(crate) granted: u16,
}

/// The transport, the admin commands and bookkeeping.
pub(crate) struct Cold<T: Transport> {
    pub(crate) transport: T,
    pub(crate) clock: Clock,
    pub(crate) options: ControllerOptions,
    pub(crate) capabilities: Capabilities,
    pub(crate) page_bytes: u64,
    pub(crate) admin: AdminQueue,
    pub(crate) epoch: Arc<AtomicU32>,
    /// Why the controller was given up.
    pub(crate) dead: Option<Arc<DriverError>>,
    pub(crate) recoveries: VecDeque<ControllerReset>,
    pub(crate) queue_ids: QueueIds,
    /// Events that queue pairs have noticed.
    pub(super) noticed: VecDeque<AsyncEvent>,
    /// What is needed to prepare the controller again after a reset.
    pub(crate) preparation: Preparation,
}

/// Whether a failed reset can be retried.
#[derive(Debug)]
enum Failed {
    /// Another attempt may succeed.
    Once(DriverError),
    /// The transport has given up.
    ForGood(DriverError),
}

impl<T: Transport> fmt::Debug for Cold<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cold")
            .field("capabilities", &self.capabilities)
            .field("dead", &self.dead)
            .finish_non_exhaustive()
    }
}

impl<T: Transport> Cold<T> {
    /// Reads the controller's capabilities without changing anything.
    pub(crate) fn new(mut transport: T, clock: Clock, options: ControllerOptions) -> Result<Cold<T>, DriverError> {
        let capabilities = transport.capabilities()?;
        if capabilities.max_queue_entries() < 2 {
            return Err(DriverError::Unsupported("its queues have only one entry, so none is usable".into()));
        }
        Ok(Cold {
            transport,
            clock,
            options,
            capabilities,
            page_bytes: capabilities.min_page_bytes(),
            admin: AdminQueue::new(),
            epoch: Arc::new(AtomicU32::new(0)),
            dead: None,
            recoveries: VecDeque::new(),
            queue_ids: QueueIds::default(),
            noticed: VecDeque::new(),
            preparation: Preparation::default(),
        })
    }

    /// Returns an error if the controller was given up.
    pub(crate) fn alive(&self) -> Result<(), DriverError> {
        match &self.dead {
            Some(reason) => Err(DriverError::Dead(Arc::clone(reason))),
            None => Ok(()),
        }
    }

    /// Reserves an identifier for a queue pair.
    pub(crate) fn take_queue_id(&mut self) -> Result<u16, DriverError> {
        let granted = usize::from(self.preparation.granted);
        let taken = &mut self.queue_ids.taken;
        taken.resize(granted.max(taken.len()), false);
        let Some(free) = taken[..granted].iter().position(|taken| !taken) else {
            let what = format!("all {granted} queue pairs that the controller granted are in use");
            return Err(DriverError::BadRequest(what));
        };
        taken[free] = true;
        Ok(free as u16 + 1)
    }

    /// Takes a queue back. `is_unused` says that the controller no longer accesses its memory.
    pub(crate) fn retire(&mut self, queue: &mut T::Queue, is_unused: bool) {
        self.transport.retire_queue(queue, is_unused);
        if is_unused {
            self.queue_ids.free(queue.id());
        }
    }

    /// Lets the device work while the driver waits for it.
    pub(crate) fn pause(&self) {
        self.transport.pause(PAUSE);
        // This has an effect only on a simulated clock. Without it that clock would stand still,
        // and nothing would time out.
        self.clock.advance(PAUSE.as_nanos() as u64);
    }

    /// Resets the controller and prepares it as before. If that fails, the controller is dead, and
    /// queue pairs notice it in the same way as a reset.
    pub(crate) fn recover(&mut self, fault: ResetCause) -> Result<(), DriverError> {
        // This comes first: from here on, queue pairs ignore completions from before the reset.
        self.epoch.fetch_add(1, Ordering::AcqRel);
        let outcome = self.restart_patiently();
        if self.recoveries.len() == RECOVERIES_KEPT {
            self.recoveries.pop_front();
        }
        self.recoveries.push_back(ControllerReset { fault, failure: outcome.as_ref().err().cloned() });
        if let Err(error) = &outcome {
            self.dead = Some(Arc::new(error.clone()));
        }
        outcome
    }

    /// Restarts the controller, and retries after transient failures: twice after a lost answer,
    /// and more often when a new connection breaks again. A device that is gone stays gone. A
    /// transport that reconnects by itself has already tried for as long as it may, so it is not
    /// retried.
    fn restart_patiently(&mut self) -> Result<(), DriverError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.restart() {
                Ok(()) => return Ok(()),
                Err(Failed::Once(DriverError::Disconnected(_))) if attempts < ATTEMPTS => {}
                Err(Failed::Once(error)) if attempts < 2 && !matches!(error, DriverError::Gone { .. }) => {}
                Err(Failed::ForGood(error) | Failed::Once(error)) => return Err(error),
            }
        }
    }

    fn restart(&mut self) -> Result<(), Failed> {
        if let Err(error) = self.disable() {
            if matches!(error, DriverError::Gone { .. }) {
                return Err(Failed::Once(error));
            }
            // A controller that cannot be disabled may still react to the transport's reset.
            match self.transport.reset() {
                Ok(()) => {}
                Err(lasting @ (DriverError::Disconnected(_) | DriverError::Refused(_))) => {
                    return Err(Failed::ForGood(lasting));
                }
                Err(_) => return Err(Failed::Once(error)),
            }
            self.disable().map_err(Failed::Once)?;
        }
        self.enable().map_err(Failed::Once)?;
        self.prepare_again().map_err(Failed::Once)
    }

    /// Checks the controller's status. Resets it if it has failed or its connection broke, and
    /// gives it up if it is gone.
    pub(crate) fn check_status(&mut self) -> Result<(), DriverError> {
        match self.status() {
            Ok(()) => Ok(()),
            Err(DriverError::Fatal) => self.recover(ResetCause::FatalStatus),
            Err(DriverError::Disconnected(_)) => self.recover(ResetCause::Disconnected),
            Err(error) => {
                self.give_up(ResetCause::FatalStatus, error.clone());
                Err(error)
            }
        }
    }

    /// Gives the controller up without trying to reset it.
    pub(crate) fn give_up(&mut self, fault: ResetCause, error: DriverError) {
        if self.dead.is_none() {
            self.epoch.fetch_add(1, Ordering::AcqRel);
            self.recoveries.push_back(ControllerReset { fault, failure: Some(error.clone()) });
            self.dead = Some(Arc::new(error));
        }
    }
}

impl<T: Transport> Drop for Cold<T> {
    fn drop(&mut self) {
        // If the controller cannot be disabled, its memory stays mapped, because the device may
        // still access it.
        if self.disable().is_ok() {
            self.transport.release();
        }
    }
}
