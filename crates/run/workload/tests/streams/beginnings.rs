//! When files begin again: as often as fio drops them from the page cache, and with exactly the
//! operation that follows. The numbers are those of `strace -e fadvise64 fio`, version 3.33.

use iolab_plan::{Distribution, FileService, FileServiceKind, RandomMap, SyncCadence, WorkloadPlan};
use iolab_workload::{OpBatch, OpStream, PassLimits};

use crate::support;
use crate::support::{K, extents, plan, sized, spell, whole};

/// Passes over the files: each operation in fio's order, with `|` and the files that begin again
/// before the operation.
fn told(plan: &WorkloadPlan, lengths: &[u64], limits: PassLimits, passes: usize) -> String {
    let mut stream = OpStream::new(plan, &extents(lengths), limits).expect("a plan that works");
    let (mut batch, mut words) = (OpBatch::new(), Vec::new());
    for number in 0..passes {
        if number > 0 {
            stream.restart();
        }
        while stream.fill(&mut batch) > 0 {
            let again = stream.begun_again();
            if !again.is_empty() {
                let files: Vec<String> = again.iter().map(u32::to_string).collect();
                words.push(format!("|{}", files.join(",")));
            }
            words.push(spell(&batch.by_ref().collect::<Vec<_>>()));
        }
        assert!(stream.begun_again().is_empty(), "a pass that is over begins nothing");
    }
    words.join(" ")
}

fn count(plan: &WorkloadPlan, lengths: &[u64], limits: PassLimits, passes: usize) -> usize {
    let told = told(plan, lengths, limits, passes);
    told.split(' ').filter_map(|word| word.strip_prefix('|')).map(|files| files.split(',').count()).sum()
}

#[test]
fn a_file_begins_again_with_each_pass() {
    let two = [8 * K, 8 * K];
    assert_eq!(told(&plan("read"), &[8 * K], whole(&[8 * K]), 3), "r0 r1 |0 r0 r1 |0 r0 r1");
    assert_eq!(told(&plan("write"), &two, whole(&two), 2), "w0 w0@1 w1 w1@1 |0,1 w0 w0@1 w1 w1@1");
}

#[test]
fn a_file_begins_again_within_a_pass_that_is_longer_than_it() {
    let limits = PassLimits { io_bytes: 24 * K, io_count: None };
    assert_eq!(told(&plan("read"), &[8 * K], limits, 2), "r0 r1 |0 r0 r1 |0 r0 r1 |0 r0 r1 |0 r0 r1 |0 r0 r1");
    // io_size=256k over 64k: four times in all, which is the opening and three more.
    let limits = PassLimits { io_bytes: 256 * K, io_count: None };
    assert_eq!(count(&plan("read"), &[64 * K], limits, 1), 3);
    assert_eq!(count(&plan("randread"), &[64 * K], limits, 1), 3);
}

#[test]
fn files_without_an_end_do_not_begin_again() {
    let mapless = WorkloadPlan { random_map: RandomMap::Off, ..plan("randread") };
    assert_eq!(count(&mapless, &[64 * K], whole(&[64 * K]), 5), 0);
    let skewed = support::distributed(Distribution::Zipf { theta: 1.2, center: None });
    assert_eq!(count(&skewed, &[64 * K], whole(&[64 * K]), 5), 0);
}

#[test]
fn each_of_several_files_begins_again_by_itself_where_one_is_read_more_than_others() {
    let kind = FileServiceKind::Zipf(1.2);
    let plan = WorkloadPlan { file_service: FileService { kind, every: 1, open_files: 0 }, ..plan("randread") };
    let lengths = [16 * K, 16 * K, 16 * K];
    let told = told(&plan, &lengths, PassLimits { io_bytes: 480 * K, io_count: None }, 1);
    let again: Vec<&str> = told.split(' ').filter(|word| word.starts_with('|')).collect();
    assert!(again.len() > 20, "{told}");
    assert!(again.iter().all(|word| ["|0", "|1", "|2"].contains(word)), "{told}");
}

#[test]
fn what_stands_between_operations_keeps_the_place() {
    let sync = SyncCadence { fdatasync_every: 1, ..plan("write").sync };
    let syncing = WorkloadPlan { sync, ..plan("write") };
    let limits = PassLimits { io_bytes: 16 * K, io_count: None };
    assert_eq!(told(&syncing, &[8 * K], limits, 1), "w0 D w1 D |0 w0 D w1");
    assert_eq!(told(&plan("trimwrite"), &[8 * K], limits, 1), "t0 w0 t1 w1 |0 t0 w0 t1 w1");
}

#[test]
fn nothing_of_the_order_changes_where_batches_end() {
    let plan = sized("randread", iolab_plan::BlockSizes::Fixed(4 * K));
    let limits = PassLimits { io_bytes: 1024 * K, io_count: None };
    let told = told(&plan, &[36 * K], limits, 1);
    let plain: Vec<&str> = told.split(' ').filter(|word| !word.starts_with('|')).collect();
    let whole = support::pass(&plan, &[36 * K], limits);
    assert_eq!(plain.join(" "), spell(&whole));
    assert_eq!(plain.len(), 256);
}
