//! Measures how precisely commands complete on a real clock: the difference between the actual and
//! the target time.
//!
//! `completion_precision [EXTRA [COMMANDS]]`, for example `completion_precision 50us 100000`: each
//! read takes that long. Meanwhile the thread polls the device, as the thread of a dispatcher does.
//! The actual time is when the host first finds the completion in its queue, so the figure includes
//! one poll of the device and one check by the host.
#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

mod by_hand;

use by_hand::bring_up;
use iolab_clock::Clock;
use iolab_nvme_spec::{IoOpcode, SubmissionEntry};
use iolab_pci_device::DmaMapper;
use iolab_virtual_ssd::{Config, Embedded, Subsystem};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let extra = arguments.get(1).map_or("50us", String::as_str);
    let commands: usize = arguments.get(2).map_or(20_000, |text| text.parse().expect("a number of commands"));
    let extra_ns = iolab_units::parse_ns(extra, 1).expect("a time");
    let config = Config::parse(&format!("size=1G media=null fault=slow:extra={extra}")).expect("a configuration");
    let subsystem = Subsystem::new(config).expect("a drive");
    let clock = Clock::best().0;
    let mut device = Embedded::new(&subsystem, clock.clone()).expect("a device");
    let mut ring = bring_up(&mut device);
    let data = device.allocate(4096).expect("memory for data");
    let read = SubmissionEntry::new(IoOpcode::READ.0, 0).with_nsid(1).with_cdw(12, 7).with_prps(data.address, 0);
    let mut off_ns: Vec<u64> = Vec::with_capacity(commands);
    for _ in 0..commands {
        ring.push(read);
        ring.ring();
        let target_ns = clock.now_ns() + extra_ns;
        while ring.pop().is_none() {
            device.poll();
        }
        off_ns.push(clock.now_ns().abs_diff(target_ns));
        ring.acknowledge();
    }
    off_ns.sort_unstable();
    let percentile = |percent: f64| off_ns[((commands - 1) as f64 * percent / 100.0) as usize];
    println!(
        "{commands} commands of {extra}: off by {} ns at the median, {} ns at 99 %, {} ns at 99.9 %",
        percentile(50.0),
        percentile(99.0),
        percentile(99.9)
    );
}
