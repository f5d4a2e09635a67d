//! fio-style log files.

use std::path::Path;

use iolab_plan::{HistogramLogPlan, LogPlan, LogWindow};

use crate::job::Job;
use crate::readings;

/// Resolves the logs a worker writes.
pub(crate) fn resolve(job: &Job<'_>, job_name: &str) -> LogPlan {
    LogPlan {
        latency: prefix(job, "write_lat_log", job_name),
        bandwidth: prefix(job, "write_bw_log", job_name),
        iops: prefix(job, "write_iops_log", job_name),
        histogram: histogram(job, job_name),
        operations: operations(job),
        window_ns: job.time_ns("log_avg_msec"),
        window_value: match job.word("log_window_value").as_str() {
            "max" => LogWindow::Maximum,
            "both" => LogWindow::Both,
            _ => LogWindow::Average,
        },
        offset: job.on("log_offset"),
        priority: job.on("log_prio"),
        issue_time: job.on("log_issue_time"),
        unix_epoch: job.on("log_alternate_epoch"),
        epoch_clock: job.count("log_alternate_epoch_clock_id"),
        compressed: job.on("log_store_compressed"),
        per_job: job.on("per_job_logs"),
        client: None,
    }
}

/// The iolog of the job's own operations; a job that verifies also reads back.
fn operations(job: &Job<'_>) -> Option<String> {
    let name = job.given("write_iolog", readings::word).filter(|name| !name.is_empty())?;
    if job.given("verify", readings::word).is_some() {
        job.error(
            "write_iolog",
            "write_iolog does not work together with verify",
            "leave out verify: the iolog holds no data that could be verified",
        );
        return None;
    }
    Some(beside_others(job, name))
}

/// The given prefix, or the job's name for a `write_..._log` without a value.
fn prefix(job: &Job<'_>, name: &'static str, job_name: &str) -> Option<String> {
    let word = job.given(name, readings::word)?;
    let prefix = if word.is_empty() { job_name.to_owned() } else { word };
    Some(beside_others(job, prefix))
}

/// Puts a relative name below `--aux-path`, and makes it this rank's own.
fn beside_others(job: &Job<'_>, name: String) -> String {
    let name = name + &job.request.overrides.rank_suffix();
    match &job.request.overrides.aux_path {
        Some(directory) if !Path::new(&name).is_absolute() => format!("{directory}/{name}"),
        _ => name,
    }
}

/// As in fio, the log stays empty unless `log_hist_msec` gives an interval.
fn histogram(job: &Job<'_>, job_name: &str) -> Option<HistogramLogPlan> {
    let prefix = prefix(job, "write_hist_log", job_name);
    let interval_ns = job.time_ns("log_hist_msec");
    let coarseness = job.count("log_hist_coarseness");
    let prefix = prefix?;
    if interval_ns == 0 {
        job.warn(
            "write_hist_log",
            "write_hist_log writes nothing unless log_hist_msec sets an interval",
            "for example log_hist_msec=1000",
        );
        return None;
    }
    Some(HistogramLogPlan { prefix, interval_ns, coarseness: coarseness.min(6) })
}
