//! The driver of this project, with a device behind vfio-user.

use std::path::Path;
use std::sync::atomic::Ordering;

use iolab_clock::Clock;
use iolab_memory::SharedBytes;
use iolab_nvme_driver::{
    CommandOutcome, Controller, ControllerOptions, DataWindow, Namespace, QueueOptions, QueuePair, Submit, WaitPolicy,
};
use iolab_vfio_user::VfioUser;

/// The longest time for one command, ns; after that the device counts as hung.
const PATIENCE_NS: u64 = 60_000_000_000;

pub(crate) struct Friend {
    // Declared first, so that it is dropped before the controller.
    pair: QueuePair,
    namespace: Namespace,
    buffer: SharedBytes,
    address: u64,
    controller: Controller,
}

impl Friend {
    pub(crate) fn connect(path: &Path, wait: WaitPolicy) -> Friend {
        let options = ControllerOptions { shadow_doorbells: false, ..ControllerOptions::default() };
        let device = VfioUser::connect(path).unwrap();
        let controller = Controller::open(Box::new(device), Clock::best().0, options).unwrap();
        let namespace = controller.namespace(1).unwrap();
        let buffer = SharedBytes::memfd("iolab-friend", 4096).unwrap();
        let address = controller.map(&buffer).unwrap();
        let options = QueueOptions { timeout_ns: PATIENCE_NS, wait, ..QueueOptions::with_slots(2) };
        let pair = controller.queue_pair(options).unwrap();
        Friend { pair, namespace, buffer, address, controller }
    }

    pub(crate) fn controller(&self) -> &Controller {
        &self.controller
    }

    pub(crate) fn buffer_address(&self) -> u64 {
        self.address
    }

    /// Writes a block to the device and reads it back.
    pub(crate) fn reads_what_it_writes(&mut self, value: u64) {
        let (namespace, data) = (self.namespace, DataWindow::new(self.address, 512));
        let lba = value % namespace.blocks();
        self.buffer.store_u64(0, value, Ordering::Release);
        assert_eq!(self.pair.write(0, &namespace, lba, 1, data), Submit::Accepted);
        assert_eq!(self.outcome(), CommandOutcome::Done);
        self.buffer.store_u64(0, !value, Ordering::Release);
        assert_eq!(self.reads(lba), CommandOutcome::Done);
        assert_eq!(self.buffer.load_u64(0, Ordering::Acquire), value);
    }

    pub(crate) fn reads(&mut self, lba: u64) -> CommandOutcome {
        let (namespace, data) = (self.namespace, DataWindow::new(self.address, 512));
        assert_eq!(self.pair.read(1, &namespace, lba, 1, data), Submit::Accepted);
        self.outcome()
    }

    fn outcome(&mut self) -> CommandOutcome {
        self.pair.flush();
        assert!(self.pair.wait(PATIENCE_NS).unwrap(), "the device does not answer");
        let mut outcome = None;
        assert_eq!(self.pair.reap(2, |completion| outcome = Some(completion.outcome)).unwrap(), 1);
        outcome.unwrap()
    }
}
