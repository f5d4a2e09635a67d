//! What the connections of one controller share.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use iolab_clock::Clock;
use iolab_nvme_driver::DriverError;

use super::address::TcpTargetAddress;

/// The association of a host with a controller.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) address: TcpTargetAddress,
    pub(super) clock: Clock,
    is_broken: AtomicBool,
    reason: Mutex<String>,
    /// CNTLID.
    controller: AtomicU32,
    /// Bytes of data in the capsule of an I/O command.
    capsule_data: AtomicU32,
}

impl Link {
    pub(super) fn new(address: TcpTargetAddress, clock: Clock) -> Link {
        Link {
            address,
            clock,
            is_broken: AtomicBool::new(false),
            reason: Mutex::default(),
            controller: AtomicU32::new(0),
            capsule_data: AtomicU32::new(0),
        }
    }

    /// One of the connections broke. The first reason is kept.
    #[cold]
    pub(super) fn report(&self, reason: &str) {
        let mut kept = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_broken.swap(true, Ordering::AcqRel) {
            reason.clone_into(&mut kept);
        }
    }

    /// An error if any connection is broken.
    pub(super) fn intact(&self) -> Result<(), DriverError> {
        if self.is_broken.load(Ordering::Acquire) { Err(self.broken()) } else { Ok(()) }
    }

    /// Why.
    pub(super) fn broken(&self) -> DriverError {
        DriverError::Disconnected(self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// The connections are made anew.
    pub(super) fn mend(&self) {
        self.is_broken.store(false, Ordering::Release);
    }

    pub(super) fn controller(&self) -> u16 {
        self.controller.load(Ordering::Acquire) as u16
    }

    pub(super) fn set_controller(&self, controller: u16) {
        self.controller.store(controller.into(), Ordering::Release);
    }

    pub(super) fn capsule_data(&self) -> u32 {
        self.capsule_data.load(Ordering::Acquire)
    }

    pub(super) fn set_capsule_data(&self, bytes: u32) {
        self.capsule_data.store(bytes, Ordering::Release);
    }
}
