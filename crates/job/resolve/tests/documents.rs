//! The experiments of the source studies, as whole jobs.

mod support;

use iolab_options::{Direction, Percent};
use iolab_plan::{BlockSizes, describe};
use support::{GIB, plan};

#[test]
fn interface_comparison_with_one_and_four_jobs() {
    for (pattern, directions) in [
        ("randrw", vec![Direction::Read, Direction::Write]),
        ("randwrite", vec![Direction::Write]),
        ("randread", vec![Direction::Read]),
    ] {
        for (gib, clones) in [(4, 1), (1, 4)] {
            let plan = plan(&format!(
                "[global]\nioengine=libaio\nthread=1\nrw={pattern}\nfilename=/dev/disk\nbs=4k\nsize={gib}g\ntime_based=1\n\
                 ramp_time=0\nruntime=10\nrefill_buffers=1\nnorandommap=1\ngroup_reporting=1\ndirect=1\nverify=0\n\
                 iodepth=1\n[test]\nnumjobs={clones}\n"
            ));
            assert_eq!(plan.workers.len(), clones);
            for worker in &plan.workers {
                assert_eq!(worker.workload.pattern.directions, directions);
                assert_eq!((worker.files[0].length_bytes, worker.limits.io_bytes), (gib * GIB, gib * GIB));
                assert!(
                    worker.layout.direct && worker.process.thread && worker.group_reporting && worker.buffers.refill
                );
                assert_eq!((worker.queue.depth, worker.group), (1, 0));
            }
        }
    }
}

#[test]
fn deep_queue_random_read() {
    let plan = plan(
        "[global]\nioengine=io_uring\nthread=1\ngroup_reporting=1\ndirect=1\nverify=0\ntime_based=1\nramp_time=0\n\
         runtime=1800\niodepth=128\nrw=randread\nbs=4k\n[test]\nfilename=/dev/disk\nnumjobs=1\n",
    );
    let worker = &plan.workers[0];
    assert_eq!((worker.queue.depth, worker.files[0].length_bytes), (128, 8 * GIB));
    assert_eq!(worker.limits.runtime_ns, Some(1_800_000_000_000));
}

#[test]
fn block_device_under_a_file_system() {
    let plan = plan(
        "[global]\nioengine=libaio\ninvalidate=1\nramp_time=5\nruntime=180\ntime_based\ndirect=1\ngroup_reporting=1\n\
         per_job_logs=0\nbs=8k\nrw=randrw\nsize=40g\niodepth=8\nend_fsync=1\nnumjobs=4\ndirectory=/data\n[seq]\n",
    );
    assert_eq!(plan.workers.len(), 4);
    let paths: Vec<_> = plan.workers.iter().map(|worker| worker.files[0].path.display().to_string()).collect();
    assert_eq!(paths, ["/data/seq.0.0", "/data/seq.1.0", "/data/seq.2.0", "/data/seq.3.0"]);
    assert!(plan.workers.iter().all(|worker| worker.layout.end_fsync && worker.files[0].layout_bytes == 40 * GIB));
}

#[test]
fn engines_by_their_system_calls() {
    let plan = plan(
        "[global]\nrw=randread\nsize=9000\nbs=4090\nfilename=/data/big\n[a]\nioengine=psync\n[b]\nstonewall\n\
         ioengine=libaio\n[c]\nstonewall\nioengine=io_uring\n",
    );
    let stages: Vec<(u32, u32)> = plan.workers.iter().map(|worker| (worker.stage, worker.group)).collect();
    assert_eq!(stages, [(0, 0), (1, 1), (2, 2)]);
    assert_eq!(plan.workers[0].files[0].length_bytes, 9000);
    assert_eq!(plan.workers[0].workload.align_bytes[0], 4090);
}

#[test]
fn practical_with_mixes_sizes_splits_and_clones() {
    let base = "[global]\nruntime=60\nnumjobs=1\nrwmixwrite=30\nbs=16k\nfilesize=1G\nrw=randrw\ndirect=0\n";
    let worker = plan(&format!("{base}[base]\n")).workers.remove(0);
    assert_eq!((worker.workload.read_percent, worker.limits.io_bytes), (Percent::whole(70), GIB));
    assert!(!worker.layout.direct);
    for writes in [0.0, 12.5, 25.0, 37.5, 50.0, 62.5, 75.0, 87.5, 100.0] {
        let plan = plan(&format!("{base}[mix]\nrwmixwrite={writes}\n"));
        assert_eq!(plan.workers[0].workload.read_percent.as_number(), 100.0 - writes);
    }
    let split = plan(&format!("{base}[split]\nrw=randwrite\nbssplit=4k/30:16k/60:64k/10\n"));
    let expected = BlockSizes::Split(vec![(4096, 30), (16384, 60), (65536, 10)]);
    assert_eq!(split.workers[0].workload.block_sizes[1], expected);
    for clones in [1, 2, 4, 6, 8] {
        assert_eq!(plan(&format!("{base}[many]\nnumjobs={clones}\n")).workers.len(), clones);
    }
}

#[test]
fn described_plans_fold_clones_and_mark_what_was_given() {
    let text = describe(&plan(
        "[global]\nbs=8k\nsize=1m\n[load]\nrw=randread\nnumjobs=4\n[after]\nstonewall\nioengine=io_uring\nhipri\n",
    ));
    let has = |wanted: &str| assert!(text.lines().any(|line| line == wanted), "no line {wanted:?} in\n{text}");
    has("5 workers in 2 stages, 2 groups");
    has("load x 4: workers 0 to 3, stage 0, group 0");
    has("after: worker 4, stage 1, group 1");
    has("  * bs                       8 KiB");
    has("    iodepth                  1");
    has("  * hipri                    yes");
    has("  * file 0                   load.0.0: 1 MiB from 0 B, laid out to 1 MiB, named by iolab");
    has("                             load.3.0: 1 MiB from 0 B, laid out to 1 MiB, named by iolab");
    assert!(text.lines().all(|line| line == line.trim_end()));
}
