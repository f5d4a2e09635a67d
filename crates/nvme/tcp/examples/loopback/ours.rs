//! The same load over NVMe/TCP: the driver on one processor, the target on another.

use std::sync::Arc;

use iolab_clock::Clock;
use iolab_memory::SharedBytes;
use iolab_nvme_association::TargetAddress;
use iolab_nvme_driver::{Controller, ControllerOptions, DataWindow, Namespace, QueueOptions, QueuePair, Submit};
use iolab_nvme_fabrics::QualifiedName;
use iolab_nvme_tcp::{SocketLoop, TargetOptions, Tcp, TcpTarget};
use iolab_virtual_ssd::{Config, Subsystem};

use crate::{BLOCK_BYTES, Figures, bind, median};

/// Reads whose instructions are counted.
const COUNTED: u64 = 20_000;
/// How long a measured target spins before it sleeps, ns.
const SPIN_NS: u64 = 50_000;

struct Rig {
    queue: QueuePair<Tcp>,
    namespace: Namespace,
    address: u64,
    bytes: usize,
    _memory: SharedBytes,
    _controller: Controller<Tcp>,
    _target: TcpTarget,
}

/// The measured load: how many reads at once, how large, and how the target waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) depth: u16,
    pub(crate) bytes: usize,
    pub(crate) sockets: SocketLoop,
}

fn rig(clock: &Clock, load: Load, spin_ns: u64) -> Rig {
    let config = Config::parse("size=1G media=null lba=4096").expect("parameters");
    let drive: Arc<Subsystem> = Subsystem::new(config).expect("a drive");
    let name = QualifiedName::new("nqn.2014-08.org.nvmexpress:loopback").expect("a name");
    let mut options = TargetOptions::new(name.clone());
    options.cpus = vec![1];
    (options.sockets, options.spin_ns) = (load.sockets, spin_ns);
    let target = TcpTarget::serve(&drive, "127.0.0.1:0".parse().expect("an address"), clock, options);
    let target = target.expect("a target");
    let address = TargetAddress::new(target.address(), name.clone(), name, [1; 16]);
    let tcp = Tcp::connect(address, clock).expect("a connection");
    let controller = Controller::connect(tcp, clock.clone(), ControllerOptions::default()).expect("a controller");
    let namespace = controller.namespace(1).expect("a namespace");
    let memory = SharedBytes::anonymous(usize::from(load.depth) * load.bytes).expect("memory");
    let address = controller.map(&memory).expect("an address");
    let queue = controller.queue_pair(QueueOptions::with_slots(load.depth)).expect("a queue");
    Rig { queue, namespace, address, bytes: load.bytes, _memory: memory, _controller: controller, _target: target }
}

impl Rig {
    #[inline]
    fn read(&mut self, slot: u16, lba: u64) {
        let data = DataWindow::new(self.address + u64::from(slot) * self.bytes as u64, self.bytes as u32);
        let blocks = (self.bytes / BLOCK_BYTES) as u32;
        assert_eq!(self.queue.read(slot, &self.namespace, lba, blocks, data), Submit::Accepted);
    }
}

/// Keeps `depth` reads in flight until `is_over`, called with the number of reads, returns true.
#[inline(always)]
fn drive(rig: &mut Rig, depth: u16, idle: impl Fn(), mut is_over: impl FnMut(u64) -> bool) -> u64 {
    let mut ended = Vec::with_capacity(usize::from(depth));
    let mut reads = 0;
    for slot in 0..depth {
        rig.read(slot, slot.into());
    }
    rig.queue.flush();
    loop {
        let reaped = rig.queue.reap(usize::from(depth), |one| ended.push(one)).expect("a controller");
        if reaped == 0 {
            idle();
            continue;
        }
        reads += reaped as u64;
        if is_over(reads) {
            return reads;
        }
        for one in ended.drain(..) {
            assert!(one.outcome.is_done());
            rig.read(one.slot, reads & 0xffff);
        }
        rig.queue.flush();
    }
}

pub(crate) fn run(clock: &Clock, load: Load, span_ns: u64) -> Figures {
    let depth = load.depth;
    let mut rig = rig(clock, load, SPIN_NS);
    bind(0);
    let mut latencies = Vec::with_capacity(1 << 20);
    let start_ns = clock.now_ns();
    let mut before_ns = start_ns;
    let reads = drive(
        &mut rig,
        depth,
        || {},
        |_| {
            let now_ns = clock.now_ns();
            if depth == 1 && latencies.len() < latencies.capacity() {
                latencies.push((now_ns - before_ns) as u32);
            }
            before_ns = now_ns;
            now_ns - start_ns > span_ns
        },
    );
    Figures { reads, ns: before_ns - start_ns, median_ns: median(&mut latencies) }
}

/// Leaves the processor to the target, so that polls of an empty socket are not counted.
fn rest() {
    std::thread::sleep(std::time::Duration::from_micros(200));
}

/// Reads at depth 128; callgrind's options select the counted functions.
///
/// The target waits by epoll: valgrind lets one thread run at a time, and does not know that a
/// thread sleeps in io_uring.
pub(crate) fn count(clock: &Clock) {
    let mut rig = rig(clock, Load { depth: 128, bytes: BLOCK_BYTES, sockets: SocketLoop::Epoll }, SPIN_NS);
    let reads = count_initiator(&mut rig);
    println!("{reads} reads at depth 128; divide the instructions by them");
}

#[inline(never)]
fn count_initiator(rig: &mut Rig) -> u64 {
    drive(rig, 128, rest, |reads| reads >= COUNTED)
}
