//! Clones, groups, stages, limits, queues, pace, processes, errors.

use iolab_options::RateProcess;
use iolab_plan::{ContinuableError, CpuPolicy, ExitScope, ThinkTrigger};
use iolab_resolve::Mode;

use crate::support::{plan, refusals, resolved, section, worker};

const SECOND: u64 = 1_000_000_000;

#[test]
fn groups_and_stages() {
    // text, (group, stage) of each worker
    let cases: [(&str, &[(u32, u32)]); 8] = [
        ("[a]\n[b]\n", &[(0, 0), (0, 0)]),
        ("[a]\nstonewall\n[b]\n", &[(0, 0), (0, 0)]),
        ("[a]\n[b]\nstonewall\n[c]\n", &[(0, 0), (1, 1), (1, 1)]),
        ("[a]\n[b]\nnew_group\n[c]\n", &[(0, 0), (1, 0), (1, 0)]),
        ("[a]\nnumjobs=2\n[b]\nstonewall\nnumjobs=2\n", &[(0, 0), (0, 0), (1, 1), (1, 1)]),
        ("[a]\n---\n[b]\nsize=1m\n[c]\nsize=1m\n", &[(0, 0), (1, 1), (1, 1)]),
        ("[a]\ngroup_reporting\n[b]\ngroup_reporting\n", &[(0, 0), (0, 0)]),
        ("[global]\nstonewall\n[a]\n[b]\n[c]\n", &[(0, 0), (1, 1), (2, 2)]),
    ];
    for (text, expected) in cases {
        let text = format!("[global]\nsize=1m\n{text}");
        let found: Vec<(u32, u32)> = plan(&text).workers.iter().map(|worker| (worker.group, worker.stage)).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn only_chosen_sections_run() {
    let text = "[global]\nsize=1m\n[a]\n[b]\n---\n[global]\nsize=1m\n[c]\n[d]\n";
    let run = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        resolved(text, |request| request.overrides.sections = names).plan
    };
    let chosen = run(&["b", "d"]);
    let found: Vec<(&str, u32, u32)> =
        chosen.workers.iter().map(|worker| (worker.job.as_str(), worker.section, worker.stage)).collect();
    assert_eq!(found, [("b", 1, 0), ("d", 3, 1)]);
    let none = refusals(text, |request| request.overrides.sections = vec!["x".into()]);
    assert!(none[0].suggestion.as_deref().is_some_and(|suggestion| suggestion.contains("a, b, c, d")));
    assert!(refusals("[global]\nsize=1m\n", |_| {})[0].reason.contains("no jobs"));
}

#[test]
fn too_many_workers() {
    let text = section("size=1m numjobs=10");
    assert!(refusals(&text, |request| request.overrides.max_jobs = Some(9))[0].reason.contains("the limit is 9"));
    assert_eq!(plan(&text).workers.len(), 10);
}

#[test]
fn waiting_for_a_job() {
    let text = "[global]\nsize=1m\n[a]\n[b]\nwait_for=a\n";
    assert_eq!(plan(text).workers[1].wait_for.as_deref(), Some("a"));
    for (target, reason) in [("b", "itself"), ("c", "after it"), ("x", "no such job")] {
        let text = format!("[global]\nsize=1m\n[b]\nwait_for={target}\n[c]\n");
        assert!(refusals(&text, |_| {})[0].reason.contains(reason), "{target}");
    }
}

#[test]
fn limits() {
    let limits = worker("size=1m runtime=60 time_based ramp_time=5 startdelay=3").limits;
    assert_eq!((limits.runtime_ns, limits.ramp_ns, limits.start_delay_ns), (Some(60 * SECOND), 5 * SECOND, 3 * SECOND));
    assert!(limits.time_based);
    let limits = worker("size=1m loops=3 number_ios=10").limits;
    assert_eq!((limits.loops, limits.io_count, limits.runtime_ns), (3, Some(10), None));
    let delays: Vec<u64> = plan(&section("size=1m startdelay=1-5 numjobs=8"))
        .workers
        .iter()
        .map(|worker| worker.limits.start_delay_ns)
        .collect();
    assert!(delays.iter().all(|delay| (SECOND..=5 * SECOND).contains(delay)));
    assert!(delays.windows(2).any(|pair| pair[0] != pair[1]));
    let cut = resolved(&section("size=1m runtime=60"), |request| request.overrides.runtime_ns = Some(SECOND));
    assert_eq!(cut.plan.workers[0].limits.runtime_ns, Some(SECOND));
}

#[test]
fn time_based_needs_a_runtime() {
    let text = section("size=1m time_based");
    assert!(refusals(&text, |_| {})[0].reason.contains("runtime"));
    let as_fio = resolved(&text, |request| request.mode = Mode::Fio);
    assert!(!as_fio.plan.workers[0].limits.time_based);
}

#[test]
fn as_fio_sequential_operations_are_submitted_one_by_one() {
    for (pattern, mode, expected) in [
        ("read", Mode::Fio, Some(1)),
        ("randread", Mode::Fio, Some(8)),
        ("read", Mode::Iolab, Some(8)),
        ("read iodepth_batch=8", Mode::Fio, Some(8)),
    ] {
        let text = section(&format!("size=1m ioengine=io_uring iodepth=32 rw={pattern}"));
        let plan = resolved(&text, |request| request.mode = mode).plan;
        assert_eq!(plan.workers[0].queue.batch_submit, expected, "{pattern} {mode:?}");
    }
}

#[test]
fn queues() {
    // options, depth, submit, least, most, low
    let cases = [
        ("ioengine=io_uring", (1, Some(1), 1, None, None)),
        ("ioengine=io_uring iodepth=32", (32, Some(8), 1, None, None)),
        ("ioengine=io_uring iodepth=32 iodepth_batch=64", (32, Some(32), 1, None, None)),
        ("ioengine=io_uring iodepth=32 iodepth_batch=0", (32, Some(32), 1, None, None)),
        ("ioengine=io_uring iodepth=32 iodepth_batch_complete_min=8", (32, Some(8), 8, None, None)),
        (
            "ioengine=io_uring iodepth=32 iodepth_batch_complete_min=0 iodepth_batch_complete_max=16 iodepth_low=8",
            (32, Some(8), 0, Some(16), Some(8)),
        ),
        ("ioengine=io_uring iodepth=8 iodepth_low=8", (8, Some(2), 1, None, None)),
    ];
    for (options, expected) in cases {
        let queue = worker(&format!("size=1m {options}")).queue;
        let (submit, low) = (queue.batch_submit, queue.low_watermark);
        assert_eq!(
            (queue.depth, submit, queue.batch_complete_min, queue.batch_complete_max, low),
            expected,
            "{options}"
        );
    }
    let capped = resolved(&section("size=1m ioengine=psync iodepth=32 numjobs=4"), |_| {});
    assert_eq!((capped.plan.workers[0].queue.depth, capped.plan.workers[0].queue.asked_depth), (1, 32));
    assert_eq!(capped.warnings.len(), 1, "clones repeat no warning");
    assert!(refusals(&section("size=1m ioengine=io_uring iodepth=40000"), |_| {})[0].reason.contains("32768"));
}

#[test]
fn pace() {
    let pacing = worker("size=1m rw=randrw rate=1m,500k, rate_process=poisson").pacing;
    assert_eq!((pacing.rate_bytes, pacing.process), ([1 << 20, 500 << 10, 0], RateProcess::Poisson));
    assert_eq!(worker("size=1m rate_iops=1000").pacing.rate_iops, [1000; 3]);
    let mixed = worker("size=1m rw=randrw rate_iops=300,100").workload;
    assert_eq!(mixed.mix_by_rate, Some([300, 100, 0]));
    assert_eq!(worker("size=1m rw=randrw rate_iops=300,").workload.mix_by_rate, None);
    let think =
        worker("size=1m thinktime=100 thinktime_spin=500 thinktime_blocks=4 thinktime_blocks_type=issue").pacing.think;
    let think = think.expect("given");
    assert_eq!((think.pause_ns, think.spin_ns, think.blocks), (100_000, 100_000, 4));
    assert_eq!(think.trigger, ThinkTrigger::Issue);
    let work = |text: &str| worker(text).pacing.think.expect("given").work_ns;
    assert_eq!(work("size=1m thinktime=100 thinktime_spin=80 thinktime_work=70"), 70_000);
    assert_eq!(work("size=1m thinktime=100 thinktime_work=70"), 0, "nothing spins");
    let cases = [
        ("size=1m rate=1m rate_iops=100", "cannot be combined"),
        ("size=1m rate=1m rate_min=2m", "more than rate"),
        ("size=1m rate_iops=10 rate_iops_min=20", "more than rate_iops"),
    ];
    for (options, reason) in cases {
        assert!(refusals(&section(options), |_| {})[0].reason.contains(reason), "{options}");
    }
}

#[test]
fn recorded_arrivals() {
    let pacing = worker("size=1m arrivals=trace arrivals_repeat=1").pacing;
    assert_eq!(pacing.scheduled(), [true; 3]);
    let arrivals = pacing.arrivals.expect("given");
    assert_eq!(
        (arrivals.path.as_str(), arrivals.count, arrivals.last_ns, arrivals.repeat),
        ("trace", 3, 1_000_000, true)
    );
    assert!(!worker("size=1m arrivals=at-once").pacing.arrivals.expect("given").repeat);
    let pacing = worker("size=1m rate_iops=10").pacing;
    assert_eq!((pacing.arrivals.as_ref(), pacing.scheduled()), (None, [true; 3]));
    for (options, reason) in [
        ("size=1m arrivals=nowhere", "nowhere: no such file"),
        ("size=1m arrivals=odd", "arrivals=odd: line 4: 8 µs is before the arrival above it"),
        ("size=1m arrivals=at-once arrivals_repeat=1", "would never end"),
        ("size=1m arrivals=trace rate_iops=100", "cannot be combined"),
    ] {
        let found = refusals(&section(options), |_| {});
        assert!(found[0].reason.contains(reason), "{options}: {}", found[0].reason);
    }
    let idle = resolved(&section("size=1m arrivals_repeat=1"), |_| {});
    assert!(idle.warnings[0].reason.contains("no effect without arrivals"));
}

#[test]
fn processes() {
    let split = plan(&section("size=1m numjobs=5 cpus_allowed=1-3 cpus_allowed_policy=split"));
    let cpus: Vec<Vec<usize>> = split.workers.iter().filter_map(|worker| worker.process.cpus.clone()).collect();
    assert_eq!(cpus, [[1], [2], [3], [1], [2]]);
    let shared = worker("size=1m cpus_allowed=1-3 thread prio=4").process;
    assert_eq!((shared.cpus, shared.cpu_policy), (Some(vec![1, 2, 3]), CpuPolicy::Shared));
    assert_eq!((shared.thread, shared.io_priority), (true, Some((2, 4, 0))));
    assert_eq!(worker("size=1m cpumask=5").process.cpus, Some(vec![0, 2]));
    let numa = worker("size=1m numa_mem_policy=bind:0-1 numa_cpu_nodes=0").process;
    assert_eq!(numa.numa_memory.map(|policy| (policy.mode, policy.nodes)), Some(("bind".into(), vec![0, 1])));
    assert!(refusals(&section("size=1m cpus_allowed=2-9"), |_| {})[0].reason.contains("CPU 4 is not online"));
}

#[test]
fn errors() {
    let errors =
        worker("size=1m ignore_error=EIO:5,ENOSPC continue_on_error=io exitall exit_what=all max_latency=10").errors;
    assert_eq!(errors.ignore, [vec![5, 5], vec![28], vec![]]);
    assert_eq!(errors.continue_on, [ContinuableError::Read, ContinuableError::Write]);
    assert_eq!((errors.exit_all, errors.exit_scope), (true, ExitScope::All));
    assert_eq!(errors.max_latency_ns, [10_000; 3]);
}

#[test]
fn engines() {
    let options = worker("size=1m ioengine=io_uring hipri").engine.options;
    assert_eq!(options.flag("hipri"), Some(true));
    let options = worker("size=1m ioengine=io_uring").engine.options;
    assert_eq!(options.flag("hipri"), Some(false));
    // The plan says that the engine decides: neither on nor off.
    assert_eq!((options.flag("fixedbufs"), options.get("fixedbufs").unwrap().text.as_str()), (None, "automatic"));
    let cases = [
        ("size=1m ioengine=mmap direct=1", "cannot do direct"),
        ("size=1m ioengine=mmap rw=trim", "cannot trim"),
        ("size=1m ioengine=io_uring uncached=1", "uncached is not supported yet"),
    ];
    for (options, reason) in cases {
        assert!(refusals(&section(options), |_| {})[0].reason.contains(reason), "{options}");
    }
}

#[test]
fn options_that_are_not_built_yet() {
    let text = section("size=1m fdp=1");
    for mode in [Mode::Iolab, Mode::Fio] {
        let refused = refusals(&text, |request| request.mode = mode);
        assert!(refused[0].reason.contains("fdp is not supported yet: writes carry no"), "{refused:?}");
    }
    for accepted in ["size=1m verify=0 flow=0", "size=1m gtod_cpu=1", "size=1m lockfile=none num_range=1"] {
        worker(accepted);
    }
}

#[test]
fn findings_point_at_the_setting() {
    let text = "[global]\nsize=1m\n[job]\nioengine=mmap\ndirect=1\n";
    let found = refusals(text, |_| {}).remove(0);
    assert_eq!(&text[found.span.0..found.span.1], "direct=1");
    let found = refusals("[job]\nrw=read\nioengine=null\n", |_| {}).remove(0);
    assert_eq!(found.suggestion.as_deref(), Some("set size=, for example size=1g"));
    let every = refusals("[a]\nsize=1k\niomem_align=5\n[b]\nsize=1m\nioengine=mmap\ndirect=1\n", |_| {});
    assert_eq!(every.len(), 3, "all findings at once: {every:?}");
}

#[test]
fn a_trace_takes_a_worker_for_each_share_and_says_files_and_depths() {
    let found = resolved(&section("read_iolog=trace.log ioengine=io_uring replay_map=/srv=/mnt numjobs=2"), |_| {});
    let workers = &found.plan.workers;
    assert_eq!(workers.len(), 4, "two shares, twice");
    let replays: Vec<_> = workers.iter().filter_map(|worker| worker.replay.as_deref()).collect();
    let of = replays.iter().map(|replay| (replay.share, replay.first_worker)).collect::<Vec<_>>();
    assert_eq!(of, [(0, 0), (1, 0), (0, 2), (1, 2)]);
    assert_eq!(workers.iter().map(|worker| worker.queue.depth).collect::<Vec<_>>(), [1, 5, 1, 5]);
    let files: Vec<_> = workers[1].files.iter().map(|file| (file.path.to_str().unwrap(), file.layout_bytes)).collect();
    assert_eq!(files, [("/var/lib/db/log", 4096), ("/mnt/table", 65_536)], "what was there, and what is read");
    assert!(workers[1].pacing.by_trace && workers[1].pacing.scheduled() == [true; 3]);
    assert_eq!((workers[1].buffers.slot_bytes, workers[1].workload.pattern.directions.len()), (8192, 2));
    assert!(found.warnings.iter().any(|warning| warning.reason == "not replayed: 3 calls"));
    for (options, expected) in [
        ("read_iolog=nothing", "no such file"),
        ("read_iolog=trace.log rate_iops=5", "a trace has times of its own"),
        ("read_iolog=trace.log replay_map=/srv", "is not FROM=TO"),
    ] {
        let found = refusals(&section(options), |_| {});
        assert!(found.iter().any(|error| error.reason.contains(expected)), "{options}: {found:?}");
    }
}

#[test]
fn options_of_the_engine_are_options_of_the_job() {
    let text = "[global]\nioengine=io_uring\nhipri\nsize=1m\n[a]\nsqthread_poll_cpu=2\nrw=read\n";
    let plan = plan(text);
    let own: Vec<(&str, &str)> =
        plan.workers[0].job_options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(own, [("hipri", ""), ("rw", "read"), ("sqthread_poll_cpu", "2")]);
}
