//! A well-behaved driver, which notices if it is not served.

use std::path::Path;
use std::sync::atomic::Ordering;

use iolab_clock::Clock;
use iolab_device_link::Link;
use iolab_memory::SharedBytes;
use iolab_nvme_driver::{
    CommandOutcome, Controller, ControllerOptions, DataWindow, Namespace, QueueOptions, QueuePair, Submit,
};

/// The longest time for one command, ns; after that the device counts as hung.
const PATIENCE_NS: u64 = 60_000_000_000;

pub(crate) struct Friend {
    // Declared first, so that it is dropped before the controller.
    pair: QueuePair,
    namespace: Namespace,
    buffer: SharedBytes,
    address: u64,
    _controller: Controller,
}

impl Friend {
    pub(crate) fn connect(path: &Path) -> Friend {
        let options = ControllerOptions { shadow_doorbells: false, ..ControllerOptions::default() };
        let link = Link::connect(path).unwrap();
        let controller = Controller::open(Box::new(link), Clock::best().0, options).unwrap();
        let namespace = controller.namespace(1).unwrap();
        let buffer = SharedBytes::memfd("iolab-friend", 4096).unwrap();
        let address = controller.map(&buffer).unwrap();
        let options = QueueOptions { timeout_ns: PATIENCE_NS, ..QueueOptions::with_slots(2) };
        let pair = controller.queue_pair(options).unwrap();
        Friend { pair, namespace, buffer, address, _controller: controller }
    }

    /// Writes a block to the device and reads it back.
    pub(crate) fn reads_what_it_writes(&mut self, value: u64) {
        let (namespace, data) = (self.namespace, DataWindow::new(self.address, 512));
        let lba = value % namespace.blocks();
        self.buffer.store_u64(0, value, Ordering::Release);
        assert_eq!(self.pair.write(0, &namespace, lba, 1, data), Submit::Accepted);
        self.done();
        self.buffer.store_u64(0, !value, Ordering::Release);
        assert_eq!(self.pair.read(1, &namespace, lba, 1, data), Submit::Accepted);
        self.done();
        assert_eq!(self.buffer.load_u64(0, Ordering::Acquire), value);
    }

    fn done(&mut self) {
        self.pair.flush();
        assert!(self.pair.wait(PATIENCE_NS).unwrap(), "the device does not answer");
        let ended = self.pair.reap(2, |completion| assert_eq!(completion.outcome, CommandOutcome::Done));
        assert_eq!(ended.unwrap(), 1);
    }
}
