//! A target and a driver in one process, over loopback.

use std::net::SocketAddr;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_memory::SharedBytes;
use iolab_nvme_association::TargetAddress;
use iolab_nvme_driver::{
    CommandOutcome, Completion, Controller, ControllerOptions, DataWindow, DriverError, Namespace, QueueOptions,
    QueuePair, Submit, WaitPolicy,
};
use iolab_nvme_fabrics::{Digests, QualifiedName};
use iolab_nvme_tcp::{TargetOptions, Tcp, TcpTarget};
use iolab_virtual_ssd::{Config, Subsystem};

pub(crate) const DATA_BYTES: usize = 2 << 20;
pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn name(text: &str) -> QualifiedName {
    QualifiedName::new(&format!("nqn.2014-08.org.nvmexpress:{text}")).unwrap()
}

pub(crate) fn options() -> TargetOptions {
    TargetOptions { spin_ns: 0, ..TargetOptions::new(name("drive")) }
}

pub(crate) fn drive(config: &str) -> Arc<Subsystem> {
    Subsystem::new(Config::parse(config).unwrap()).unwrap()
}

pub(crate) fn serve(drive: &Arc<Subsystem>, options: TargetOptions) -> TcpTarget {
    serve_at(drive, options, "127.0.0.1:0".parse().unwrap())
}

pub(crate) fn serve_at(drive: &Arc<Subsystem>, options: TargetOptions, at: SocketAddr) -> TcpTarget {
    TcpTarget::serve(drive, at, &Clock::monotonic(), options).unwrap()
}

pub(crate) fn address(at: SocketAddr, digests: Digests) -> TargetAddress {
    let mut address = TargetAddress::new(at, name("drive"), name("host"), [7; 16]);
    address.digests = digests;
    address
}

pub(crate) fn connect(address: TargetAddress) -> Result<Controller<Tcp>, DriverError> {
    let clock = Clock::monotonic();
    let tcp = Tcp::connect(address, &clock)?;
    let options = ControllerOptions { admin_timeout_ns: 2 * SECOND, ..ControllerOptions::default() };
    Controller::connect(tcp, clock, options)
}

/// A queue pair with memory for its data.
pub(crate) struct Rig {
    pub(crate) controller: Controller<Tcp>,
    pub(crate) queue: QueuePair<Tcp>,
    pub(crate) namespace: Namespace,
    pub(crate) memory: SharedBytes,
    address: u64,
}

impl Rig {
    pub(crate) fn new(address: TargetAddress) -> Rig {
        Rig::of(connect(address).unwrap(), 32)
    }

    pub(crate) fn of(controller: Controller<Tcp>, slots: u16) -> Rig {
        Rig::try_of(controller, slots).unwrap()
    }

    /// Returns an error if the link breaks meanwhile.
    pub(crate) fn try_of(controller: Controller<Tcp>, slots: u16) -> Result<Rig, DriverError> {
        Rig::with_timeout(controller, slots, 2 * SECOND)
    }

    /// A command that takes longer than this is given up.
    pub(crate) fn with_timeout(controller: Controller<Tcp>, slots: u16, timeout_ns: u64) -> Result<Rig, DriverError> {
        // Many tests wait for answers that do not come; others use the processor meanwhile.
        let wait = WaitPolicy::Adaptive { vector: 0, spin_ns: SECOND / 1000 };
        let options = QueueOptions { timeout_ns, wait, reaps_per_check: 1, ..QueueOptions::with_slots(slots) };
        let queue = controller.queue_pair(options)?;
        let namespace = controller.namespace(1)?;
        let memory = SharedBytes::anonymous(DATA_BYTES).unwrap();
        let address = controller.map(&memory)?;
        Ok(Rig { controller, queue, namespace, memory, address })
    }

    pub(crate) fn data(&self, offset: usize, bytes: u32) -> DataWindow {
        DataWindow::new(self.address + offset as u64, bytes)
    }

    /// Waits for `count` completed commands.
    pub(crate) fn ended(&mut self, count: usize) -> Vec<Completion> {
        self.queue.flush();
        let mut ended = Vec::new();
        for _ in 0..3000 {
            if self.queue.wait(SECOND / 100).is_err() {
                break;
            }
            // An error means that the controller was given up, after everything was returned.
            if self.queue.reap(count - ended.len(), |completion| ended.push(completion)).is_err()
                || ended.len() == count
            {
                break;
            }
        }
        assert_eq!(ended.len(), count, "commands are lost: {:?}", self.controller.recoveries());
        ended
    }

    pub(crate) fn outcome(&mut self, submit: Submit) -> CommandOutcome {
        assert_eq!(submit, Submit::Accepted);
        self.ended(1)[0].outcome
    }

    pub(crate) fn write(&mut self, lba: u64, blocks: u32) -> CommandOutcome {
        let data = self.data(0, blocks * self.namespace.block_bytes());
        let submit = self.queue.write(0, &self.namespace, lba, blocks, data);
        self.outcome(submit)
    }

    /// Reads into the second half of the memory.
    pub(crate) fn read(&mut self, lba: u64, blocks: u32) -> (CommandOutcome, Vec<u8>) {
        let bytes = blocks * self.namespace.block_bytes();
        self.memory.fill(DATA_BYTES / 2, bytes as usize, 0xee);
        let data = self.data(DATA_BYTES / 2, bytes);
        let submit = self.queue.read(1, &self.namespace, lba, blocks, data);
        let outcome = self.outcome(submit);
        let mut data = vec![0; bytes as usize];
        self.memory.read(DATA_BYTES / 2, &mut data);
        (outcome, data)
    }

    /// Fills the first half of the memory with bytes that depend on their position.
    pub(crate) fn fill(&self, seed: u8) -> Vec<u8> {
        // The numbers repeat after 256 blocks: unoptimised, copying takes far less time than making
        // them.
        let period: Vec<u8> = (0..256 << 9).map(|at: usize| (at * 7 + (at >> 9)) as u8 ^ seed).collect();
        let data = period.repeat(DATA_BYTES / 2 / period.len());
        self.memory.write(0, &data);
        data
    }
}
