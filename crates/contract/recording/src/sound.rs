//! Checks whether a parsed recording is possible, before anything uses it.
//!
//! Parsing checks types and single histograms. Here the parts are compared with each other: workers
//! with the plan, times with their order, numbers with the limits of later arithmetic. The checks
//! cover what readers rely on; whether the figures are true cannot be checked.

mod plan;

use iolab_histogram::check_buckets;
use iolab_order::Arrange;
use iolab_plan::PerDirection;

use crate::network::NetworkSample;
use crate::recording::Recording;
use crate::{
    Calibration, DeviceCounters, DeviceSeries, DeviceUse, DriftRecording, HostFacts, HostSample, Interval,
    IntervalLatencies, NetworkSeries, Observations, SampleSeries, ScheduleRecording, SteadyRecording, WorkerRecording,
};

/// The longest time of anything, ns: nine years.
pub(crate) const LONGEST_NS: u64 = 1 << 58;
/// The most operations, events or samples that are counted.
pub(crate) const MOST: u64 = 1 << 53;
/// The most bytes of anything.
pub(crate) const MOST_BYTES: u64 = 1 << 62;
/// The latest time of day, ns since the Unix epoch: the year 2116.
const LATEST_UNIX_NS: u64 = 1 << 62;
/// The longest times that are added up over requests in flight, ms.
const LONGEST_SUM_MS: u64 = 1 << 43;
/// The most hosts of a run.
const MOST_HOSTS: usize = 10_000;
/// The most text lines that one list holds: notes, warnings, parts of a device.
const MOST_LINES: usize = 100_000;

/// What cannot be in a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Unsound {
    /// Where: `workers[3].intervals[7]`.
    pub place: String,
    /// What is wrong.
    pub reason: &'static str,
}

type Verdict = Result<(), Unsound>;

/// Refuses with `reason` at `place` unless `holds`.
fn must(holds: bool, place: impl FnOnce() -> String, reason: &'static str) -> Verdict {
    if holds { Ok(()) } else { Err(Unsound { place: place(), reason }) }
}

/// Names as reports print them: one line, without characters that a terminal interprets.
fn name(text: &str, place: impl FnOnce() -> String) -> Verdict {
    must(!text.contains(char::is_control), place, "a name contains control characters")
}

fn within(numbers: &[u64], most: u64, place: impl FnOnce() -> String) -> Verdict {
    must(numbers.iter().all(|number| *number <= most), place, "a number is larger than it can be")
}

/// Intervals of time follow one another.
fn ascending(stretches: impl Iterator<Item = (u64, u64)>, place: impl Fn(usize) -> String) -> Verdict {
    let mut end_ns = 0;
    for (at, (start_ns, length_ns)) in stretches.enumerate() {
        within(&[start_ns, length_ns], LONGEST_NS, || place(at))?;
        must(start_ns >= end_ns, || place(at), "it starts before the previous one ended")?;
        end_ns = start_ns + length_ns;
    }
    Ok(())
}

impl Recording {
    /// Whether everything fits together.
    pub(crate) fn check(&self) -> Verdict {
        plan::check(&self.plan)?;
        within(&[self.started_unix_ns], LATEST_UNIX_NS, || "started_unix_ns".to_owned())?;
        within(&[self.elapsed_ns], LONGEST_NS, || "elapsed_ns".to_owned())?;
        let planned = self.plan.workers.len();
        must(self.workers.len() <= planned, || "workers".to_owned(), "there are more than planned")?;
        for (at, (worker, plan)) in self.workers.iter().zip(&self.plan.workers).enumerate() {
            must(
                worker.number == plan.number,
                || format!("workers[{at}]"),
                "it is not the worker planned for this place",
            )?;
            worker.check(&format!("workers[{at}]"))?;
            must(
                worker.files.is_empty() || worker.files.len() == plan.files.len(),
                || format!("workers[{at}].files"),
                "there are not as many as planned",
            )?;
        }
        check_facts(&self.host, "host")?;
        self.check_hosts()?;
        must(self.warnings.len() <= MOST_LINES, || "warnings".to_owned(), "there are too many")?;
        must(self.findings.len() <= MOST_LINES, || "findings".to_owned(), "there are too many")?;
        self.devices.iter().enumerate().try_for_each(|(at, device)| check_use(device, &format!("devices[{at}]")))?;
        self.calibration.iter().try_for_each(check_calibration)?;
        self.observations.iter().try_for_each(Observations::check)
    }
}

impl Recording {
    /// Whether every index of a host is in the list of hosts.
    fn check_hosts(&self) -> Verdict {
        let hosts = || "hosts".to_owned();
        let is_of_several = self.iolab_recording == crate::FORMAT_OF_SEVERAL_HOSTS;
        must(is_of_several == self.has_several_hosts(), hosts, "recordings of format 2, and only those, have several")?;
        let is_listed = self.hosts.len() != 1 || self.is_of_servers() || self.is_of_ranks();
        must(is_listed, hosts, "a recording of one host has no list, but for servers and ranks")?;
        must(self.hosts.len() <= MOST_HOSTS, hosts, "there are too many")?;
        must(self.hosts.first().is_none_or(|first| first.facts == self.host), hosts, "the first is not the host")?;
        for (at, host) in self.hosts.iter().enumerate() {
            name(&host.name, || format!("hosts[{at}].name"))?;
            check_facts(&host.facts, &format!("hosts[{at}].facts"))?;
            within(&[host.clock_offset_ns.unsigned_abs(), host.clock_error_ns], LATEST_UNIX_NS, || {
                format!("hosts[{at}].clock_offset_ns")
            })?;
        }
        let known = |host: u32| (host as usize) < self.hosts.len().max(1);
        let series = self.observations.iter().flat_map(|seen| &seen.devices).map(|device| device.host);
        let networks = self.observations.iter().flat_map(|seen| &seen.network).map(|network| network.host);
        let mut devices = self.devices.iter().map(|device| device.host).chain(series).chain(networks);
        must(devices.all(known), || "devices".to_owned(), "one is on a host that is not in the list")?;
        let mut workers = self.plan.workers.iter().map(|plan| plan.host);
        must(workers.all(known), || "plan.workers".to_owned(), "one is on a host that is not in the list")
    }
}

fn check_facts(facts: &HostFacts, place: &str) -> Verdict {
    for (what, text) in [
        ("hostname", &facts.hostname),
        ("kernel", &facts.kernel),
        ("cpu_model", &facts.cpu_model),
        ("clock", &facts.clock),
    ] {
        name(text, || format!("{place}.{what}"))?;
    }
    Ok(())
}

impl WorkerRecording {
    /// Compares the parts of one worker with each other.
    pub(crate) fn check(&self, place: &str) -> Verdict {
        within(&[self.started_ns, self.runtime_ns], LONGEST_NS, || place.to_owned())?;
        for (direction, at) in self.directions.iter().zip(["read", "write", "trim"]) {
            let counts = [direction.ios, direction.issued, direction.short_ios, direction.dropped_ios];
            within(&counts, MOST, || format!("{place}.directions[{at}]"))?;
            within(&[direction.bytes], MOST_BYTES, || format!("{place}.directions[{at}]"))?;
            within(&[direction.runtime_ns], LONGEST_NS, || format!("{place}.directions[{at}]"))?;
        }
        for (at, file) in self.files.iter().enumerate() {
            within(&file.bytes, MOST_BYTES, || format!("{place}.files[{at}]"))?;
        }
        within(&[self.sync.ios], MOST, || format!("{place}.sync"))?;
        within(&[self.cpu.user_ns, self.cpu.system_ns], MOST_BYTES, || format!("{place}.cpu"))?;
        let counts = [self.cpu.context_switches, self.cpu.major_faults, self.cpu.minor_faults];
        within(&counts, MOST, || format!("{place}.cpu"))?;
        within(&self.errors.iter().map(|error| error.count).collect::<Vec<_>>(), MOST, || format!("{place}.errors"))?;
        must(self.notes.len() <= MOST_LINES, || format!("{place}.notes"), "there are too many")?;
        self.check_depths(place)?;
        check_intervals(&self.intervals, place)?;
        check_latencies(&self.interval_latencies, place)?;
        for (at, entry) in self.histogram_log.iter().enumerate() {
            let place = || format!("{place}.histogram_log[{at}]");
            check_buckets(&entry.buckets).map_err(|reason| Unsound { place: place(), reason })?;
        }
        self.schedule.iter().try_for_each(|schedule| check_schedule(schedule, place))?;
        self.drift.iter().try_for_each(|drift| check_drift(drift, place))?;
        self.steady.iter().try_for_each(|steady| check_steady(steady, place))
    }

    fn check_depths(&self, place: &str) -> Verdict {
        let depth = &self.depth;
        for (list, what) in [
            (&depth.at_submit, "at_submit"),
            (&depth.submit_batches, "submit_batches"),
            (&depth.complete_batches, "complete_batches"),
        ] {
            let place = || format!("{place}.depth.{what}");
            must(list.is_sorted_by(|one, next| one.0 < next.0), place, "it is out of order")?;
            must(list.iter().all(|entry| entry.1 <= MOST), place, "a number is larger than it can be")?;
        }
        Ok(())
    }
}

fn check_amounts(ios: &PerDirection<u64>, bytes: &PerDirection<u64>, place: impl Fn() -> String) -> Verdict {
    within(ios, MOST, &place)?;
    within(bytes, MOST_BYTES, &place)
}

fn check_intervals(intervals: &[Interval], place: &str) -> Verdict {
    let place = |at: usize| format!("{place}.intervals[{at}]");
    ascending(intervals.iter().map(|interval| (interval.start_ns, interval.length_ns)), place)?;
    let amounts = |(at, interval): (usize, &Interval)| check_amounts(&interval.ios, &interval.bytes, || place(at));
    intervals.iter().enumerate().try_for_each(amounts)
}

fn check_latencies(intervals: &[IntervalLatencies], place: &str) -> Verdict {
    let place = |at: usize| format!("{place}.interval_latencies[{at}]");
    ascending(intervals.iter().map(|interval| (interval.start_ns, interval.length_ns)), place)?;
    for (at, interval) in intervals.iter().enumerate() {
        let in_order = interval.directions.is_sorted_by(|one, next| one.direction.index() < next.direction.index());
        must(in_order, || place(at), "its directions are out of order")?;
        for direction in &interval.directions {
            check_amounts(&[direction.ios; 3], &[direction.bytes; 3], || place(at))?;
            let doubtful = direction.clat_equals_lat && (direction.clat.is_some() || direction.lat.is_none());
            must(!doubtful, || place(at), "its completion latencies are missing or duplicated")?;
        }
    }
    Ok(())
}

fn check_schedule(schedule: &ScheduleRecording, place: &str) -> Verdict {
    let place = || format!("{place}.schedule");
    let ScheduleRecording { asked, sent, backlog_at_end, backlog_most, .. } = *schedule;
    within(&[asked, sent, backlog_at_end, backlog_most], MOST, place)?;
    let ScheduleRecording { asked_within_ns, sent_within_ns, lag_at_end_ns, lag_most_ns, behind_for_ns, .. } =
        *schedule;
    within(&[asked_within_ns, sent_within_ns, lag_at_end_ns, lag_most_ns, behind_for_ns], LONGEST_NS, place)
}

fn check_drift(drift: &DriftRecording, place: &str) -> Verdict {
    let at = |number: usize| format!("{place}.drift.series[{number}]");
    within(&[drift.waited_for_order, drift.starved], MOST, || format!("{place}.drift"))?;
    must(drift.series.is_sorted_by(|one, next| one.start_ns < next.start_ns), || at(0), "it is out of order")?;
    for (number, interval) in drift.series.iter().enumerate() {
        within(&[interval.start_ns, interval.mean_ns, interval.most_ns], LONGEST_NS, || at(number))?;
        within(&[interval.operations], MOST, || at(number))?;
    }
    Ok(())
}

fn check_steady(steady: &SteadyRecording, place: &str) -> Verdict {
    let possible = |rate: &f64| rate.is_finite() && *rate >= 0.0;
    let rates = steady.iops.iter().chain(&steady.bytes_per_s).all(possible);
    let judged = [steady.criterion, steady.excursion].into_iter().flatten().all(f64::is_finite);
    must(rates && judged, || format!("{place}.steady"), "a rate is impossible")
}

fn check_calibration(calibration: &Calibration) -> Verdict {
    for (at, cost) in calibration.loops.iter().enumerate() {
        let place = || format!("calibration.loops[{at}]");
        within(&[cost.op_ps, cost.stamp_ps], LONGEST_NS, place)?;
        must(cost.workers.is_sorted_by(|one, next| one < next), place, "its workers are out of order")?;
    }
    let timer = &calibration.timer;
    let times = [timer.asked_ns, timer.p50_ns, timer.p99_ns, timer.max_ns];
    within(&times, LONGEST_NS, || "calibration.timer".to_owned())
}

fn check_use(device: &DeviceUse, place: &str) -> Verdict {
    name(&device.name, || format!("{place}.name"))?;
    device.parts.iter().try_for_each(|part| name(part, || format!("{place}.parts")))?;
    check_counters(&device.before, place)?;
    check_counters(&device.after, place)?;
    within(&[device.elapsed_ns], LONGEST_NS, || place.to_owned())
}

fn check_counters(counters: &DeviceCounters, place: &str) -> Verdict {
    let DeviceCounters { read_ios, read_merges, read_sectors, write_ios, write_merges, write_sectors, .. } = *counters;
    within(&[read_ios, read_merges, read_sectors, write_ios, write_merges, write_sectors], MOST, || place.to_owned())?;
    let DeviceCounters { discard_ios, discard_merges, discard_sectors, flush_ios, in_flight, .. } = *counters;
    within(&[discard_ios, discard_merges, discard_sectors, flush_ios, in_flight], MOST, || place.to_owned())?;
    let DeviceCounters { read_ticks_ms, write_ticks_ms, discard_ticks_ms, flush_ticks_ms, .. } = *counters;
    let DeviceCounters { io_ticks_ms, time_in_queue_ms, .. } = *counters;
    let times = [read_ticks_ms, write_ticks_ms, discard_ticks_ms, flush_ticks_ms, io_ticks_ms, time_in_queue_ms];
    within(&times, LONGEST_SUM_MS, || place.to_owned())
}

fn check_host(sample: &HostSample, place: &str) -> Verdict {
    let HostSample { user_ns, system_ns, idle_ns, iowait_ns, steal_ns, cached_bytes, dirty_bytes, .. } = *sample;
    let sums = [user_ns, system_ns, idle_ns, iowait_ns, steal_ns, cached_bytes, dirty_bytes];
    within(&sums, MOST_BYTES, || place.to_owned())?;
    let pressures = [sample.io_some_ns, sample.io_full_ns, sample.cpu_some_ns, sample.memory_some_ns];
    within(&pressures.map(|time_ns| time_ns.unwrap_or(0)), MOST_BYTES, || place.to_owned())?;
    let quota = sample.quota.unwrap_or_default();
    let counts = [quota.periods, quota.throttled_periods, sample.thermal_events.unwrap_or(0)];
    within(&counts, MOST, || place.to_owned())?;
    within(&[quota.throttled_ns], MOST_BYTES, || place.to_owned())
}

impl Observations {
    /// Each device is listed once, and its samples are in the order of time.
    pub(crate) fn check(&self) -> Verdict {
        let place = || "observations".to_owned();
        within(&[self.interval_ns, self.looking_ns], LONGEST_NS, place)?;
        for (at, device) in self.devices.iter().enumerate() {
            device.check(&format!("observations.devices[{at}]"))?;
        }
        let mut names: Vec<(u32, &str)> =
            self.devices.iter().map(|device| (device.host, device.name.as_str())).collect();
        names.arrange();
        must(names.is_sorted_by(|one, next| one < next), place, "a device is there twice")?;
        let hosts = self.network.iter().map(|network| network.host);
        must(hosts.is_sorted_by(|one, next| one < next), place, "a network is there twice, or out of order")?;
        for (at, network) in self.network.iter().enumerate() {
            network.check(&format!("observations.network[{at}]"))?;
        }
        for (at, sample) in self.host.iter().enumerate() {
            check_host(sample, &format!("observations.host[{at}]"))?;
        }
        ascending(self.host.iter().map(|sample| (sample.at_ns, 0)), |at| format!("observations.host[{at}]"))
    }
}

impl DeviceSeries {
    fn check(&self, place: &str) -> Verdict {
        name(&self.name, || format!("{place}.name"))?;
        self.parts.iter().try_for_each(|part| name(part, || format!("{place}.parts")))?;
        must(self.parts.len() <= MOST_LINES, || place.to_owned(), "it has too many parts")?;
        ascending(self.samples.iter().map(|sample| (sample.at_ns, 0)), |at| format!("{place}.samples[{at}]"))?;
        for (at, sample) in self.samples.iter().enumerate() {
            let place = format!("{place}.samples[{at}]");
            check_counters(&sample.counters, &place)?;
            within(&[sample.reads_in_flight, sample.writes_in_flight], MOST, || place)?;
        }
        let requests = self.requests.iter().map(|interval| (interval.start_ns, interval.length_ns));
        ascending(requests, |at| format!("{place}.requests[{at}]"))
    }
}

impl NetworkSeries {
    fn check(&self, place: &str) -> Verdict {
        check_series(&self.peers, &format!("{place}.peers"))?;
        check_series(&self.links, &format!("{place}.links"))?;
        check_series(&self.servers, &format!("{place}.servers"))?;
        check_series(&self.mounts, &format!("{place}.mounts"))
    }
}

fn check_series<Sample: NetworkSample>(all: &[SampleSeries<Sample>], place: &str) -> Verdict {
    for (at, series) in all.iter().enumerate() {
        let place = || format!("{place}[{at}]");
        name(&series.name, place)?;
        name(&series.about, place)?;
        ascending(series.samples.iter().map(|sample| (sample.at_ns(), 0)), |_| place())?;
        series.samples.iter().try_for_each(|sample| within(&sample.numbers(), MOST_BYTES, place))?;
    }
    let mut names: Vec<&str> = all.iter().map(|series| series.name.as_str()).collect();
    names.arrange();
    must(names.is_sorted_by(|one, next| one < next), || place.to_owned(), "a name is there twice")
}

#[cfg(test)]
mod tests;
