//! Jobs that hold each other back, search their depth, submit from threads, or measure after a
//! ramp.

use iolab_recording::WorkerRecording;

use crate::support::Lab;

#[test]
fn flows_keep_the_ratio_of_their_weights() {
    let lab = Lab::new();
    let job = |name: &str, flow: u32| format!("[{name}]\nflow={flow}\n");
    let all = format!(
        "[global]\nfilename=f\nsize=1m\nrw=randread\nnorandommap=1\nbs=4k\nio_size=1g\ninterval=10ms\nflow_id=7\n[end]\nnumber_ios=20000\nexitall=1\nflow=1\n{}{}",
        job("five", 5),
        job("ten", 10)
    );
    lab.job(&all).ended(0, "");
    let workers = lab.recording().workers;
    // The others continue a little after the first one has ended, which does not count.
    let until_ns = workers[0].interval_latencies.last().unwrap().start_ns;
    let before = |worker: &WorkerRecording| {
        let intervals = worker.interval_latencies.iter().filter(|one| one.start_ns < until_ns);
        intervals.flat_map(|one| &one.directions).map(|direction| direction.ios as f64).sum()
    };
    let ios: Vec<f64> = workers.iter().map(before).collect();
    assert!(ios[0] > 10_000.0, "{ios:?}");
    assert!((4.5..5.6).contains(&(ios[1] / ios[0])), "{ios:?}");
    assert!((9.0..11.2).contains(&(ios[2] / ios[0])), "{ios:?}");
}

#[test]
fn a_latency_target_ends_the_job_and_says_which_depth_it_found() {
    let lab = Lab::new();
    let job = "[a]\nfilename=f\nsize=1m\nrw=randread\nnorandommap=1\nioengine=libaio\niodepth=8\ntime_based=1\nruntime=600\n\
               latency_target=10m\nlatency_window=20ms\n";
    let done = lab.job(job).ended(0, "");
    let report = &done.json()["jobs"][0];
    assert_eq!((&report["latency_depth"], &report["latency_target"]), (&8.into(), &600_000_000.into()));
    // The whole run is reported, starting with depth 1.
    assert!(report["iodepth_level"]["1"].as_f64().unwrap() > 0.0);
    let never = job.replace("latency_target=10m", "latency_target=1us");
    assert_eq!(lab.job(&never).ended(0, "").json()["jobs"][0]["latency_depth"], 1);
}

#[test]
fn threads_submit_for_any_engine() {
    let lab = Lab::new();
    for engine in ["psync", "sync", "libaio", "io_uring", "posixaio", "mmap"] {
        let job = format!(
            "[a]\nfilename=f\nsize=1m\nrw=randwrite\nbs=4k\nioengine={engine}\niodepth=4\nio_submit_mode=offload\nserialize_overlap=1\nfsync=32\n"
        );
        let done = lab.job(&job).ended(0, "");
        assert_eq!(done.json()["jobs"][0]["write"]["total_ios"], 256, "{engine}");
        assert_eq!(std::fs::metadata(lab.path("f")).unwrap().len(), 1 << 20);
    }
    lab.job("[a]\nfilename=f\nsize=1m\nrw=write\nverify=md5\nio_submit_mode=offload\n")
        .ended(2, "does not work together");
}

#[test]
fn a_ramp_by_size_is_not_measured() {
    let lab = Lab::new();
    let job = "[a]\nfilename=f\nsize=4m\nrw=read\nbs=4k\nrate_iops=2000\nnumber_ios=600\nramp_size=1m\n";
    let done = lab.job(job).ended(0, "");
    let ios = done.json()["jobs"][0]["read"]["total_ios"].as_u64().unwrap();
    assert!((1..=344).contains(&ios), "{ios}");
    lab.job(&format!("{job}ramp_time=1\n")).ended(2, "cannot be combined");
}

#[test]
fn threads_that_submit_do_not_move_the_position_of_each_other() {
    for engine in ["sync", "vsync"] {
        let lab = Lab::new();
        // Every block once. Where another thread moves the file's position before the write, a
        // block is missing.
        let job = format!(
            "[a]\nfilename=f\nsize=2m\nrw=randwrite\nbs=512\nioengine={engine}\niodepth=8\nio_submit_mode=offload\nbuffer_pattern=0xff\n"
        );
        lab.job(&job).ended(0, "");
        let written = std::fs::read(lab.path("f")).unwrap();
        assert_eq!(written.len(), 2 << 20, "{engine}");
        assert_eq!(written.iter().position(|byte| *byte != 0xff), None, "{engine}");
    }
}
