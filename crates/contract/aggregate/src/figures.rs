//! All figures of a recording.

use iolab_recording::{Calibration, DeviceUse, Recording};

use crate::devices::{DeviceFigures, device_figures};
use crate::jobs::{JobFigures, job_figures};
use crate::members::{members, reported};
use crate::run_status::{RunStatus, run_status};

/// Everything a report shows.
#[derive(Debug)]
pub struct Figures<'a> {
    /// One per worker, or per group of workers reported as one, in plan order.
    pub jobs: Vec<JobFigures<'a>>,
    /// All workers together, of a run of several ranks or on several servers of a client, unless
    /// they are reported as one already.
    pub all_hosts: Option<JobFigures<'a>>,
    /// One per reporting group.
    pub groups: Vec<RunStatus<'a>>,
    /// Block devices; empty when no worker asked for them.
    pub devices: Vec<DeviceFigures>,
}

/// Computes the figures of `recording`. Workers hidden by `stats=0` do not appear.
pub fn figures(recording: &Recording) -> Figures<'_> {
    let loops = recording.calibration.as_ref().map(Calibration::of_workers);
    let mut jobs: Vec<JobFigures<'_>> =
        reported(recording).into_iter().map(|members| job_figures(&members, recording, loops.as_ref())).collect();
    let is_sum = recording.is_of_servers() || (recording.is_of_ranks() && jobs.len() > 1);
    let all = if is_sum && recording.has_several_hosts() { members(recording) } else { Vec::new() };
    let mut all_hosts = (!all.is_empty()).then(|| job_figures(&all, recording, loops.as_ref()));
    for direction in all_hosts.iter_mut().flat_map(|all| all.directions.iter_mut().chain(all.mixed.as_mut())) {
        direction.set_share(direction.bytes_per_second());
    }
    let groups = run_status(&jobs);
    for job in &mut jobs {
        let group = groups.iter().find(|group| group.number == job.plan.group);
        for direction in job.directions.iter_mut().chain(job.mixed.as_mut()) {
            let whole = group.and_then(|group| group.line(direction.name)).map_or(0.0, |line| line.bytes_per_second);
            direction.set_share(whole);
        }
    }
    let wanted = recording.plan.workers.iter().any(|worker| worker.measurement.disk_util);
    let devices: &[DeviceUse] = if wanted { &recording.devices } else { &[] };
    Figures { jobs, all_hosts, groups, devices: device_figures(devices, &recording.hosts) }
}
