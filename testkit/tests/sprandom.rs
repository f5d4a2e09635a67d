//! After one pass of `sprandom` a drive is in the steady state of random writes: the model of a
//! drive, in virtual time, with the operations that jobs make.

use iolab_ssd_timing::study::{Age, ClosedLoop, age};
use iolab_ssd_timing::{Capacity, Preset, TimedCommand, TimingModel};
use iolab_testkit::whole_run::plan;
use iolab_workload::{Extent, OpBatch, OpStream, PassLimits};

const VISIBLE_BYTES: u64 = 512 << 20;

fn drive() -> TimingModel {
    let mut parameters = Preset::named("970pro").unwrap().parameters();
    parameters.set("spare", "15").unwrap();
    parameters.set("idle_collect_below", "0").unwrap();
    TimingModel::build(&parameters, Capacity::Visible(VISIBLE_BYTES)).unwrap()
}

/// Writes what a job writes.
fn write(drive: &mut TimingModel, host: &mut ClosedLoop, options: &str) {
    let plan = plan(&format!("[a]\nfilename=drive\nsize={VISIBLE_BYTES}\nrw=randwrite\nbs=4k\n{options}\n"));
    let worker = &plan.workers[0];
    let files = [Extent { start_bytes: 0, length_bytes: VISIBLE_BYTES }];
    let limits = PassLimits { io_bytes: worker.limits.io_bytes, io_count: None };
    let mut stream = OpStream::new(&worker.workload, &files, limits).unwrap();
    let mut batch = OpBatch::new();
    while stream.fill(&mut batch) > 0 {
        for op in batch.by_ref() {
            host.issue(drive, &TimedCommand::write(op.offset, u64::from(op.length)));
        }
    }
}

/// The write amplification of random writes to half of the capacity, after a job.
fn amplification_after(mut drive: TimingModel, options: Option<&str>) -> f64 {
    let mut host = ClosedLoop::new(32, 0);
    if let Some(options) = options {
        write(&mut drive, &mut host, options);
    }
    let before = drive.statistics();
    write(&mut drive, &mut host, &format!("norandommap=1\nio_size={}\nrandseed=7", VISIBLE_BYTES / 2));
    drive.statistics().since(&before).write_amplification().unwrap()
}

#[test]
fn one_pass_makes_a_drive_steady() {
    let mut aged = drive();
    age(&mut aged, Age::Overwritten { drive_writes: 3, seed: 3 });
    let steady = amplification_after(aged, None);
    let written_once = amplification_after(drive(), Some(""));
    let conditioned = amplification_after(drive(), Some("sprandom=1\nspr_op=0.15"));
    assert!((conditioned / steady - 1.0).abs() < 0.05, "{conditioned} after sprandom, {steady} steady");
    assert!(written_once < 0.9 * steady, "{written_once} after one drive write, {steady} steady");
}
