//! The cost that a run reports for itself: which jobs are calibrated, what is kept, and where it is
//! shown.

use crate::support::{Done, Lab};
use iolab_recording::{LoopCost, METHOD};

fn loops(lab: &Lab, job: &str) -> Vec<LoopCost> {
    lab.job(job).ended(0, "");
    lab.recording().calibration.map(|calibration| calibration.loops).unwrap_or_default()
}

fn overhead(done: &Done) -> serde_json::Value {
    done.json()["jobs"][0]["overhead"].clone()
}

#[test]
fn the_time_of_a_null_job_is_all_the_tools() {
    let lab = Lab::new();
    let null = ["--name=a", "--ioengine=null", "--rw=randread", "--size=4m", "--record=it.iolab"];
    let done = lab.run(["run"].iter().chain(&null)).ended(0, "");
    let line = done.printed().lines().find(|line| line.starts_with("  overhead     : ")).map(str::to_owned);
    let line = line.unwrap_or_else(|| panic!("{}", done.printed()));
    assert!(line.contains("all of the ") && line.contains("the engine is null (calibrated "), "{line}");
    assert!(line.contains("clock stamp ") && line.contains("timer jitter p99 "), "{line}");
    assert!(!done.errors().contains("limited by iolab"), "{}", done.errors());
    let again = lab.run(["report", "it.iolab"]).ended(0, "");
    assert!(again.printed().lines().any(|other| other == line), "{}", again.printed());
    let recording = lab.recording();
    let calibration = recording.calibration.unwrap();
    assert_eq!((calibration.method, calibration.loops.len()), (METHOD, 1));
    assert_eq!(calibration.loops[0].workers, [0]);
    assert!(calibration.loops[0].op_ps > 0 && calibration.timer.sleeps > 0);
    assert!(
        calibration.timer.p50_ns <= calibration.timer.p99_ns && calibration.timer.p99_ns <= calibration.timer.max_ns
    );
}

#[test]
fn every_kind_of_loop_can_be_calibrated() {
    let lab = Lab::new();
    for job in [
        "rw=read",
        "rw=randrw\niodepth=32",
        "rw=randwrite\niodepth=16\nrefill_buffers=1",
        "rw=randwrite\nbs=1m\niodepth=4",
        "rw=write\nfsync=4\niodepth=3",
        "rw=trimwrite",
        "rw=randread\ngtod_reduce=1\niodepth=8",
        "rw=randread\ndisable_slat=1",
        "rw=randread\nrate_iops=100000\nrate_process=poisson",
        "rw=randread\nrate_min=1",
        "rw=randread\nthinktime=1",
        "rw=randread\niodepth=4\nserialize_overlap=1",
        "rw=randread\nwrite_lat_log=x",
        "rw=randread\nmax_latency=10s",
        "rw=randrw\nbssplit=512/50:64k/50\nnrfiles=3",
        "rw=randread\nrandom_distribution=zipf:1.1\nclocksource=clock_gettime",
        "rw=randread\nclocksource=gettimeofday",
        "rw=randread\niodepth=32\niodepth_batch=8\niodepth_batch_complete_min=4\niodepth_low=12",
        "rw=read\nloops=3\nio_size=64k",
        "rw=randread\nioengine=psync\nthread=1",
        "rw=randwrite\nioengine=posixaio\niodepth=2",
        "rw=randread\nstartdelay=10ms\nramp_time=10ms\nruntime=20ms\ntime_based",
    ] {
        let loops = loops(&lab, &format!("[a]\nioengine=null\nsize=4m\n{job}\n"));
        assert_eq!(loops.len(), 1, "{job}");
        assert!(loops[0].workers == [0] && loops[0].op_ps > 0, "{job}: {loops:?}");
    }
}

#[test]
fn jobs_with_the_same_loop_share_its_figure() {
    let lab = Lab::new();
    let same = "[a]\nnumjobs=3\n[b]\nrate_iops_min=1\ndescription=other words\nfilename=elsewhere\n";
    let others = "[c]\niodepth=5\n[d]\ncalibrate=0\n[e]\nstats=0\n";
    let loops = loops(&lab, &format!("[global]\nioengine=null\nsize=1m\nrw=randread\n{same}{others}"));
    assert_eq!(loops[0].workers, [0, 1, 2, 3]);
    // Whether there is time for another measurement depends on the machine.
    assert!(loops[1..].iter().all(|cost| cost.workers == [4]), "{loops:?}");
}

#[test]
fn programs_read_it_in_json() {
    let lab = Lab::new();
    let job = "[a]\nioengine=null\nsize=1m\nrw=randread\nnumjobs=2\ngroup_reporting\n";
    let found = overhead(&lab.job(job).ended(0, ""));
    assert_eq!(
        (&found[0]["workers"], &found[0]["share_percent"], &found[0]["limited"]),
        (&2.into(), &100.0.into(), &0.into())
    );
    for key in ["tool_ns_per_io", "ns_per_io", "clock_stamp_ns"] {
        assert!(found[0][key].as_f64().is_some_and(|ns| ns > 0.0), "{key}: {found}");
    }
    assert!(found[0]["timer_late_ns"]["p99"].is_u64(), "{found}");
}

#[test]
fn what_is_not_asked_for_is_nowhere() {
    let lab = Lab::new();
    let job = "[a]\nioengine=null\nsize=1m\nrw=randread\n";
    assert!(overhead(&lab.job(&format!("{job}calibrate=0\n")).ended(0, "")).is_null());
    assert_eq!(lab.recording().calibration, None);
    lab.file("job.fio", job);
    for format in ["normal", "json", "json+", "terse"] {
        let done = lab.fio(["job.fio", &format!("--output-format={format}"), "--record=it.iolab"]).ended(0, "");
        assert!(!done.printed().contains("overhead") && done.errors().is_empty(), "{format}: {done:?}");
        assert_eq!(lab.recording().calibration, None, "{format}");
    }
}

#[test]
fn the_plan_says_whether_it_is_done() {
    let lab = Lab::new();
    for (options, expected) in [("", "yes"), ("calibrate=0\n", "no")] {
        lab.file("job.fio", format!("[a]\nioengine=null\nsize=1m\n{options}"));
        let plan = lab.run(["plan", "job.fio"]).ended(0, "").printed();
        let line = plan.lines().find(|line| line.contains(" calibrate ")).unwrap_or_default();
        assert!(line.ends_with(expected), "{options}: {line:?}");
    }
}
