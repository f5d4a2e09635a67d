//! Tests the guarantees of the zoned model.

use proptest::prelude::*;

use super::Zoned;
use crate::parameters::{Capacity, Parameters};
use crate::presets;
use crate::request::{CommandKind, CompletionTime, TimedCommand};
use crate::statistics::Statistics;

fn prototype(change: impl FnOnce(&mut Parameters)) -> Zoned {
    let mut parameters = presets::ZNS_PROTOTYPE.parameters();
    change(&mut parameters);
    Zoned::new(&parameters, Capacity::Visible(1 << 30)).unwrap()
}

fn target(drive: &mut Zoned, now_ns: u64, request: &TimedCommand) -> u64 {
    match drive.schedule(now_ns, request) {
        CompletionTime::At(target_ns) => target_ns,
        CompletionTime::Retry { not_before_ns } => panic!("the buffer is full until {not_before_ns}"),
    }
}

const RESET: TimedCommand = TimedCommand { kind: CommandKind::ZoneReset, offset_bytes: 0, length_bytes: 0, fua: false };

#[test]
fn a_late_write_ends_with_its_program() {
    // Link: 1024 units at 38 ns; channel: 1024 units at 152 + 12 ns; then the program.
    let mut drive = prototype(|parameters| parameters.fidelity = crate::Fidelity::Compatible);
    let end_ns = target(&mut drive, 0, &TimedCommand::write(0, 128 << 10));
    assert!((1_913_640 + 1024 * 38 + 1024 * 164..1_913_640 + 1024 * 38 + 1024 * 164 + 8_000).contains(&end_ns));
}

#[test]
fn an_early_write_ends_in_the_buffer() {
    let parameters = presets::ZN540.parameters();
    let mut drive = Zoned::new(&parameters, Capacity::Visible(8 << 30)).unwrap();
    let early = target(&mut drive, 0, &TimedCommand::write(0, 96 << 10));
    assert!(early < 100_000, "{early}");
    let fua = TimedCommand { fua: true, ..TimedCommand::write(96 << 10, 96 << 10) };
    assert!(target(&mut drive, 0, &fua) > 561_000);
}

#[test]
fn zones_of_different_dies_do_not_disturb_each_other() {
    let end_of = |zones: [u64; 2]| {
        let mut drive = prototype(|_| {});
        zones
            .map(|zone| target(&mut drive, 0, &TimedCommand::write(zone * (32 << 20), 128 << 10)))
            .into_iter()
            .max()
            .unwrap()
    };
    assert!(end_of([0, 1]) < 2_400_000, "two dies");
    let mut one_die = prototype(|parameters| {
        parameters.channels = 1;
        parameters.luns_per_channel = 1;
    });
    target(&mut one_die, 0, &TimedCommand::write(0, 128 << 10));
    assert!(target(&mut one_die, 0, &TimedCommand::write(32 << 20, 128 << 10)) > 3_800_000, "one die");
}

#[test]
fn a_full_zone_buffer_stalls_its_zone_only() {
    let parameters = presets::ZN540.parameters();
    let mut drive = Zoned::new(&parameters, Capacity::Visible(8 << 30)).unwrap();
    for step in 0..10 {
        target(&mut drive, 0, &TimedCommand::write(step * (96 << 10), 96 << 10));
    }
    let next = TimedCommand::write(10 * (96 << 10), 96 << 10);
    let CompletionTime::Retry { not_before_ns } = drive.schedule(0, &next) else { panic!("the zone's buffer is full") };
    assert_eq!(drive.next_event_ns(), Some(not_before_ns));
    target(&mut drive, 0, &TimedCommand::write(2 << 30, 96 << 10));
    target(&mut drive, not_before_ns, &next);
}

#[test]
fn what_was_not_written_costs_firmware_and_link() {
    let mut drive = prototype(|_| {});
    assert!(target(&mut drive, 0, &TimedCommand::read(0, 4096)) < 32_150 + 2_000);
    target(&mut drive, 0, &TimedCommand::write(0, 128 << 10));
    assert!(target(&mut drive, 10_000_000, &TimedCommand::read(0, 4096)) > 10_000_000 + 32_150 + 25_485);
    target(&mut drive, 20_000_000, &RESET);
    assert!(target(&mut drive, 40_000_000, &TimedCommand::read(0, 4096)) < 40_000_000 + 32_150 + 2_000);
}

#[test]
fn a_reset_erases_behind_its_own_completion() {
    let mut drive = prototype(|_| {});
    target(&mut drive, 0, &TimedCommand::write(0, 192 << 10));
    assert_eq!(drive.statistics().buffer_used_bytes, 192 << 10);
    let reset_ns = target(&mut drive, 10_000_000, &RESET);
    assert!(reset_ns < 10_100_000, "{reset_ns}");
    let written_ns = target(&mut drive, reset_ns, &TimedCommand::write(0, 128 << 10));
    assert!(written_ns > 15_000_000, "{written_ns}");
    drive.advance(written_ns);
    let Statistics { buffer_used_bytes, erased_blocks, free_lines, .. } = drive.statistics();
    assert_eq!((buffer_used_bytes, erased_blocks, free_lines), (0, 1, 31));
}

#[test]
fn bad_zones_are_refused() {
    let refuse = |name: &str, text: &str, bytes: u64| {
        let mut parameters = presets::ZN540.parameters();
        parameters.set(name, text).unwrap();
        Zoned::new(&parameters, Capacity::Visible(bytes)).unwrap_err().to_string()
    };
    assert!(refuse("zone", "2g", 512 << 20).contains("at least 2147483648; lower zone"));
    assert!(refuse("zone", "64k", 8 << 30).contains("`zone` cannot be"));
    assert!(refuse("zone", "1000000", 8 << 30).contains("`zone` cannot be"));
    assert!(refuse("luns_per_zone", "5", 8 << 30).contains("`luns_per_zone` cannot be 5"));
    assert!(refuse("luns_per_zone", "0", 8 << 30).contains("`luns_per_zone` cannot be 0"));
    assert!(refuse("zone_write_buffer", "4k", 8 << 30).contains("`zone_write_buffer` cannot be"));
}

proptest! {
    #[test]
    fn targets_are_in_the_future_and_repeatable(
        steps in prop::collection::vec((0u64..4, 1u64..64, 0u64..3_000_000, 0u8..8), 1..200),
        zone_buffer in prop::sample::select(vec![0u64, 256 << 10]),
    ) {
        let make = || prototype(|parameters| {
            parameters.zone_write_buffer_bytes = zone_buffer;
            parameters.zone_bytes = 1 << 20;
            parameters.write_buffer_bytes = 512 << 10;
        });
        let (mut drive, mut again) = (make(), make());
        let (mut now_ns, mut write_pointers) = (0, [0u64; 4]);
        for (zone, pages, passed, what) in steps {
            now_ns += passed;
            let start = zone << 20;
            let pointer = &mut write_pointers[zone as usize];
            let request = match what {
                0 => TimedCommand { kind: CommandKind::ZoneReset, ..TimedCommand::read(start, 0) },
                1 => TimedCommand::flush(),
                2..4 => TimedCommand::read(start, pages * 4096),
                _ if *pointer < 1 << 20 => TimedCommand::write(start + *pointer, (pages * 4096).min((1 << 20) - *pointer)),
                _ => continue,
            };
            loop {
                let verdict = drive.schedule(now_ns, &request);
                prop_assert_eq!(verdict, again.schedule(now_ns, &request));
                match verdict {
                    CompletionTime::At(target_ns) => {
                        prop_assert!(target_ns >= now_ns);
                        break;
                    }
                    CompletionTime::Retry { not_before_ns } => {
                        prop_assert!(not_before_ns > now_ns);
                        now_ns = not_before_ns;
                    }
                }
            }
            match request.kind {
                CommandKind::ZoneReset => *pointer = 0,
                CommandKind::Write => *pointer += request.length_bytes,
                _ => {}
            }
        }
        drive.advance(now_ns + 10_000_000_000);
        for (zone, pointer) in (0..).zip(write_pointers) {
            drive.schedule(now_ns + 10_000_000_000, &TimedCommand { kind: CommandKind::ZoneReset, ..TimedCommand::read(zone << 20, 0) });
            prop_assert_eq!(drive.written_bytes[zone as usize], 0, "it was written up to {}", pointer);
        }
        drive.advance(now_ns + 20_000_000_000);
        prop_assert_eq!(drive.next_event_ns(), None);
        prop_assert_eq!(drive.statistics().buffer_used_bytes, 0);
    }
}
