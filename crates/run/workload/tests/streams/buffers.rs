//! Contents of written buffers: what compresses, what repeats, what changes, what stays.

use std::collections::HashSet;

use iolab_engine::{Op, OpKind};
use iolab_plan::{BufferContent, BufferPlan, WorkerPlan};
use iolab_workload::BufferFiller;

fn plan() -> BufferPlan {
    let text = include_str!("../../../../contract/recording/tests/worker_plan.json");
    let plan = serde_json::from_str::<WorkerPlan>(text).expect("a worker's plan").buffers;
    BufferPlan { scramble: false, ..plan }
}

fn write(offset: u64, length: u32) -> Op {
    Op { offset, length, buffer_offset: 0, file: 0, slot: 0, kind: OpKind::Write, priority: 0 }
}

/// Contents of `count` writes of 4 KiB at ascending offsets through one slot.
fn contents(plan: &BufferPlan, seed: u64, count: u64) -> Vec<Vec<u8>> {
    let mut filler = BufferFiller::new(plan, seed);
    let mut slot = vec![0; 4096];
    filler.initialise(&mut slot);
    let each = |number: u64| {
        if filler.touches_writes() {
            filler.before_write(&write(number * 4096, 4096), &mut slot);
        }
        slot.clone()
    };
    (0..count).map(each).collect()
}

fn distinct<T: std::hash::Hash + Eq>(items: impl IntoIterator<Item = T>) -> usize {
    items.into_iter().collect::<HashSet<_>>().len()
}

#[test]
fn only_plans_that_change_something_touch_writes() {
    let cases = [
        (plan(), false),
        (BufferPlan { refill: true, ..plan() }, true),
        (BufferPlan { scramble: true, ..plan() }, true),
        (BufferPlan { dedupe_percent: 5, ..plan() }, true),
        (BufferPlan { compress_percent: Some(50), ..plan() }, true),
        (BufferPlan { compress_percent: Some(100), refill: true, ..plan() }, false),
        (BufferPlan { content: BufferContent::Zero, scramble: true, ..plan() }, false),
        (BufferPlan { content: BufferContent::Pattern(vec![1, 2]), scramble: true, ..plan() }, false),
    ];
    for (plan, touches) in cases {
        assert_eq!(BufferFiller::new(&plan, 1).touches_writes(), touches, "{plan:?}");
    }
}

#[test]
fn seeds_decide_the_bytes() {
    let refill = BufferPlan { refill: true, ..plan() };
    assert_eq!(contents(&refill, 1, 4), contents(&refill, 1, 4));
    assert_ne!(contents(&refill, 1, 1), contents(&refill, 2, 1));
    assert_eq!(distinct(contents(&refill, 1, 50)), 50);
    assert_eq!(distinct(contents(&plan(), 1, 5)), 1);
}

#[test]
fn slots_differ_from_each_other() {
    let mut filler = BufferFiller::new(&plan(), 9);
    let mut slots = vec![vec![0; 4096]; 8];
    for slot in &mut slots {
        filler.initialise(slot);
    }
    assert_eq!(distinct(slots), 8);
}

#[test]
fn scrambling_leaves_no_two_blocks_alike_and_changes_little() {
    let scramble = BufferPlan { scramble: true, ..plan() };
    let writes = contents(&scramble, 3, 200);
    assert_eq!(distinct(writes.iter().flat_map(|write| write.chunks(512))), 200 * 8);
    for pair in writes.windows(2) {
        let changed = pair[0].iter().zip(&pair[1]).filter(|(a, b)| a != b).count();
        assert!(changed <= 64, "{changed}");
    }
    // The same offset again still gets different content.
    let mut filler = BufferFiller::new(&scramble, 3);
    let mut slot = vec![0; 512];
    let again = |_| {
        filler.before_write(&write(8192, 512), &mut slot);
        slot.clone()
    };
    assert_eq!(distinct((0..20).map(again)), 20);
}

#[test]
fn zeroes_and_patterns() {
    let zero = BufferPlan { content: BufferContent::Zero, refill: true, ..plan() };
    assert!(contents(&zero, 1, 2).iter().flatten().all(|byte| *byte == 0));
    let pattern = BufferPlan { content: BufferContent::Pattern(b"abc".to_vec()), ..plan() };
    let expected: Vec<u8> = b"abc".iter().copied().cycle().take(4096).collect();
    assert_eq!(contents(&pattern, 1, 1)[0], expected);
}

/// Share of bytes that belong to runs of 16 or more equal bytes, and whether the rest repeats
/// anything.
fn compressible_percent(bytes: &[u8]) -> f64 {
    let runs = bytes.chunk_by(|a, b| a == b).filter(|run| run.len() >= 16).map(<[u8]>::len).sum::<usize>();
    runs as f64 * 100.0 / bytes.len() as f64
}

#[test]
fn compression_is_as_asked_in_every_chunk() {
    for chunk in [512, 1024, 4096] {
        for percent in [0, 10, 25, 50, 75, 90, 100] {
            let plan = BufferPlan { compress_percent: Some(percent), compress_chunk_bytes: chunk, ..plan() };
            let writes = contents(&plan, 4, 20);
            for part in writes.iter().flat_map(|write| write.chunks(chunk as usize)) {
                let share = compressible_percent(part);
                assert!((share - f64::from(percent)).abs() < 2.0, "{chunk} {percent}: {share}");
            }
            // Random parts never repeat, or a compressor with a window would find more.
            let words = writes.iter().flat_map(|write| write.as_chunks::<8>().0).filter(|word| **word != [0; 8]);
            assert_eq!(distinct(words.clone()), words.count());
        }
    }
    let pattern = BufferPlan { content: BufferContent::Pattern(vec![7]), compress_percent: Some(50), ..plan() };
    let write = &contents(&pattern, 4, 1)[0];
    assert!(write[256..512].iter().all(|byte| *byte == 7));
    assert!((compressible_percent(write) - 50.0).abs() < 2.0);
}

#[test]
fn a_short_write_keeps_the_proportion() {
    let plan = BufferPlan { compress_percent: Some(50), compress_chunk_bytes: 1 << 20, ..plan() };
    assert!((compressible_percent(&contents(&plan, 4, 1)[0]) - 50.0).abs() < 2.0);
}

#[test]
fn duplicates_are_as_many_as_asked() {
    for (percent, set) in [(20, None), (70, None), (50, Some(10))] {
        let plan = BufferPlan { dedupe_percent: percent, dedupe_working_set_percent: set, ..plan() };
        let writes = contents(&plan, 6, 4000);
        let repeated = 100.0 * (4000 - distinct(&writes)) as f64 / 4000.0;
        assert!((repeated - f64::from(percent)).abs() < 3.5, "{percent}: {repeated}");
    }
}

#[test]
fn nothing_past_the_operation_is_touched() {
    for plan in [BufferPlan { refill: true, ..plan() }, BufferPlan { scramble: true, ..plan() }] {
        let mut filler = BufferFiller::new(&plan, 1);
        let mut slot = vec![0xee; 4096];
        filler.before_write(&write(0, 1000), &mut slot);
        assert!(slot[1000..].iter().all(|byte| *byte == 0xee));
        filler.before_write(&write(0, 4096), &mut slot[..3]);
    }
}
