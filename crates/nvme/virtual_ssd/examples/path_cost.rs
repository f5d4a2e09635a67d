//! Instructions of the device for each 4 KiB read: a minimal host in one thread, to be run under a
//! profiler.
//!
//! `path_cost [CONFIG [DEPTH [COMMANDS]]]`, for example `path_cost "media=null" 32 1000000`. The
//! host costs next to nothing: it stores one entry and reads one phase tag. Prints the number of
//! commands and the time they took.
#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

mod by_hand;

use std::time::Duration;

use by_hand::bring_up;
use iolab_clock::Clock;
use iolab_nvme_spec::{IoOpcode, SubmissionEntry};
use iolab_pci_device::{DmaMapper, PciFunction};
use iolab_virtual_ssd::{Config, Embedded, Subsystem};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let config = arguments.get(1).map_or("media=null size=8G", String::as_str);
    let depth: u64 = arguments.get(2).map_or(32, |text| text.parse().expect("a depth"));
    let commands: u64 = arguments.get(3).map_or(1_000_000, |text| text.parse().expect("a number of commands"));
    let subsystem = Subsystem::new(Config::parse(config).expect("a configuration")).expect("a drive");
    let is_ideal = subsystem.timing_statistics().is_none();
    let clock = if is_ideal { Clock::best().0 } else { Clock::simulated(1) };
    let mut device = Embedded::new(&subsystem, clock).expect("a device");
    let mut ring = bring_up(&mut device);
    let data = device.allocate(4096).expect("memory for data");
    let wall = Clock::monotonic();
    let begun_ns = wall.now_ns();
    let (mut sent, mut done) = (0u64, 0u64);
    while done < commands {
        let wanted = (depth - (sent - done)).min(commands - sent);
        for _ in 0..wanted {
            let lba = sent.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << 20) * 8;
            let command = SubmissionEntry::new(IoOpcode::READ.0, (sent % depth) as u16).with_nsid(1).with_slba(lba);
            ring.push(command.with_cdw(12, 7).with_prps(data.address, 0));
            sent += 1;
        }
        ring.ring();
        device.pause(Duration::from_secs(1));
        while let Some(entry) = ring.pop() {
            assert!(entry.status().is_success(), "{}", entry.status());
            done += 1;
        }
        ring.acknowledge();
    }
    let took_ns = wall.now_ns() - begun_ns;
    println!("{commands} commands, {:.1} ns each", took_ns as f64 / commands as f64);
}
