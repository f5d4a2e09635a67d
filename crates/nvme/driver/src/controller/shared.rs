//! State that the handles of a controller and its queue pairs share.
//!
//! The state that only rare operations need is behind one mutex ([`Cold`]). Queue pairs read the
//! epoch, the facts and the options without it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolab_clock::Clock;

use super::cold::Cold;
use super::facts::ControllerFacts;
use crate::error::{DriverError, ResetCause};
use crate::options::ControllerOptions;
use crate::transport::Transport;

/// State that handles and queue pairs share.
#[derive(Debug)]
pub(crate) struct Shared<T: Transport> {
    pub(super) cold: Mutex<Cold<T>>,
    /// Changes with every reset of the controller.
    pub(crate) epoch: Arc<AtomicU32>,
    pub(crate) clock: Clock,
    pub(crate) facts: ControllerFacts,
    pub(crate) options: ControllerOptions,
    /// Looks for events, for queue pairs; returns whether a namespace is now reached otherwise.
    pub(crate) notice_events: fn(&Arc<Shared<T>>) -> bool,
}

impl<T: Transport> Shared<T> {
    /// Locks the cold part. If a thread panicked while it held the lock, the controller may be in
    /// an unknown state; in that case the next time-out resets it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Cold<T>> {
        self.cold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets the controller, unless another thread has reset it since `seen_epoch`.
    pub(crate) fn recover(&self, seen_epoch: u32, fault: ResetCause) -> Result<(), DriverError> {
        let mut cold = self.lock();
        cold.alive()?;
        if self.epoch.load(Ordering::Acquire) != seen_epoch {
            return Ok(());
        }
        cold.recover(fault)
    }
}
