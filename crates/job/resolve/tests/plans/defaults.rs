//! The defaults in the reference are those that resolving uses.
//!
//! Every option is tried in jobs that it affects: set to its default, and omitted.

use std::sync::LazyLock;

use iolab_jobfile::OPTIONS;
use iolab_options::{DefaultValue, OptionEntry, SupportStatus};
use iolab_plan::{Plan, describe};
use iolab_resolve::{Mode, resolve};
use iolab_testkit::parallel;

use crate::support::{jobs, request, section};

/// Jobs that together use everything that any option changes. `|` separates two jobs; a tested line
/// is added to the last.
const JOBS: &[&str] = &[
    "size=1m rw=randrw",
    "size=1m rw=read",
    "size=1m rw=randwrite:4 ioengine=io_uring iodepth=32 nrfiles=4 numjobs=2",
    "size=1m rw=randrw bsrange=4k-8k buffer_compress_percentage=50 dedupe_percentage=20 dedupe_mode=working_set",
    "size=1m rw=write zonemode=strided zonesize=64k zonerange=128k",
    "size=1m rw=write zonemode=strided zonesize=64k",
    "size=10% filename=/data/big rw=randread offset=1% norandommap",
    "size=1m rw=read runtime=60 thinktime=1ms steadystate_duration=10 cpus_allowed=0-1 mem=shmhuge",
    "size=1m rw=read write_lat_log=l write_bw_log=l write_iops_log=l write_hist_log=l log_hist_msec=1s log_avg_msec=100",
    "size=1m rw=read thinktime=1ms thinktime_spin=500us",
    "size=1m rw=read rate_iops=100 arrivals_repeat=0 numjobs=2",
    "size=1m rw=read arrivals=trace",
    "read_iolog=trace.log",
    "filename=/data/big bs=512 offset=1%",
    "size=10m nrfiles=40",
    "size=200t rw=randread",
    "size=1m rw=write dedupe_percentage=20",
    "size=1m write_hist_log=l",
    "size=1m log_hist_msec=1s",
    "size=1m write_lat_log=l",
    "size=1m rw=write zonemode=strided",
    "size=1m rw=write zonesize=64k",
    "size=1m | size=1m",
    "filename=/data/big rw=randwrite bs=64k zonemode=zbd zonesize=256m zone_reset_frequency=0.1 max_open_zones=3",
    "filename=/dev/zoned direct=1 rw=randwrite bs=64k zonemode=zbd",
    "size=1m rw=randread random_distribution=sequence:0,2,1",
    "size=4m rw=randwrite",
    "size=4m rw=trimwrite",
    "ioengine=exports address=far://shelf bs=8k rw=randtrim",
    "size=400m rw=randwrite sprandom=1",
    "size=1m rw=write ioengine=libaio",
    "size=1m rw=randwrite bs=16k verify=pattern_hdr verify_pattern=0xab",
    "size=1m rw=write verify=md5 verify_backlog=4 trim_percentage=5 trim_backlog=4",
    "size=1m rw=write verify=pattern",
    "size=1m rw=write verify=md5 trim_backlog=8",
    "size=1m rw=write verify=md5 trim_percentage=5",
    "size=1m rw=write verify=md5 verify_async=2 verify_state_load=1",
    "size=1m rw=write verify=md5 verify_state_save=1",
    "size=1m rw=read flow=2",
    "size=1m rw=read latency_target=1ms",
    "size=1m rw=read cgroup=a",
    "size=1m rw=read ioengine=psync iodepth=4",
    "size=1m rw=read write_lat_log=l log_alternate_epoch=1",
    "size=1m rw=read directory=/data",
];

fn sections(options: &str) -> String {
    options.split(" | ").map(section).collect()
}

/// The plan of a job, without its source texts; `None` if it is refused.
fn outcome(options: &str, mode: Mode) -> Option<Plan> {
    outcome_with(options, "", mode)
}

/// The plan of a job with one more line.
fn outcome_with(options: &str, line: &str, mode: Mode) -> Option<Plan> {
    let jobs = jobs(&(sections(options) + line));
    let mut request = request(&jobs);
    request.mode = mode;
    request.overrides.client = Some("10.0.0.7".to_owned());
    let mut plan = resolve(&request).ok()?.plan;
    (plan.sources, plan.warnings) = (Vec::new(), Vec::new());
    plan.workers.iter_mut().for_each(|worker| worker.job_options.clear());
    Some(plan)
}

/// A job and its plan.
struct Case {
    options: &'static str,
    mode: Mode,
    left_out: Option<Plan>,
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let case = |options, mode| Case { options, mode, left_out: outcome(options, mode) };
    JOBS.iter().flat_map(|options| [case(options, Mode::Iolab), case(options, Mode::Fio)]).collect()
});

/// Whether a job sets the option already.
fn sets(case: &Case, entry: &OptionEntry) -> bool {
    case.options.split(' ').any(|option| entry.answers_to(option.split('=').next().unwrap_or("")))
}

fn jobs_without(entry: &OptionEntry) -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(move |case| !sets(case, entry))
}

fn line(name: &str, value: &str) -> String {
    format!("{name}={value}\n")
}

#[test]
fn writing_out_a_default_changes_nothing() {
    parallel::for_each(OPTIONS, |entry| {
        let DefaultValue::Text(default) = entry.default else { return };
        let mut compared = 0;
        for Case { options, mode, left_out } in jobs_without(entry) {
            // A line without effect may be refused.
            let Some(written) = outcome_with(options, &line(entry.name, default), *mode) else { continue };
            assert_eq!(Some(&written), left_out.as_ref(), "{options} {}={default} ({mode:?})", entry.name);
            compared += 1;
        }
        assert!(compared > 0, "{}={default} is refused by every job", entry.name);
    });
}

/// Supported options, without those that are applied before jobs are resolved (traces are merged
/// then, and the jobs replay the merged one), and without the one that changes nothing unless there
/// are several ranks, which are tested with them.
fn resolved_options() -> impl Iterator<Item = &'static OptionEntry> {
    let supported = OPTIONS.iter().filter(|entry| entry.status == SupportStatus::Supported);
    supported.filter(|entry| !entry.name.starts_with("merge_blktrace_") && entry.name != "rank_shift")
}

/// The canary of the test above: each option can change a plan, so that equal plans are meaningful.
#[test]
fn another_value_than_the_default_changes_some_job() {
    let idle = resolved_options().filter(|entry| {
        jobs_without(entry).all(|Case { options, mode, left_out }| {
            entry.accepts.iter().all(|(text, _)| outcome_with(options, &line(entry.name, text), *mode) == *left_out)
        })
    });
    let idle: Vec<&str> = idle.map(|entry| entry.name).collect();
    assert!(idle.is_empty(), "no example of these changes any job: {idle:?}");
}

/// An option that changes a plan also changes its description. Options whose examples need more
/// than [`JOBS`] have their own.
#[test]
fn every_option_is_seen_in_the_description_of_the_plan() {
    let described = |options: &str, line: &str, mode: Mode| outcome_with(options, line, mode).as_ref().map(describe);
    let own = [
        ("wait_for", "size=1m name=first | size=1m", "first"),
        ("directory", "size=1m", "/data"),
        ("opendir", "rw=read", "/data"),
        ("arrivals", "size=1m", "trace"),
        ("follow", "size=1m name=first | size=1m", "first:12"),
        ("read_iolog", "size=1m", "trace.log"),
        ("hosts", "size=1m | size=1m", "1-3"),
    ];
    let plain: Vec<Option<String>> = CASES.iter().map(|case| case.left_out.as_ref().map(describe)).collect();
    let changed = |written: Option<String>, left_out: &Option<String>| written.is_some() && written != *left_out;
    let unseen = resolved_options().filter(|entry| {
        let by_case = CASES.iter().zip(&plain).filter(|(case, _)| !sets(case, entry)).any(|(case, left_out)| {
            let written = |text: &str| described(case.options, &line(entry.name, text), case.mode);
            entry.accepts.iter().any(|(text, _)| changed(written(text), left_out))
        });
        let by_own = own.iter().filter(|(name, ..)| *name == entry.name).any(|(name, options, text)| {
            let left_out = described(options, "", Mode::Iolab);
            changed(described(options, &line(name, text), Mode::Iolab), &left_out)
        });
        !by_case && !by_own
    });
    let unseen: Vec<&str> = unseen.map(|entry| entry.name).collect();
    assert!(unseen.is_empty(), "set and not seen by `iolab plan`: {unseen:?}");
}

#[test]
fn what_holds_as_for_another_option_follows_it() {
    for entry in OPTIONS {
        let DefaultValue::SameAs(other) = entry.default else { continue };
        let mut followed = false;
        for Case { options, mode, left_out } in jobs_without(entry) {
            let set = options.split(' ').find_map(|option| option.strip_prefix(other)?.strip_prefix('='));
            let Some(value) = set else { continue };
            let written = outcome_with(options, &line(entry.name, value), *mode);
            assert_eq!(written, *left_out, "{options} {}={value} ({mode:?})", entry.name);
            followed = true;
        }
        assert!(followed, "no job sets {other}, which {} follows", entry.name);
    }
}

/// Defaults that follow from other options: option, job, and the resulting value, written out.
/// `batch_grows` of `iodepth_batch` cannot be written as text, and is in the tests of queues.
const DERIVED: &[(&str, &str, &str)] = &[
    ("ba", "size=1m rw=randread bs=8k", "8k"),
    ("scramble_buffers", "size=1m rw=write", "1"),
    ("scramble_buffers", "size=1m rw=write zero_buffers", "0"),
    ("hugepage-size", "size=1m mem=shmhuge", "2m"),
    ("iodepth_batch", "size=1m rw=read iodepth=1 ioengine=io_uring", "1"),
    ("nrfiles", "size=1m", "1"),
    ("nrfiles", "size=1m filename=a:b", "2"),
    ("openfiles", "size=1m nrfiles=4", "4"),
    ("size", "filename=/data/big", "1g"),
    ("io_size", "size=1m", "1m"),
    ("buffered", "size=1m", "1"),
    ("buffered", "size=1m direct=1", "0"),
    ("rwmixwrite", "size=1m rw=randrw rwmixread=70", "30"),
    ("prio", "size=1m prioclass=1", "0"),
    ("prioclass", "size=1m prio=3", "2"),
    ("priohint", "size=1m prio=3", "0"),
    ("sample_interval", "size=1m runtime=10", "500ms"),
    ("sample_interval", "size=1m", "1"),
    ("calibrate", "size=1m", "1"),
];

/// Defaults that no text of the option can express.
const BEYOND_WORDS: &[&str] = &["write_hint", "uid", "gid", "clocksource", "comm", "name"];

#[test]
fn derived_defaults_are_what_is_said_of_them() {
    for (name, options, value) in DERIVED {
        let left_out = outcome(options, Mode::Iolab).unwrap_or_else(|| panic!("{options} is refused"));
        let written = outcome_with(options, &line(name, value), Mode::Iolab);
        assert_eq!(written, Some(left_out), "{options} {name}={value}");
    }
    for (name, options, value) in
        [("calibrate", "size=1m", "0"), ("sample_interval", "size=1m", "0"), ("iodepth_batch", "size=1m rw=read", "1")]
    {
        assert_eq!(outcome_with(options, &line(name, value), Mode::Fio), outcome(options, Mode::Fio), "{name}");
    }
    for entry in OPTIONS {
        let DefaultValue::Derived(_) = entry.default else { continue };
        let tried = DERIVED.iter().any(|(name, ..)| *name == entry.name);
        let beyond = BEYOND_WORDS.contains(&entry.name) || entry.name.starts_with(iolab_jobfile::DEVICE_PREFIX);
        assert!(tried != beyond, "{}: what follows from other options is tried here", entry.name);
    }
}
