//! Presets match their sheets: a fresh flash drive writes faster than its figure, a steady one
//! slower; reads come close to theirs.
#![allow(missing_docs, reason = "a test has no public documentation")]

use iolab_ssd_timing::presets::PRESETS;
use iolab_ssd_timing::study::{Age, Load, Overwriting, age, overwrite_at_random, run};
use iolab_ssd_timing::{Capacity, CommandKind, CompletionTime, ModelKind, Preset, TimedCommand, TimingModel};

/// Builds a drive just above the smallest size of the geometry, on which these results do not
/// depend.
fn build(preset: &Preset) -> TimingModel {
    let parameters = preset.parameters();
    let one_shots = parameters.channels * parameters.luns_per_channel * parameters.one_shot_page_bytes;
    TimingModel::build(&parameters, Capacity::Visible(one_shots * 2 * 40)).unwrap()
}

const WRITES: Load = Load { kind: CommandKind::Write, random: true, bytes: 4096, depth: 32, count: 0, seed: 5 };

#[test]
fn fresh_drives_write_above_their_sheet_and_steady_ones_below() {
    let mut seen = 0;
    for preset in PRESETS {
        // On such a small device, NVMeVirt's blocks are single pages, which are collected at no
        // cost.
        let parameters = preset.parameters();
        let Some(sheet) =
            preset.sheet.filter(|_| parameters.model == ModelKind::Nand && parameters.blocks_per_lun == 0)
        else {
            continue;
        };
        let mut drive = build(preset);
        let pages = drive.visible_bytes() / 4096;
        let fresh = run(&mut drive, 0, &Load { count: pages / 2, ..WRITES });
        assert!(fresh.iops > sheet.write_iops as f64, "{}: {} fresh", preset.name, fresh.iops);
        let aged = run(&mut drive, fresh.end_ns, &Load { count: 2 * pages, ..WRITES });
        let steady = run(&mut drive, aged.end_ns, &Load { count: pages / 2, ..WRITES });
        assert!(steady.iops < sheet.write_iops as f64 / 2.0, "{}: {} steady", preset.name, steady.iops);
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[test]
fn reads_come_near_the_sheet() {
    for preset in PRESETS {
        let Some(sheet) = preset.sheet else { continue };
        let mut drive = build(preset);
        let (big, bytes) = (128 << 10, drive.visible_bytes());
        let fill = Load { random: false, bytes: big, depth: 32, count: bytes / big, ..WRITES };
        let filled = run(&mut drive, 0, &fill);
        let start_ns = filled.end_ns + 1_000_000_000;
        let sequential = run(&mut drive, start_ns, &Load { kind: CommandKind::Read, ..fill });
        let random =
            run(&mut drive, sequential.end_ns, &Load { kind: CommandKind::Read, depth: 256, count: 20_000, ..WRITES });
        let near = |value: f64, sheet: u64| (0.85..1.25).contains(&(value / sheet as f64));
        assert!(near(sequential.mb_per_second, sheet.read_mb_per_second), "{}: {sequential:?}", preset.name);
        assert!(near(random.iops, sheet.read_iops), "{}: {random:?}", preset.name);
    }
}

/// The results of NVMeVirt's own program for 32 GiB of this drive, in virtual time.
#[test]
fn the_compatible_drive_of_32_gib_reads_as_nvmevirts() {
    let parameters = Preset::named("970pro-nvmevirt").unwrap().parameters();
    let mut drive = TimingModel::build(&parameters, Capacity::Flash(32 << 30)).unwrap();
    let fill = Load { random: false, bytes: 128 << 10, depth: 8, count: 4096, ..WRITES };
    let filled = run(&mut drive, 0, &fill);
    // The load covers the whole drive; in a shorter run, the last commands would have more weight.
    assert!((filled.iops / 17_864.0 - 1.0).abs() < 0.002, "{filled:?}");
    let reads = Load { kind: CommandKind::Read, ..fill };
    let one = run(&mut drive, filled.end_ns + 1_000_000_000, &Load { depth: 1, ..reads });
    assert!((one.iops / 8_124.0 - 1.0).abs() < 0.001, "{one:?}");
    let many = run(&mut drive, one.end_ns, &Load { depth: 32, ..reads });
    assert!((many.iops / 26_853.0 - 1.0).abs() < 0.001, "{many:?}");
    let small = Load { bytes: 4096, depth: 1, count: 8192, ..reads };
    let pages = run(&mut drive, many.end_ns, &small);
    // Adjacent pages are in one flash page: half of these are LSB at 57,276 ns, half MSB at 69,276
    // ns.
    assert_eq!(pages.mean_ns, (57_276.0 + 69_276.0) / 2.0);
}

/// In NVMeVirt, the size of blocks depends on the capacity, and therefore everything about
/// collection.
#[test]
fn small_drives_age_as_large_ones_do() {
    let steady = |bytes: u64| {
        let mut parameters = Preset::named("970pro").unwrap().parameters();
        for (name, value) in [("partitions", "1"), ("channels", "2"), ("luns_per_channel", "1")] {
            parameters.set(name, value).unwrap();
        }
        let mut drive = TimingModel::build(&parameters, Capacity::Visible(bytes)).unwrap();
        age(&mut drive, Age::Overwritten { drive_writes: 1, seed: 1 });
        let writes = run(&mut drive, 0, &Load { count: bytes / 4096, ..WRITES });
        (writes.iops, drive.statistics().write_amplification().unwrap())
    };
    let (small, large) = (steady(32 << 20), steady(192 << 20));
    assert!((small.0 / large.0 - 1.0).abs() < 0.15, "{small:?} {large:?}");
    assert!((small.1 / large.1 - 1.0).abs() < 0.15, "{small:?} {large:?}");
}

#[test]
fn an_aged_drive_is_idle_and_old() {
    for preset in PRESETS {
        let mut drive = TimingModel::build(&preset.parameters(), Capacity::Visible(8 << 30)).unwrap();
        if !matches!(drive, TimingModel::Zoned(_)) {
            drive = build(preset);
        }
        age(&mut drive, Age::Overwritten { drive_writes: 1, seed: 1 });
        assert_eq!((drive.next_event_ns(), drive.statistics().host_written_bytes), (None, 0), "{}", preset.name);
        // As on an idle drive, no die is busy with earlier commands.
        let mut fresh = TimingModel::build(&preset.parameters(), Capacity::Visible(drive.visible_bytes())).unwrap();
        let (read, write) = (TimedCommand::read(0, 4096), TimedCommand::write(1 << 20, 4096));
        let CompletionTime::At(target_ns) = drive.schedule(0, &read) else { panic!("reads never wait") };
        assert!(target_ns < 200_000, "{}: {target_ns}", preset.name);
        if matches!(drive, TimingModel::Nand(_)) {
            let CompletionTime::At(unwritten_ns) = fresh.schedule(0, &read) else { panic!("reads never wait") };
            assert!(target_ns > unwritten_ns, "{}: the page is on flash", preset.name);
            drive.schedule(1_000_000, &write);
            assert!(drive.statistics().free_lines < fresh.statistics().free_lines, "{}", preset.name);
        }
    }
}

#[test]
fn a_curve_falls_while_its_amplification_rises() {
    let curve = |seed| {
        let mut points = Vec::new();
        let how = Overwriting {
            depth: 32,
            write_bytes: 4096,
            drive_writes: 2,
            points_per_drive_write: 4,
            seed,
            fill_first: false,
        };
        overwrite_at_random(&mut build(Preset::named("sata-tlc").unwrap()), &how, |point| points.push(point));
        points
    };
    let points = curve(1);
    assert_eq!(points, curve(1), "the same seed, the same curve");
    let (first, last) = (points.first().unwrap(), points.last().unwrap());
    assert_eq!(points.len(), 8);
    assert!(last.write_amplification > 2.0 && last.write_amplification > first.write_amplification, "{points:?}");
    assert!(last.iops < first.iops / 2.0, "{points:?}");
}
