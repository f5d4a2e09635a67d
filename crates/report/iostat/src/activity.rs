//! The activity of a block device between two samples.

use iolab_recording::{DeviceCounters, DeviceSample};

/// Increases of counters, and the time between the two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceActivity {
    /// The increases of the counters; `in_flight` is the value of the later sample.
    pub gained: DeviceCounters,
    /// Time between the samples, ns.
    pub elapsed_ns: u64,
    /// The number of devices added up.
    pub devices: u64,
}

impl DeviceActivity {
    /// The activity between two samples, the earlier one first. A counter that went backwards (the
    /// device was replaced) counts as unchanged.
    pub fn between(before: &DeviceSample, after: &DeviceSample) -> DeviceActivity {
        let elapsed_ns = after.at_ns.saturating_sub(before.at_ns);
        DeviceActivity { gained: gained(&before.counters, &after.counters), elapsed_ns, devices: 1 }
    }

    /// The sum of several devices, over a time that passed for all of them.
    pub fn of_group(members: &[DeviceActivity], elapsed_ns: u64) -> DeviceActivity {
        let gained = members.iter().fold(DeviceCounters::default(), |sum, one| added(&sum, &one.gained));
        DeviceActivity { gained, elapsed_ns, devices: members.len().max(1) as u64 }
    }

    /// The activity from the start of the machine to a sample, whose time is the uptime.
    pub fn since_boot(look: &DeviceSample) -> DeviceActivity {
        DeviceActivity::between(&DeviceSample::default(), look)
    }

    /// Whether no request was completed.
    pub fn is_idle(&self) -> bool {
        let gained = &self.gained;
        gained.read_ios + gained.write_ios + gained.discard_ios + gained.flush_ios == 0
    }

    /// Share of the time in which at least one request was in flight, percent; the mean of a group.
    pub fn busy_percent(&self) -> f64 {
        self.per_second(self.gained.io_ticks_ms) / 10.0 / self.devices as f64
    }

    /// A count per second, in sysstat's order of operations, so that the last digit is the same.
    pub(crate) fn per_second(&self, count: u64) -> f64 {
        let hundredths = self.elapsed_ns as f64 / 1e7;
        if hundredths == 0.0 { 0.0 } else { count as f64 / hundredths * 100.0 }
    }
}

/// The increases of the counters. The number in flight is not a counter: the later value is kept.
fn gained(before: &DeviceCounters, after: &DeviceCounters) -> DeviceCounters {
    DeviceCounters { in_flight: after.in_flight, ..paired(after, before, u64::saturating_sub) }
}

fn added(sum: &DeviceCounters, one: &DeviceCounters) -> DeviceCounters {
    paired(sum, one, u64::saturating_add)
}

/// Combines each counter of one with the same counter of the other.
fn paired(one: &DeviceCounters, other: &DeviceCounters, joined: fn(u64, u64) -> u64) -> DeviceCounters {
    DeviceCounters {
        read_ios: joined(one.read_ios, other.read_ios),
        read_merges: joined(one.read_merges, other.read_merges),
        read_sectors: joined(one.read_sectors, other.read_sectors),
        read_ticks_ms: joined(one.read_ticks_ms, other.read_ticks_ms),
        write_ios: joined(one.write_ios, other.write_ios),
        write_merges: joined(one.write_merges, other.write_merges),
        write_sectors: joined(one.write_sectors, other.write_sectors),
        write_ticks_ms: joined(one.write_ticks_ms, other.write_ticks_ms),
        in_flight: joined(one.in_flight, other.in_flight),
        io_ticks_ms: joined(one.io_ticks_ms, other.io_ticks_ms),
        time_in_queue_ms: joined(one.time_in_queue_ms, other.time_in_queue_ms),
        discard_ios: joined(one.discard_ios, other.discard_ios),
        discard_merges: joined(one.discard_merges, other.discard_merges),
        discard_sectors: joined(one.discard_sectors, other.discard_sectors),
        discard_ticks_ms: joined(one.discard_ticks_ms, other.discard_ticks_ms),
        flush_ios: joined(one.flush_ios, other.flush_ios),
        flush_ticks_ms: joined(one.flush_ticks_ms, other.flush_ticks_ms),
    }
}

/// Reads, writes and discards together.
pub(crate) fn ios(of: &DeviceActivity) -> u64 {
    of.gained.read_ios + of.gained.write_ios + of.gained.discard_ios
}

pub(crate) fn sectors(of: &DeviceActivity) -> u64 {
    of.gained.read_sectors + of.gained.write_sectors + of.gained.discard_sectors
}

pub(crate) fn quotient(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}
