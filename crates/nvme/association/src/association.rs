//! State shared by the connections of one controller.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use iolab_clock::Clock;
use iolab_nvme_driver::DriverError;

use crate::address::TargetAddress;

/// The association of a host with a controller.
#[derive(Debug)]
pub struct Association {
    /// The controller's subsystem, and the host.
    pub address: TargetAddress,
    /// The clock.
    pub clock: Clock,
    is_broken: AtomicBool,
    state: Mutex<State>,
    /// CNTLID.
    controller: AtomicU32,
    /// Bytes of data in the capsule of an I/O command.
    capsule_data: AtomicU32,
}

#[derive(Debug, Default)]
struct State {
    /// How many times the connections were reestablished.
    generation: u32,
    /// Why one of the connections is broken.
    reason: String,
}

impl Association {
    /// An association without connections.
    pub fn new(address: TargetAddress, clock: Clock) -> Association {
        Association {
            address,
            clock,
            is_broken: AtomicBool::new(false),
            state: Mutex::default(),
            controller: AtomicU32::new(0),
            capsule_data: AtomicU32::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current generation, to which new connections belong.
    #[cold]
    pub fn generation(&self) -> u32 {
        self.state().generation
    }

    /// Records that a connection of this generation broke, and keeps the first reason. Connections
    /// of an earlier generation break because the controller was reset; they are ignored.
    #[cold]
    pub fn report(&self, generation: u32, reason: &str) {
        let mut state = self.state();
        if generation == state.generation && !self.is_broken.swap(true, Ordering::AcqRel) {
            reason.clone_into(&mut state.reason);
        }
    }

    /// Returns an error if any connection is broken.
    pub fn intact(&self) -> Result<(), DriverError> {
        if self.is_broken.load(Ordering::Acquire) { Err(self.broken()) } else { Ok(()) }
    }

    /// The reason why a connection is broken.
    pub fn broken(&self) -> DriverError {
        DriverError::Disconnected(self.state().reason.clone())
    }

    /// Ignores breaks of the existing connections from now on. Returns the generation of new
    /// connections.
    pub fn retire(&self) -> u32 {
        let mut state = self.state();
        state.generation = state.generation.wrapping_add(1);
        state.generation
    }

    /// Records that the connections are being reestablished.
    pub fn mend(&self) {
        self.retire();
        self.is_broken.store(false, Ordering::Release);
    }

    /// The controller's identifier.
    pub fn controller(&self) -> u16 {
        self.controller.load(Ordering::Acquire) as u16
    }

    /// Records that the admin queue was connected to this controller.
    pub fn set_controller(&self, controller: u16) {
        self.controller.store(controller.into(), Ordering::Release);
    }

    /// Bytes of data that fit into the capsule of an I/O command.
    pub fn capsule_data(&self) -> u32 {
        self.capsule_data.load(Ordering::Acquire)
    }

    /// Records how many bytes the controller accepts.
    pub fn set_capsule_data(&self, bytes: u32) {
        self.capsule_data.store(bytes, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_nvme_fabrics::QualifiedName;

    #[test]
    fn a_connection_that_is_no_longer_used_breaks_nothing() {
        let name = || QualifiedName::new("nqn.2014-08.org.nvmexpress:any").unwrap();
        let address = TargetAddress::new("127.0.0.1:1".parse().unwrap(), name(), name(), [0; 16]);
        let link = Association::new(address, Clock::simulated(0));
        let before = link.generation();
        link.report(before, "first");
        link.report(before, "second");
        assert_eq!(link.intact().unwrap_err().to_string(), "no connection to the controller: first");
        link.mend();
        link.report(before, "late");
        assert!(link.intact().is_ok());
        let outlived = link.generation();
        assert_eq!(link.retire(), link.generation());
        link.report(outlived, "late, too");
        assert!(link.intact().is_ok());
        link.report(link.generation(), "again");
        assert_eq!(link.intact().unwrap_err().to_string(), "no connection to the controller: again");
    }
}
