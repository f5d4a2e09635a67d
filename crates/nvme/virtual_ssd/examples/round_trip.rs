//! Instructions of driver and device together for each 4 KiB read in one thread, to be run under a
//! profiler.
//!
//! `round_trip [CONFIG [DEPTH [COMMANDS]]]`, for example `round_trip "media=null size=8G" 32
//! 1000000`.
#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use iolab_clock::Clock;
use iolab_memory::SharedBytes;
use iolab_nvme_driver::{Controller, ControllerOptions, DataWindow, QueueOptions, Submit};
use iolab_pci_device::DmaBuffer;
use iolab_virtual_ssd::{Config, Embedded, Subsystem};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let config = arguments.get(1).map_or("media=null size=8G", String::as_str);
    let depth: u16 = arguments.get(2).map_or(32, |text| text.parse().expect("a depth"));
    let commands: u64 = arguments.get(3).map_or(1_000_000, |text| text.parse().expect("a number of commands"));
    let subsystem = Subsystem::new(Config::parse(config).expect("a configuration")).expect("a drive");
    let is_ideal = subsystem.timing_statistics().is_none();
    let clock = if is_ideal { Clock::best().0 } else { Clock::simulated(1) };
    let device = Embedded::new(&subsystem, clock.clone()).expect("a device");
    let controller = Controller::open(Box::new(device), clock, ControllerOptions::default()).expect("a controller");
    let namespace = controller.namespace(1).expect("a namespace");
    let memory = SharedBytes::anonymous(4096).expect("memory for data");
    let address = controller.map(&memory).expect("an address");
    let data = DataWindow::of(&DmaBuffer { memory, address }, 0, 4096).expect("a slice");
    let mut pair = controller.queue_pair(QueueOptions::with_slots(depth)).expect("queues");
    let mut free: Vec<u16> = (0..depth).collect();
    let wall = Clock::monotonic();
    let begun_ns = wall.now_ns();
    let (mut sent, mut done) = (0, 0);
    while done < commands {
        while sent < commands
            && let Some(slot) = free.pop()
        {
            let lba = sent * 7919 % (1 << 20) * 8;
            assert!(matches!(pair.read(slot, &namespace, lba, 8, data), Submit::Accepted), "a free slot");
            sent += 1;
        }
        pair.flush();
        let reaped = pair.reap(usize::from(depth), |completion| free.push(completion.slot)).expect("a sound device");
        done += reaped as u64;
        if reaped == 0 {
            pair.wait(1_000_000_000).expect("a sound device");
        }
    }
    let took_ns = wall.now_ns() - begun_ns;
    println!("{commands} commands, {:.1} ns each", took_ns as f64 / commands as f64);
}
