//! fio's normal text report, the one people read.
//!
//! The layout is fio's, line by line, so that readers and regular expressions find what they
//! expect. Additions: `resp`, the latency from the intended start, for paced loads; the block
//! layer, if it was observed; the hosts, for runs of several. Of runs on servers, the lines before
//! the run begin with the server's name, and `All clients` follows the jobs, as in fio.
//! [`normal_header`] is what fio prints before the run, [`normal_body`] what it prints after;
//! [`normal`] is both.

mod block_layer;
mod direction;
mod header;
mod hosts;
mod idleness;
mod job;
mod latency;
mod run_status;

pub use header::normal_header;
pub use idleness::calibration_report;

use iolab_recording::Recording;

/// Settings of the report that the recording does not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Seconds by which the reader's clock is ahead of UTC.
    pub utc_offset_seconds: i32,
}

/// Header and body.
pub fn normal(recording: &Recording, style: &Style) -> String {
    normal_header(&recording.plan) + &normal_body(recording, style)
}

/// What is printed after the run: an empty line, jobs, group sums, devices.
pub fn normal_body(recording: &Recording, style: &Style) -> String {
    let figures = iolab_aggregate::figures(recording);
    let ended = (recording.started_unix_ns + recording.elapsed_ns) / 1_000_000_000;
    let date = crate::calendar::calendar_text(ended, style.utc_offset_seconds);
    let mut text = String::from("\n");
    for figures in &figures.jobs {
        job::write_job(&mut text, &figures.plan.job, figures, &date);
    }
    if let Some(all) = &figures.all_hosts {
        job::write_job(&mut text, crate::json::all_hosts_name(recording), all, &date);
    }
    for group in &figures.groups {
        run_status::write_group(&mut text, group);
    }
    run_status::write_devices(&mut text, &figures.devices);
    idleness::write(&mut text, recording.idleness.as_ref());
    block_layer::write(&mut text, recording);
    hosts::write(&mut text, recording);
    text
}
