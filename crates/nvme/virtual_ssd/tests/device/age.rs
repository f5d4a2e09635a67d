//! An artificially aged drive behaves like one that has aged through use.

use iolab_nvme_spec::{IoOpcode, Status, SubmissionEntry};
use iolab_ssd_timing::Statistics;

use crate::host::Host;

/// A configuration with the minimum number of dies, so that ageing the drive takes few commands.
const SMALL: &str = "size=64M lba=4096 preset=970pro partitions=1 channels=2 luns_per_channel=1 media=ram";

fn plug_in(age: &str) -> Host {
    Host::new(&format!("{SMALL} {age}"), 1)
}

fn statistics(host: &Host) -> Statistics {
    host.device.subsystem().timing_statistics().unwrap()
}

/// How long random writes of single blocks take; in total they write half the drive's capacity.
fn overwrite_ns(host: &mut Host) -> u64 {
    let blocks = (64 << 20) / 4096;
    let begun_ns = host.clock.now_ns();
    for step in 0..blocks / 2 {
        // The step shares no factor with the number of blocks, so it visits each block once.
        let command = host.write(step * 7919 % blocks, 1);
        assert_eq!(host.io(command), Ok(0));
    }
    host.clock.now_ns() - begun_ns
}

#[test]
fn a_steady_drive_writes_slower_than_a_fresh_one_and_amplifies() {
    let (mut fresh, mut steady) = (plug_in("age=fresh"), plug_in("age=steady:1"));
    for host in [&fresh, &steady] {
        let before = statistics(host);
        assert_eq!((before.host_written_bytes, before.flash_written_bytes()), (0, 0), "ageing is not counted");
    }
    let (fresh_ns, steady_ns) = (overwrite_ns(&mut fresh), overwrite_ns(&mut steady));
    assert!(steady_ns > 2 * fresh_ns, "{fresh_ns} ns fresh, {steady_ns} ns steady");
    let factor = |host: &Host| statistics(host).write_amplification().unwrap();
    assert_eq!(factor(&fresh), 1.0);
    assert!(factor(&steady) > 1.5, "{}", factor(&steady));
}

#[test]
fn the_same_seed_makes_the_same_old_drive() {
    let overwritten = |seed: u64| {
        let mut host = plug_in(&format!("age=steady:1 seed={seed}"));
        (overwrite_ns(&mut host), statistics(&host))
    };
    assert_eq!(overwritten(3), overwritten(3));
    assert_ne!(overwritten(3), overwritten(4));
}

#[test]
fn reads_of_a_filled_drive_are_reads_of_flash_and_return_zeroes() {
    let read_ns = |age: &str| {
        let mut host = plug_in(age);
        let begun_ns = host.clock.now_ns();
        host.fill(7);
        assert_eq!(host.io(host.read(100, 1)), Ok(0));
        assert_eq!(host.bytes(4096), vec![0; 4096]);
        host.clock.now_ns() - begun_ns
    };
    assert!(read_ns("age=filled") > 2 * read_ns("age=fresh"));
}

#[test]
fn zones_of_a_filled_drive_are_full() {
    // The zone is not a multiple of a large write: the end of each zone must be written, too.
    let zones = "size=8448k preset=zn540 zone=2112k lba=4096 media=ram age=filled";
    let mut host = Host::new(zones, 1);
    let zone_blocks = 2112 / 4;
    for zone in 0..4 {
        let last = zone * zone_blocks + zone_blocks - 1;
        assert_eq!(host.io(host.write(last, 1)), Err(Status::ZONE_FULL), "{zone}");
    }
    assert_eq!(statistics(&host).free_lines, 0);
    let reset = SubmissionEntry::new(IoOpcode::ZONE_MANAGEMENT_SEND.0, 0).with_nsid(1).with_cdw(13, 4);
    assert_eq!(host.io(reset.with_slba(zone_blocks)), Ok(0));
    assert_eq!(host.io(host.write(zone_blocks, 1)), Ok(0));
    assert_eq!(statistics(&host).lines - statistics(&host).free_lines, 4);
}
