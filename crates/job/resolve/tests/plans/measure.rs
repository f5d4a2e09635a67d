//! Buffers, measurement, logs.

use iolab_options::{Setting, Value};
use iolab_plan::{BufferContent, BufferMemory, ClockChoice, LogWindow, UnifiedReporting};
use iolab_resolve::{Mode, resolve};

use crate::support;
use crate::support::{refusals, resolved, section, worker};

#[test]
fn buffer_contents() {
    use BufferContent::{Pattern, Random, Zero};
    // options, content, refill, scramble, compress, dedupe
    let cases = [
        ("rw=write", Random, false, true, None, 0),
        ("refill_buffers", Random, true, false, None, 0),
        ("scramble_buffers=0", Random, false, false, None, 0),
        ("zero_buffers", Zero, false, false, None, 0),
        ("zero_buffers scramble_buffers=1", Zero, false, true, None, 0),
        ("buffer_pattern=\"abc\"", Pattern(b"abc".to_vec()), false, false, None, 0),
        ("buffer_pattern=\"abc\" refill_buffers", Pattern(b"abc".to_vec()), false, false, None, 0),
        ("buffer_compress_percentage=50", Random, true, false, Some(50), 0),
        ("buffer_compress_percentage=100", Zero, false, false, None, 0),
        ("buffer_compress_percentage=50 buffer_pattern=\"abc\"", Pattern(b"abc".to_vec()), true, false, Some(50), 0),
        ("dedupe_percentage=30", Random, true, false, None, 30),
    ];
    for (options, content, refill, scramble, compress, dedupe) in cases {
        let plan = worker(&format!("size=1m {options}")).buffers;
        assert_eq!(plan.content, content, "{options}");
        let found = (plan.refill, plan.scramble, plan.compress_percent, plan.dedupe_percent);
        assert_eq!(found, (refill, scramble, compress, dedupe), "{options}");
    }
    let set = worker("size=1m dedupe_percentage=30 dedupe_mode=working_set").buffers;
    assert_eq!(set.dedupe_working_set_percent, Some(5));
}

#[test]
fn buffer_memory() {
    let file = |shared| BufferMemory::File { path: "/tmp/b".into(), shared };
    let cases = [
        ("rw=read", BufferMemory::Anonymous),
        ("mem=mmap", BufferMemory::Anonymous),
        ("mem=shm", BufferMemory::Shared),
        ("mem=shmhuge", BufferMemory::Huge { page_bytes: 2 << 20 }),
        ("mem=mmaphuge hugepage-size=1048576", BufferMemory::Huge { page_bytes: 1 << 20 }),
        ("mem=mmap:/tmp/b", file(false)),
        ("mem=mmapshared:/tmp/b", file(true)),
    ];
    for (options, memory) in cases {
        assert_eq!(worker(&format!("size=1m {options}")).buffers.memory, memory, "{options}");
    }
    // The largest block of the directions in use.
    let sizes = [("rw=read bs=4k,1m", 4096), ("rw=write bs=4k,1m", 1 << 20), ("rw=rw bssplit=4k/50:64k/50", 65536)];
    for (options, bytes) in sizes {
        assert_eq!(worker(&format!("size=2m {options}")).buffers.slot_bytes, bytes, "{options}");
    }
    assert!(refusals(&section("size=1m iomem_align=100"), |_| {})[0].reason.contains("power of two"));
}

#[test]
fn what_is_measured() {
    // options, slat, clat, lat, bandwidth
    let cases = [
        ("rw=read", [true, true, true, true]),
        ("disable_lat=1", [true, true, false, true]),
        ("disable_clat=1 disable_slat=1", [false, false, true, true]),
        ("gtod_reduce=1", [false, false, false, false]),
        ("gtod_reduce=1 disable_lat=0", [false, false, true, false]),
        ("disable_bw_measurement=1", [true, true, true, false]),
    ];
    for (options, expected) in cases {
        let plan = worker(&format!("size=1m {options}")).measurement;
        assert_eq!([plan.slat, plan.clat, plan.lat, plan.bandwidth], expected, "{options}");
        assert_eq!(plan.percentiles.clat, plan.clat, "{options}");
    }
    let plan = worker("size=1m percentile_list=99.9:50 lat_percentiles=1 unified_rw_reporting=both clocksource=cpu")
        .measurement;
    assert_eq!(plan.percentiles.list, [50.0, 99.9]);
    assert!(plan.percentiles.lat && plan.percentiles.clat);
    assert_eq!((plan.unified, plan.clock), (UnifiedReporting::Both, ClockChoice::Cpu));
    assert!(worker("size=1m nrfiles=2 per_file_stats=1").measurement.per_file);
    let unmeasured = resolved(&section("size=1m nrfiles=2 per_file_stats=1 gtod_reduce=1"), |_| {});
    assert!(!unmeasured.plan.workers[0].measurement.per_file);
    assert!(unmeasured.warnings[0].reason.contains("per_file_stats has no effect"));
    let defaults = worker("size=1m").measurement;
    assert!(!defaults.per_file);
    assert_eq!((defaults.bandwidth_window_ms, defaults.kb_base, defaults.significant_figures), (500, 1024, 4));
    assert_eq!(defaults.percentiles.list.len(), 17);
    let windows = [("write_bw_log=b log_avg_msec=100", 100), ("log_avg_msec=100", 500), ("bwavgtime=50", 50)];
    for (options, expected) in windows {
        let found = worker(&format!("size=1m {options}")).measurement.bandwidth_window_ms;
        assert_eq!(found, expected, "{options}");
    }
}

#[test]
fn logs() {
    let logs =
        worker("size=1m write_lat_log=lat write_bw_log=out/run log_avg_msec=500 log_window_value=both per_job_logs=0")
            .logs;
    assert_eq!((logs.latency.as_deref(), logs.bandwidth.as_deref()), (Some("lat"), Some("out/run")));
    assert_eq!((logs.iops, logs.window_ns, logs.window_value), (None, 500_000_000, LogWindow::Both));
    assert!(!logs.per_job);
    let histogram =
        worker("size=1m write_hist_log=h log_hist_msec=1000 log_hist_coarseness=3").logs.histogram.expect("given");
    assert_eq!((histogram.prefix.as_str(), histogram.interval_ns, histogram.coarseness), ("h", 1_000_000_000, 3));
    let without = resolved(&section("size=1m write_hist_log=h"), |_| {});
    assert!(without.warnings[0].reason.contains("log_hist_msec"));
    let aux =
        resolved(&section("size=1m write_iops_log=p"), |request| request.overrides.aux_path = Some("/aux".into()));
    assert_eq!(aux.plan.workers[0].logs.iops.as_deref(), Some("/aux/p"));
}

#[test]
fn a_bare_log_option_means_the_name_of_the_job() {
    let mut jobs = support::jobs(&section("size=1m"));
    let bare = Setting { value: Value::Text(String::new()), text: String::new(), source: 0, span: (0, 0) };
    jobs.jobs[0].settings.set("write_lat_log", bare);
    let plan = resolve(&support::request(&jobs)).expect("accepted").plan;
    assert_eq!(plan.workers[0].logs.latency.as_deref(), Some("job"));
}

#[test]
fn iolab_calibrates_unless_told_otherwise_and_fio_only_when_told() {
    for (options, mode, expected) in [
        ("rw=read", Mode::Iolab, true),
        ("calibrate=0", Mode::Iolab, false),
        ("rw=read", Mode::Fio, false),
        ("calibrate=1", Mode::Fio, true),
    ] {
        let resolved = resolved(&section(&format!("size=1m {options}")), |request| request.mode = mode);
        assert_eq!(resolved.plan.workers[0].measurement.calibrate, expected, "{options} {mode:?}");
    }
}

#[test]
fn intervals_are_10_ms_to_1_h_long_or_none() {
    // option, interval of latencies, interval for counting rates (that of the averaging windows)
    let cases = [
        ("rw=read", 1_000_000_000, 500_000_000),
        ("interval=100ms", 100_000_000, 500_000_000),
        ("interval=2 bwavgtime=50", 2_000_000_000, 50_000_000),
        ("interval=10ms", 10_000_000, 500_000_000),
        ("interval=1h", 3_600_000_000_000, 500_000_000),
        ("interval=0", 0, 500_000_000),
    ];
    for (options, latencies_ns, rates_ns) in cases {
        let plan = worker(&format!("size=1m {options}")).measurement;
        assert_eq!((plan.histogram_interval_ns, plan.interval_ns), (latencies_ns, rates_ns), "{options}");
    }
    for refused in ["interval=9ms", "interval=2h"] {
        assert!(
            refusals(&section(&format!("size=1m {refused}")), |_| {})[0].reason.contains("10ms to 1h"),
            "{refused}"
        );
    }
}

#[test]
fn looks_at_the_machine_are_10_ms_to_1_h_apart_or_none() {
    let cases = [
        ("rw=read", 1_000_000_000),
        ("runtime=1", 100_000_000),
        ("runtime=6", 300_000_000),
        ("runtime=4 ramp_time=2", 300_000_000),
        ("runtime=60", 1_000_000_000),
        ("runtime=2h", 2_000_000_000),
        ("runtime=60 sample_interval=10ms", 10_000_000),
        ("sample_interval=0", 0),
    ];
    for (options, expected_ns) in cases {
        assert_eq!(worker(&format!("size=1m {options}")).measurement.sample_interval_ns, expected_ns, "{options}");
    }
    for refused in ["sample_interval=9ms", "sample_interval=2h"] {
        let reason = &refusals(&section(&format!("size=1m {refused}")), |_| {})[0].reason;
        assert!(reason.contains("10ms to 1h"), "{refused}: {reason}");
    }
    let traces = |options: &str| worker(&format!("size=1m {options}")).measurement.trace_block;
    assert_eq!(["rw=read", "trace_block=1", "trace_block=1 sample_interval=0"].map(traces), [false, true, false]);
    for (options, expected_ns) in [("runtime=60", 0), ("sample_interval=1", 1_000_000_000)] {
        let plan = resolved(&section(&format!("size=1m {options}")), |request| request.mode = Mode::Fio).plan;
        assert_eq!(plan.workers[0].measurement.sample_interval_ns, expected_ns, "fio mode: {options}");
    }
}
