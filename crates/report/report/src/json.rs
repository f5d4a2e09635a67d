//! fio's JSON report (`json` and `json+`), with its keys, their order, types and number formats.
//!
//! The first line is exactly `{` and the last exactly `}`. Additions are where readers of fio's
//! output ignore them: `iolab version` at the top; `resp_ns` (latency from the intended start) in
//! directions of paced loads; `files` in jobs with `per_file_stats`; `interrupted` at the top of an
//! interrupted run; in runs of several hosts `hosts`, and in each job the names of its hosts as
//! `hostname`, as fio does for clients. Of runs on servers, `jobs` is called `client_stats`, as in
//! fio, and several are followed by the entry `All clients`.
//!
//! **Status snapshots** (`--status-interval`): each snapshot is one document of this form. To make
//! the output one valid JSON array, which fio's is not, the program prints a line `[` before the
//! first document, a line `,` between documents and a line `]` after the last; a single final
//! report is a bare document.

mod direction;
mod hosts;
mod writer;

use std::collections::BTreeMap;

use iolab_aggregate::{
    DepthShares, DeviceFigures, JobFigures, MICROSECOND_BANDS, MILLISECOND_BANDS, NANOSECOND_BANDS, SteadyFigures,
};
use iolab_plan::Direction;
use iolab_recording::{DeviceCounters, Idleness, Recording};

use writer::Writer;

/// The variant of the report, and a setting that the recording does not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JsonStyle {
    /// `json+`: with the non-empty histogram buckets of everything that has percentiles.
    pub plus: bool,
    /// Seconds by which the reader's clock is ahead of UTC, for the `time` text.
    pub utc_offset_seconds: i32,
}

/// The report, ending with a line break.
pub fn json(recording: &Recording, style: JsonStyle) -> String {
    let figures = iolab_aggregate::figures(recording);
    let ended_ms = (recording.started_unix_ns + recording.elapsed_ns) / 1_000_000;
    let mut writer = Writer::new();
    writer.text("fio version", crate::FIO_VERSION);
    writer.text("iolab version", &recording.iolab_version);
    writer.number("timestamp", ended_ms / 1000);
    writer.number("timestamp_ms", ended_ms);
    writer.text("time", &crate::calendar::calendar_text(ended_ms / 1000, style.utc_offset_seconds));
    if !recording.plan.global_options.is_empty() {
        options(&mut writer, "global options", &recording.plan.global_options);
    }
    if recording.interrupted {
        writer.number("interrupted", true);
    }
    if recording.has_several_hosts() {
        hosts::write(&mut writer, recording);
    }
    let jobs: Vec<Named<'_>> = figures.jobs.iter().map(|job| (job.plan.job.as_str(), job)).collect();
    let all = figures.all_hosts.as_ref().map(|all| (all_hosts_name(recording), all));
    if recording.is_of_servers() {
        let entries: Vec<Named<'_>> = jobs.into_iter().chain(all).collect();
        writer.array("client_stats", &entries, |writer, job| write_job(writer, *job, recording, style.plus));
    } else {
        writer.array("jobs", &jobs, |writer, job| write_job(writer, *job, recording, style.plus));
        if let Some(all) = all {
            writer.object("all_ranks", |writer| write_job(writer, all, recording, style.plus));
        }
    }
    if !figures.devices.is_empty() {
        writer.array("disk_util", &figures.devices, write_device);
    }
    if let Some(idleness) = &recording.idleness {
        writer.object("cpu_idleness", |writer| write_idleness(writer, idleness));
    }
    writer.finish()
}

/// The name of the entry that sums up all servers of a client, or all ranks.
pub(crate) fn all_hosts_name(recording: &Recording) -> &'static str {
    if recording.is_of_servers() { "All clients" } else { "All ranks" }
}

/// A job with the name that it is shown by.
type Named<'a> = (&'a str, &'a JobFigures<'a>);

fn write_idleness(writer: &mut Writer, idleness: &Idleness) {
    writer.float("system", idleness.idle() * 100.0);
    if idleness.per_cpu {
        for cpu in &idleness.cpus {
            writer.float(&format!("cpu-{}", cpu.cpu), cpu.idle * 100.0);
        }
    }
    writer.float("unit_mean", idleness.unit_mean_ns() / 1000.0);
    writer.float("unit_stddev", idleness.unit_stddev_ns() / 1000.0);
}

fn options(writer: &mut Writer, key: &str, options: &BTreeMap<String, String>) {
    writer.object(key, |writer| options.iter().for_each(|(name, value)| writer.text(name, value)));
}

fn write_job(writer: &mut Writer, (name, job): Named<'_>, recording: &Recording, plus: bool) {
    writer.text("jobname", name);
    writer.number("groupid", job.plan.group);
    write_place(writer, job, recording);
    let by_clock = job.workers.iter().find_map(|worker| worker.started_by_clock_ns);
    writer.number("job_start", by_clock.unwrap_or(recording.started_unix_ns + job.started_ns) / 1_000_000);
    writer.number("error", job.reported_errno());
    writer.number("eta", 0);
    writer.number("elapsed", recording.elapsed_ns.div_ceil(1_000_000_000));
    options(writer, "job options", &job.plan.job_options);
    let percentiles = &job.plan.measurement.percentiles;
    for figures in &job.directions {
        direction::write_direction(writer, figures, percentiles, plus);
    }
    writer.object("sync", |writer| {
        writer.number("total_ios", job.sync.ios);
        let wanted = percentiles.clat || percentiles.lat;
        direction::write_latency(writer, "lat_ns", &job.sync.lat, wanted.then_some(percentiles), plus);
    });
    if let Some(mixed) = &job.mixed {
        direction::write_direction(writer, mixed, percentiles, plus);
    }
    write_files(writer, job);
    write_block_errors(writer, job);
    write_schedule(writer, job);
    write_drift(writer, job);
    write_overheads(writer, job);
    write_machine(writer, job);
    write_bands(writer, job);
    if job.errors.shown {
        writer.number("total_err", job.errors.total);
        writer.number("first_error", job.errors.first);
    }
    let target = job.plan.pacing.latency_target;
    let found = job.workers.iter().find_map(|worker| worker.latency_depth);
    let [target_ns, window_ns] = target.map_or([0; 2], |target| [target.target_ns, target.window_ns]);
    writer.number("latency_depth", found.unwrap_or(job.plan.queue.asked_depth));
    writer.number("latency_target", target_ns / 1000);
    writer.number("latency_target_ns", target_ns);
    writer.float("latency_percentile", target.map_or(100.0, |target| target.percentile));
    writer.number("latency_window", window_ns / 1000);
    writer.number("latency_window_us", window_ns / 1000);
    if let Some(description) = &job.plan.description {
        writer.text("desc", description);
    }
    if let Some(steady) = &job.steady {
        writer.object("steadystate", |writer| write_steady(writer, steady));
    }
    if let Some(resets) = job.zone_resets() {
        writer.number("zone_resets", resets);
    }
}

/// Where the job ran, for runs of several hosts and for runs on servers.
fn write_place(writer: &mut Writer, job: &JobFigures<'_>, recording: &Recording) {
    let port = recording.hosts.get(job.plan.host as usize).and_then(|host| host.port);
    match (job.hosts.as_slice(), port) {
        ([], _) => {}
        ([name], Some(port)) => {
            // Servers of one name have their port in it, to be told apart.
            writer.text("hostname", name.strip_suffix(&format!(",{port}")).unwrap_or(name));
            writer.number("port", port);
        }
        (names, _) => writer.text("hostname", &names.join(", ")),
    }
}

/// As in fio, the excursion is under the name of the criterion's kind, and missing values of the
/// window are written as 0.
fn write_steady(writer: &mut Writer, steady: &SteadyFigures) {
    let (plan, seen) = (&steady.plan, &steady.seen);
    let excursion = seen.excursion.unwrap_or(0.0);
    writer.text("ss", &format!("{}:{:.6}{}", steady.name(), plan.limit, plan.unit()));
    writer.number("duration", plan.window_ns() / 1_000_000_000);
    writer.number("attained", u64::from(seen.attained));
    writer.text("criterion", &format!("{:.6}{}", steady.criterion(), plan.unit()));
    writer.float("max_deviation", if plan.slope { 0.0 } else { excursion });
    writer.float("slope", if plan.slope { excursion } else { 0.0 });
    writer.object("data", |writer| {
        let window = |values: &[f64]| {
            let values: Vec<u64> = values.iter().map(|value| *value as u64).collect();
            let room = (plan.samples as usize).saturating_sub(values.len());
            values.into_iter().chain(std::iter::repeat_n(0, room))
        };
        writer.number("bw_mean", steady.mean_bytes_per_s() as u64);
        writer.number("iops_mean", steady.mean_iops() as u64);
        writer.numbers("iops", window(&seen.iops));
        writer.numbers("bw", window(&seen.bytes_per_s));
    });
}

/// An object that only iolab writes, for replays.
fn write_drift(writer: &mut Writer, job: &JobFigures<'_>) {
    let Some(drift) = &job.drift else { return };
    writer.object("replay", |writer| {
        writer.number("late_p50_ns", drift.late.percentile(50.0));
        writer.number("late_p99_ns", drift.late.percentile(99.0));
        writer.number("late_p999_ns", drift.late.percentile(99.9));
        writer.number("late_max_ns", drift.late.max);
        writer.float("drift_ns", drift.drift_ns() as f64);
        writer.number("waited_for_order", drift.waited_for_order);
        writer.number("starved", drift.starved);
        writer.numbers("series_start_ns", drift.series.iter().map(|one| one.start_ns));
        writer.numbers("series_late_mean_ns", drift.series.iter().map(|one| one.mean_ns));
        writer.numbers("series_late_most_ns", drift.series.iter().map(|one| one.most_ns));
    });
}

/// An array that only iolab writes, for jobs with statistics per file.
fn write_files(writer: &mut Writer, job: &JobFigures<'_>) {
    if job.files.is_empty() {
        return;
    }
    let percentiles = &job.plan.measurement.percentiles;
    writer.array("files", &job.files, |writer, file| {
        writer.text("filename", &file.path);
        for (direction, of) in Direction::ALL.into_iter().zip(&file.directions) {
            if of.clat.is_empty() {
                continue;
            }
            writer.object(direction.name(), |writer| {
                writer.number("total_ios", of.done.ios);
                writer.number("io_bytes", of.done.bytes);
                writer.float("iops", of.done.ios_per_second());
                writer.number("bw_bytes", of.done.bytes_per_second() as u64);
                direction::write_latency(writer, "clat_ns", &of.clat, Some(percentiles), false);
            });
        }
    });
}

/// An object that only iolab writes, for jobs that count trims and errors of blocks.
fn write_block_errors(writer: &mut Writer, job: &JobFigures<'_>) {
    let Some(found) = &job.block_errors else { return };
    writer.object("block_errors", |writer| {
        writer.number("block_bytes", found.block_bytes);
        for (end, trims) in found.ends() {
            writer.object(&end.replace(' ', "_"), |writer| {
                writer.number("blocks", trims.blocks());
                writer.object("trims_percentile", |writer| {
                    for percent in &job.plan.measurement.percentiles.list {
                        if let Some(trims) = trims.percentile(*percent) {
                            writer.number(&format!("{percent:.6}"), trims);
                        }
                    }
                });
            });
        }
    });
}

/// An object that only iolab writes, for paced loads.
fn write_schedule(writer: &mut Writer, job: &JobFigures<'_>) {
    let Some(schedule) = &job.schedule else { return };
    writer.object("schedule", |writer| {
        writer.number("asked", schedule.asked);
        writer.float("asked_iops", schedule.asked_iops());
        writer.number("sent", schedule.sent);
        writer.float("sent_iops", schedule.sent_iops());
        writer.number("backlog_at_end", schedule.backlog_at_end);
        writer.number("backlog_most", schedule.backlog_most);
        writer.number("lag_at_end_ns", schedule.lag_at_end_ns);
        writer.number("lag_most_ns", schedule.lag_most_ns);
        writer.number("behind_for_ns", schedule.behind_for_ns);
        writer.number("saturated", u64::from(!job.saturation.is_empty()));
        if !job.saturation.is_empty() {
            writer.text("saturation", &job.saturation.join("; "));
        }
    });
}

/// Objects that only iolab writes, for calibrated runs.
fn write_overheads(writer: &mut Writer, job: &JobFigures<'_>) {
    if job.overheads.is_empty() {
        return;
    }
    writer.array("overhead", &job.overheads, |writer, overhead| {
        writer.number("workers", overhead.workers);
        writer.float("tool_ns_per_io", overhead.tool_ns);
        writer.float("ns_per_io", overhead.per_io_ns);
        writer.float("share_percent", overhead.share_percent());
        writer.float("clock_stamp_ns", overhead.stamp_ns);
        writer.object("timer_late_ns", |writer| {
            writer.number("p50", overhead.timer.p50_ns);
            writer.number("p99", overhead.timer.p99_ns);
            writer.number("max", overhead.timer.max_ns);
        });
        let limit = overhead.limit();
        writer.number("limited", u64::from(limit.is_some()));
        if let Some(sentence) = limit {
            writer.text("limit", &sentence);
        }
    });
}

fn write_machine(writer: &mut Writer, job: &JobFigures<'_>) {
    writer.number("job_runtime", job.cpu.runtime_ms);
    writer.float("usr_cpu", job.cpu.user_percent);
    writer.float("sys_cpu", job.cpu.system_percent);
    writer.number("ctx", job.cpu.context_switches);
    writer.number("majf", job.cpu.major_faults);
    writer.number("minf", job.cpu.minor_faults);
    const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
    const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
    let mut shares = |key: &str, names: [&str; 7], shares: &DepthShares| {
        writer.object(key, |writer| names.iter().zip(shares.0).for_each(|(name, share)| writer.float(name, share)));
    };
    shares("iodepth_level", DEPTHS, &job.depth);
    shares("iodepth_submit", BATCHES, &job.submit);
    shares("iodepth_complete", BATCHES, &job.complete);
}

fn write_bands(writer: &mut Writer, job: &JobFigures<'_>) {
    let mut bands = |key: &str, ends: &[u64], shares: &[f64]| {
        writer.object(key, |writer| {
            for (place, share) in shares.iter().enumerate() {
                let name = ends.get(place).map_or(">=2000".to_owned(), u64::to_string);
                writer.float(&name, *share);
            }
        });
    };
    bands("latency_ns", &NANOSECOND_BANDS, &job.bands.ns);
    bands("latency_us", &MICROSECOND_BANDS, &job.bands.us);
    bands("latency_ms", &MILLISECOND_BANDS, &job.bands.ms);
}

fn write_device(writer: &mut Writer, device: &DeviceFigures) {
    writer.text("name", &device.name);
    write_counters(writer, "", &device.gained);
    writer.float("util", device.util_percent);
    if let Some((mean, util)) = &device.parts {
        write_counters(writer, "aggr_", mean);
        writer.float("aggr_util", *util);
    }
}

fn write_counters(writer: &mut Writer, prefix: &str, of: &DeviceCounters) {
    // fio misspells the last of the merges in aggregates, and programs that read it expect that
    // spelling.
    let write_merges = if prefix.is_empty() { "write_merges" } else { "write_merge" };
    for (name, value) in [
        ("read_ios", of.read_ios),
        ("write_ios", of.write_ios),
        ("read_sectors", of.read_sectors),
        ("write_sectors", of.write_sectors),
        ("read_merges", of.read_merges),
        (write_merges, of.write_merges),
        ("read_ticks", of.read_ticks_ms),
        ("write_ticks", of.write_ticks_ms),
        ("in_queue", of.time_in_queue_ms),
    ] {
        writer.number(&format!("{prefix}{name}"), value);
    }
}
