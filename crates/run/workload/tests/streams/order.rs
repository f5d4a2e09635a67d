//! Orders determined by the plan alone, written out: sequential streams, files in turn, zones,
//! pairs, syncs.

use iolab_plan::{
    BlockSizes, FileService, FileServiceKind, Sequencer, StridePlan, SyncCadence, SyncFileRangePlan, WorkloadPlan,
};
use iolab_workload::{Extent, OpStream, PassLimits};

use crate::support::{K, drain, extents, pass, plan, sized, spell, whole_pass};

fn bytes(io_bytes: u64) -> PassLimits {
    PassLimits { io_bytes, io_count: None }
}

#[test]
fn sequential_streams() {
    // As in the output of `fio --write_iolog` with the null engine.
    for (length, limit, expected) in [
        (16 * K, 16 * K, "r0 r1 r2 r3"),
        (10 * K, 10 * K, "r0 r1"),
        (40 * K, 10 * K, "r0 r1 r2"),
        (12 * K, 30 * K, "r0 r1 r2 r0 r1 r2 r0 r1"),
        (12 * K, 26 * K, "r0 r1 r2 r0 r1 r2"),
        (16 * K, 0, ""),
    ] {
        assert_eq!(spell(&pass(&plan("read"), &[length], bytes(limit))), expected);
    }
    let counted = PassLimits { io_bytes: 40 * K, io_count: Some(3) };
    assert_eq!(spell(&pass(&plan("write"), &[40 * K], counted)), "w0 w1 w2");
    assert_eq!(spell(&pass(&plan("trim"), &[8 * K], bytes(8 * K))), "t0 t1");
}

#[test]
fn extents_begin_where_they_say_and_passes_begin_again() {
    let files =
        [Extent { start_bytes: 4 * K, length_bytes: 8 * K }, Extent { start_bytes: 40 * K, length_bytes: 8 * K }];
    let mut stream = OpStream::new(&plan("read"), &files, bytes(16 * K)).expect("a plan that works");
    for _ in 0..3 {
        assert_eq!(spell(&drain(&mut stream)), "r1 r10@1 r2 r11@1");
        stream.restart();
    }
}

#[test]
fn holes_and_backwards() {
    for (skip, expected) in [
        (4, "r0 r2 r4 r6 r8 r0 r2 r4 r6 r8"),
        (8, "r0 r3 r6 r9 r0 r3 r6 r9 r0 r3"),
        (-8, "r8 r7 r6 r5 r4 r3 r2 r1 r0 r8"),
        (-12, "r7 r5 r3 r1 r7 r5 r3 r1 r7 r5"),
        (-4, "r0 r0 r0 r0 r0 r0 r0 r0 r0 r0"),
        (400, "r0 r0 r0 r0 r0 r0 r0 r0 r0 r0"),
    ] {
        let mut plan = plan("read");
        plan.pattern.skip_bytes = skip * K as i64;
        assert_eq!(spell(&whole_pass(&plan, &[40 * K])), expected, "{skip}");
    }
}

#[test]
fn directions_go_through_a_file_each_on_its_own() {
    let ops = whole_pass(&plan("rw"), &[1024 * K]);
    for letter in ['r', 'w'] {
        let text = spell(&ops);
        let own: Vec<&str> = text.split(' ').filter(|word| word.starts_with(letter)).collect();
        let expected: Vec<String> = (0..own.len()).map(|block| format!("{letter}{block}")).collect();
        assert_eq!(own, expected);
        assert!(own.len() > 90);
    }
    assert_eq!(ops.len(), 256);
}

#[test]
fn identical_and_sequential_followers() {
    let mut identical = plan("read");
    (identical.pattern.every, identical.pattern.sequencer) = (3, Sequencer::Identical);
    assert_eq!(spell(&whole_pass(&identical, &[32 * K])), "r0 r0 r0 r1 r1 r1 r2 r2");
    let mut random = plan("randread");
    random.pattern.every = 4;
    let ops = whole_pass(&random, &[4096 * K]);
    for group in ops.chunks_exact(4) {
        for pair in group.windows(2) {
            let follows = pair[1].offset == pair[0].offset + 4096;
            assert!(follows || pair[0].offset + 4096 == 4096 * K, "{group:?}");
        }
    }
    random.pattern.sequencer = Sequencer::Identical;
    let ops = whole_pass(&random, &[4096 * K]);
    assert!(ops.chunks(4).all(|group| group.iter().all(|op| op.offset == group[0].offset)));
    let mut decisions: Vec<u64> = ops.iter().step_by(4).map(|op| op.offset).collect();
    decisions.sort_unstable();
    decisions.dedup();
    assert_eq!(decisions.len(), ops.len() / 4, "each decision goes to a block of its own");
}

fn service(kind: FileServiceKind, every: u32, open_files: u32) -> WorkloadPlan {
    WorkloadPlan { file_service: FileService { kind, every, open_files }, ..plan("read") }
}

#[test]
fn files_are_served_in_order() {
    use FileServiceKind::{RoundRobin, Sequential};
    for (kind, every, open, lengths, expected) in [
        (RoundRobin, 1, 0, &[8, 8, 8][..], "r0 r0@1 r0@2 r1 r1@1 r1@2"),
        (RoundRobin, 2, 0, &[12, 8, 8], "r0 r1 r0@1 r1@1 r0@2 r1@2 r2"),
        (RoundRobin, 1, 0, &[4, 16, 4], "r0 r0@1 r0@2 r1@1 r2@1 r3@1"),
        // As in fio: when a file ends, the next one is used, and the turn continues.
        (RoundRobin, 3, 2, &[16, 16, 8], "r0 r1 r2 r0@1 r1@1 r2@1 r3 r3@1 r0@2 r1@2"),
        (Sequential, 1, 0, &[8, 12, 4], "r0 r1 r0@1 r1@1 r2@1 r0@2"),
        // A file without room for a block gets no turn.
        (RoundRobin, 1, 0, &[8, 2, 8], "r0 r0@2 r1 r1@2"),
    ] {
        let lengths: Vec<u64> = lengths.iter().map(|length| length * K).collect();
        assert_eq!(spell(&whole_pass(&service(kind, every, open), &lengths)), expected, "{kind:?} {every} {open}");
    }
    // Beginning all files again.
    let again = pass(&service(Sequential, 1, 0), &[8 * K, 4 * K], bytes(20 * K));
    assert_eq!(spell(&again), "r0 r1 r0@1 r0 r1");
}

#[test]
fn a_file_that_never_ends_makes_way_after_its_length() {
    let kind = FileServiceKind::Sequential;
    let mut plan = service(kind, 1, 0);
    (plan.pattern.random, plan.random_map) = (true, iolab_plan::RandomMap::Off);
    let files: Vec<u32> = whole_pass(&plan, &[16 * K, 8 * K, 12 * K]).iter().map(|op| op.file).collect();
    assert_eq!(files, [0, 0, 0, 0, 1, 1, 2, 2, 2]);
}

#[test]
fn zones_are_strided() {
    let stride = StridePlan { range_bytes: 32 * K, zone_bytes: 16 * K, skip_bytes: 32 * K };
    let strided = WorkloadPlan { stride: Some(stride), ..plan("read") };
    assert_eq!(
        spell(&pass(&strided, &[256 * K], bytes(72 * K))),
        "r0 r1 r2 r3 r16 r17 r18 r19 r32 r33 r34 r35 r48 r49 r50 r51 r0 r1"
    );
    // More bytes than the zone has: it begins again. The last zone is shorter.
    let stride = StridePlan { range_bytes: 8 * K, zone_bytes: 12 * K, skip_bytes: 4 * K };
    let repeated = WorkloadPlan { stride: Some(stride), ..plan("read") };
    assert_eq!(spell(&pass(&repeated, &[17 * K], bytes(32 * K))), "r0 r1 r0 r3 r3 r3 r0 r1");
    let random = WorkloadPlan {
        stride: Some(StridePlan { range_bytes: 16 * K, zone_bytes: 16 * K, skip_bytes: 0 }),
        ..plan("randread")
    };
    for (zone, ops) in whole_pass(&random, &[128 * K]).chunks(4).enumerate() {
        let mut blocks: Vec<u64> = ops.iter().map(|op| op.offset / (4 * K)).collect();
        blocks.sort_unstable();
        assert!(blocks.into_iter().eq(zone as u64 * 4..zone as u64 * 4 + 4));
    }
}

#[test]
fn pairs_trim_then_write() {
    assert_eq!(spell(&whole_pass(&plan("trimwrite"), &[12 * K])), "t0 w0 t1 w1 t2 w2");
    let odd = PassLimits { io_bytes: 64 * K, io_count: Some(3) };
    assert_eq!(spell(&pass(&plan("trimwrite"), &[64 * K], odd)), "t0 w0 t1");
    let ops = whole_pass(&sized("randtrimwrite", BlockSizes::Range { min: 4 * K, max: 16 * K }), &[4096 * K]);
    assert_eq!(ops.iter().map(|op| u64::from(op.length)).sum::<u64>(), 2 * 4096 * K);
    for pair in ops.chunks(2) {
        assert_eq!((pair[0].offset, pair[0].length), (pair[1].offset, pair[1].length));
        assert_eq!(spell(pair).split(' ').map(|word| &word[..1]).collect::<String>(), "tw");
    }
}

#[test]
fn syncs_keep_their_cadence() {
    let range = |every| Some(SyncFileRangePlan { flags: 2, every });
    for (fsync, fdatasync, barrier, file_range, expected) in [
        (4, 0, 0, None, "w0 w1 w2 w3 S w4 w5 w6 w7 S w8 w9"),
        (0, 3, 0, None, "w0 w1 w2 D w3 w4 w5 D w6 w7 w8 D w9"),
        (4, 2, 0, None, "w0 w1 D w2 w3 S w4 w5 D w6 w7 S w8 w9"),
        (0, 0, 5, None, "w0 w1 w2 w3 w4 S w5 w6 w7 w8 w9"),
        (0, 0, 0, range(4), "w0 w1 w2 w3 F0+4 w4 w5 w6 w7 F4+4 w8 w9"),
        (1, 0, 0, None, "w0 S w1 S w2 S w3 S w4 S w5 S w6 S w7 S w8 S w9"),
    ] {
        let sync = SyncCadence { fsync_every: fsync, fdatasync_every: fdatasync, barrier_every: barrier, file_range };
        assert_eq!(spell(&whole_pass(&WorkloadPlan { sync, ..plan("write") }, &[40 * K])), expected);
    }
}

#[test]
fn syncs_go_to_the_file_written_and_outlive_the_pass() {
    let sync = SyncCadence { fsync_every: 2, fdatasync_every: 0, barrier_every: 0, file_range: None };
    let synced = WorkloadPlan { sync, ..plan("write") };
    assert_eq!(spell(&whole_pass(&synced, &[8 * K, 8 * K])), "w0 w0@1 S@1 w1 w1@1");
    let mut stream = OpStream::new(&synced, &extents(&[8 * K]), bytes(8 * K)).expect("a plan that works");
    assert_eq!(spell(&drain(&mut stream)), "w0 w1");
    stream.restart();
    assert_eq!(spell(&drain(&mut stream)), "S w0 w1");
    // Reads neither count nor come between a write and its sync.
    let mixed = WorkloadPlan { sync: synced.sync, ..plan("randrw") };
    let text = spell(&whole_pass(&mixed, &[4096 * K]));
    let mut writes = 0;
    let mut before = "";
    for word in text.split(' ') {
        match &word[..1] {
            "w" => writes += 1,
            "S" => assert!(before.starts_with('w') && writes % 2 == 0, "{before} {writes}"),
            _ => {}
        }
        before = word;
    }
    assert!(writes > 400);
}
