//! The driver over a second transport, which has no rings, doorbells or registers in memory.
//! Contents and outcomes of commands must not depend on the transport.

mod transport;

use std::sync::Arc;

use iolab_clock::Clock;
use iolab_nvme_driver::*;
use iolab_nvme_spec::zone::ReportedZones;
use iolab_pci_device::SharedBytes;
use iolab_virtual_ssd::capsules::Capsules;
use iolab_virtual_ssd::{Config, Subsystem};

use transport::{CapsuleTransport, Cutter};

const SECOND: u64 = 1_000_000_000;
const DATA_BYTES: usize = 256 << 10;

struct Rig {
    queue: QueuePair<CapsuleTransport>,
    controller: Controller<CapsuleTransport>,
    namespace: Namespace,
    memory: SharedBytes,
    address: u64,
    cutter: Cutter,
}

impl Rig {
    fn new(config: &str) -> Rig {
        let drive: Arc<Subsystem> = Subsystem::new(Config::parse(config).unwrap()).unwrap();
        let clock = Clock::simulated(1_000_000);
        let transport = CapsuleTransport::new(Capsules::new(&drive).unwrap(), clock.clone());
        let cutter = transport.cutter();
        let controller = Controller::connect(transport, clock, ControllerOptions::default()).unwrap();
        let namespace = controller.namespace(1).unwrap();
        let memory = SharedBytes::anonymous(DATA_BYTES).unwrap();
        let address = controller.map(&memory).unwrap();
        let options = QueueOptions { timeout_ns: SECOND, reaps_per_check: 1, ..QueueOptions::with_slots(8) };
        let queue = controller.queue_pair(options).unwrap();
        Rig { queue, controller, namespace, memory, address, cutter }
    }

    fn data(&self, offset: usize, bytes: u32) -> DataWindow {
        DataWindow::new(self.address + offset as u64, bytes)
    }

    /// Waits for one command.
    fn ended(&mut self, submit: Submit) -> Completion {
        assert_eq!(submit, Submit::Accepted);
        self.queue.flush();
        let mut ended = None;
        for _ in 0..1000 {
            self.queue.wait(SECOND / 10).unwrap();
            self.queue.reap(1, |completion| ended = Some(completion)).unwrap();
            if let Some(ended) = ended {
                return ended;
            }
        }
        panic!("a command is not answered");
    }

    fn done(&mut self, submit: Submit) -> u64 {
        let ended = self.ended(submit);
        assert_eq!(ended.outcome, CommandOutcome::Done);
        ended.result
    }

    fn write(&mut self, slot: u16, lba: u64, blocks: u32) -> Submit {
        self.queue.write(slot, &self.namespace, lba, blocks, self.data(0, blocks * self.namespace.block_bytes()))
    }

    /// Reads blocks to an unused part of the buffer, and returns the first and the last byte.
    fn read(&mut self, lba: u64, blocks: u32) -> (u8, u8) {
        let bytes = blocks * self.namespace.block_bytes();
        let submit = self.queue.read(3, &self.namespace, lba, blocks, self.data(DATA_BYTES / 2, bytes));
        self.done(submit);
        let mut data = vec![0; bytes as usize];
        self.memory.read(DATA_BYTES / 2, &mut data);
        (data[0], data[bytes as usize - 1])
    }
}

#[test]
fn a_drive_is_identified_written_and_read() {
    let mut rig = Rig::new("size=16M lba=4k");
    assert_eq!(rig.controller.facts().model(), "iolab virtual SSD");
    assert_eq!((rig.namespace.blocks(), rig.namespace.block_bytes()), (4096, 4096));
    assert_eq!(rig.controller.namespaces().unwrap().len(), 1);
    rig.memory.fill(0, DATA_BYTES / 2, 7);
    // The length of 128 KiB would need a list on PCIe.
    let submit = rig.write(0, 10, 32);
    rig.done(submit);
    let submit = rig.queue.flush_cache(1, &rig.namespace);
    rig.done(submit);
    assert_eq!((rig.read(10, 32), rig.read(42, 1)), ((7, 7), (0, 0)));
    let submit = rig.queue.deallocate(5, &rig.namespace, &[(10, 1), (20, 2)]);
    rig.done(submit);
    assert_eq!((rig.read(10, 1), rig.read(11, 9), rig.read(20, 2)), ((0, 0), (7, 7), (0, 0)));
    let misses = rig.queue.read(0, &rig.namespace, 4096, 1, rig.data(0, 4096));
    assert!(matches!(rig.ended(misses).outcome, CommandOutcome::Failed(_)));
    assert_eq!(rig.controller.resets(), 0);
}

#[test]
fn zones_are_appended_to_and_reported() {
    let mut rig = Rig::new("size=16M zone=1M");
    for expected in [2048, 2056] {
        let submit = rig.queue.append(0, &rig.namespace, 2048, 8, rig.data(0, 4096));
        assert_eq!(rig.done(submit), expected);
    }
    let submit = rig.queue.report_zones(0, &rig.namespace, 2048, ReportedZones::ALL, rig.data(0, 4096));
    rig.done(submit);
    let mut bytes = vec![0; 4096];
    rig.memory.read(0, &mut bytes);
    assert_eq!(ZoneReport::parse(&bytes).unwrap().zones[0].wp.get(), 2064);
}

#[test]
fn a_command_without_an_answer_is_sent_again_after_a_reset() {
    let mut rig = Rig::new("size=16M fault=timeout:opcode=1,times=1 fault=drop:opcode=2,times=1");
    rig.memory.fill(0, DATA_BYTES / 2, 9);
    let submit = rig.write(2, 0, 8);
    rig.done(submit);
    assert_eq!(rig.controller.resets(), 1, "{:?}", rig.controller.recoveries());
    assert_eq!(rig.read(0, 8), (9, 9));
    assert_eq!(rig.controller.resets(), 2);
}

#[test]
fn a_connection_that_broke_is_made_again_and_nothing_is_lost() {
    let mut rig = Rig::new("size=16M");
    rig.memory.fill(0, DATA_BYTES / 2, 3);
    for round in 1..4 {
        rig.cutter.break_connection();
        let submit = rig.write(1, 8, 8);
        rig.done(submit);
        assert_eq!(rig.controller.resets(), 2 * round - 1);
        rig.cutter.break_connection();
        assert!(matches!(rig.controller.namespaces(), Err(DriverError::Disconnected(_))));
        assert_eq!(rig.controller.resets(), 2 * round, "an admin command fails, and is the reason to connect again");
        assert_eq!(rig.controller.namespaces().unwrap().len(), 1);
    }
    assert!(rig.controller.recoveries().iter().any(|recovery| recovery.fault == ResetCause::Disconnected));
    assert_eq!(rig.read(8, 8), (3, 3));
}

/// A transport retries by itself for as long as it may. A second attempt would double that time.
#[test]
fn a_connection_that_stays_away_is_asked_for_once() {
    let mut rig = Rig::new("size=16M");
    rig.cutter.take_down();
    assert_eq!(rig.write(1, 8, 8), Submit::Accepted);
    rig.queue.flush();
    let mut ended = Vec::new();
    while ended.is_empty() {
        rig.queue.wait(SECOND).unwrap();
        rig.queue.reap(1, |completion| ended.push(completion.outcome)).unwrap();
    }
    assert_eq!(ended, [CommandOutcome::Lost(Loss::Dead)]);
    assert_eq!(rig.cutter.attempts(), 1);
    let recoveries = rig.controller.recoveries();
    assert!(matches!(recoveries[0].failure, Some(DriverError::Disconnected(_))), "{recoveries:?}");
}

#[test]
fn a_wire_that_is_cut_loses_what_is_in_flight_and_then_says_so() {
    let mut rig = Rig::new("size=16M");
    for slot in 0..4 {
        assert_eq!(rig.write(slot, 0, 8), Submit::Accepted);
    }
    rig.cutter.cut();
    rig.queue.flush();
    let mut ended = Vec::new();
    while ended.len() < 4 {
        rig.queue.wait(SECOND).unwrap();
        rig.queue.reap(4, |completion| ended.push(completion.outcome)).unwrap();
    }
    assert_eq!(ended, [CommandOutcome::Lost(Loss::Dead); 4]);
    assert!(matches!(rig.queue.reap(4, |_| panic!("nothing is left")), Err(DriverError::Dead(_))));
    assert!(rig.controller.is_given_up());
}
