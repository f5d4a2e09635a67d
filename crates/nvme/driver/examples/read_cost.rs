//! The cost of 4 KiB reads on the driver's side: run it under callgrind to count instructions.
//!
//! ```text
//! valgrind --tool=callgrind --toggle-collect='*driver_side*' read_cost 20000
//! ```
//!
//! `driver_side` reaps the completions, submits each slot again and rings the doorbell. The device,
//! a virtual SSD without media and timing, works in between and is not counted. Divide the count by
//! the number of reads, which is printed.

use std::error::Error;
use std::io::Write;

use iolab_clock::Clock;
use iolab_nvme_driver::{Controller, ControllerOptions, DataWindow, Namespace, QueueOptions, QueuePair, Submit};
use iolab_pci_device::DmaMapper;
use iolab_virtual_ssd::{Config, Embedded, MediaKind, Subsystem};

/// Reads in flight.
const DEPTH: u16 = 128;
/// Bytes of a read.
const READ_BYTES: u32 = 4096;

/// The counted part: every call that an engine makes in a round.
#[inline(never)]
fn driver_side(queue: &mut QueuePair, namespace: &Namespace, pool: u64, lba: &mut u64) -> usize {
    let mut slots = [0u16; DEPTH as usize];
    let mut ended = 0;
    let reaped = queue.reap(slots.len(), |completion| {
        assert!(completion.outcome.is_done(), "a read failed");
        slots[ended] = completion.slot;
        ended += 1;
    });
    assert!(reaped.is_ok(), "the controller was given up");
    for slot in &slots[..ended] {
        let data = DataWindow::new(pool + u64::from(*slot) * u64::from(READ_BYTES), READ_BYTES);
        let submit = queue.read(*slot, namespace, *lba, READ_BYTES / namespace.block_bytes(), data);
        assert!(submit == Submit::Accepted, "a read was not accepted");
        *lba = (*lba + 8) & 0xffff;
    }
    queue.flush();
    ended
}

fn main() -> Result<(), Box<dyn Error>> {
    let reads: usize = std::env::args().nth(1).map_or(Ok(2000), |word| word.parse())?;
    let clock = Clock::monotonic();
    let config = Config { media: MediaKind::Null, ..Config::default() };
    let mut device = Embedded::new(&Subsystem::new(config)?, clock.clone())?;
    let pool = device.allocate(usize::from(DEPTH) * READ_BYTES as usize)?;
    let options = ControllerOptions { shadow_doorbells: false, ..ControllerOptions::default() };
    let controller = Controller::open(Box::new(device), clock, options)?;
    let namespace = controller.namespace(1)?;
    let mut queue = controller.queue_pair(QueueOptions::with_slots(DEPTH))?;
    for slot in 0..DEPTH {
        let data = DataWindow::new(pool.address + u64::from(slot) * u64::from(READ_BYTES), READ_BYTES);
        assert!(queue.read(slot, &namespace, 0, 8, data) == Submit::Accepted, "a read was not accepted");
    }
    queue.flush();
    let (mut done, mut lba) = (0, 0);
    while done < reads {
        queue.wait(1_000_000_000)?;
        done += driver_side(&mut queue, &namespace, pool.address, &mut lba);
    }
    writeln!(std::io::stdout(), "{done} reads")?;
    while queue.in_flight() > 0 {
        queue.wait(1_000_000_000)?;
        queue.reap(usize::from(DEPTH), |_| {})?;
    }
    Ok(())
}
