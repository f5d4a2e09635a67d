//! How controllers reach the namespaces (Asymmetric Namespace Access): the state of each port, and
//! how often it has changed.
//!
//! All namespaces are one group, so a port has one state. All controllers of a port share it.
//! Commands read it without a lock.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use iolab_nvme_spec::Status;
use iolab_nvme_spec::log::AnaState;

/// A way by which hosts reach the drive, with a state of its own.
#[derive(Debug)]
pub struct SubsystemPort {
    name: String,
    state: AtomicU8,
    changes: AtomicU64,
}

impl SubsystemPort {
    pub(crate) fn new(name: &str, state: AnaState) -> SubsystemPort {
        SubsystemPort { name: name.to_owned(), state: AtomicU8::new(state.0), changes: AtomicU64::new(0) }
    }

    /// How users name it: the address at which hosts connect.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn state(&self) -> AnaState {
        AnaState(self.state.load(Ordering::Acquire))
    }

    /// The number of changes so far, for the log page.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Sets the state; returns `false` if it was the state already.
    pub(crate) fn set(&self, state: AnaState) -> bool {
        let is_new = self.state.swap(state.0, Ordering::AcqRel) != state.0;
        if is_new {
            self.changes.fetch_add(1, Ordering::AcqRel);
        }
        is_new
    }

    /// The status with which I/O commands are refused now, if they are.
    pub(crate) fn refusal(&self) -> Option<Status> {
        match self.state() {
            AnaState::OPTIMIZED | AnaState::NON_OPTIMIZED => None,
            AnaState::INACCESSIBLE => Some(Status::ANA_INACCESSIBLE),
            AnaState::PERSISTENT_LOSS => Some(Status::ANA_PERSISTENT_LOSS),
            _ => Some(Status::ANA_TRANSITION),
        }
    }
}

/// The state with this name: `optimized`, `persistent-loss`, …
pub fn access_state(text: &str) -> Option<AnaState> {
    AnaState::NAMED.iter().copied().find(|state| state.to_string().replace(' ', "-") == text)
}
