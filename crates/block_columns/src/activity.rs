//! What a block device did between two looks.

use iolab_recording::{DeviceCounters, DeviceSample};

/// Counters gained, and the time in which they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    /// Counters gained; `in_flight` is the one of the later look.
    pub gained: DeviceCounters,
    /// Time between the looks, ns.
    pub elapsed_ns: u64,
    /// Whose activity it is: of one device, or of so many together.
    pub devices: u64,
}

impl Activity {
    /// Between two looks, the earlier one first. A counter that went backwards (the device was replaced) gained nothing.
    pub fn between(before: &DeviceSample, after: &DeviceSample) -> Activity {
        let elapsed_ns = after.at_ns.saturating_sub(before.at_ns);
        Activity { gained: gained(&before.counters, &after.counters), elapsed_ns, devices: 1 }
    }

    /// Of several devices together, in time that passed for all of them.
    pub fn of_group(members: &[Activity], elapsed_ns: u64) -> Activity {
        let gained = members.iter().fold(DeviceCounters::default(), |sum, one| added(&sum, &one.gained));
        Activity { gained, elapsed_ns, devices: members.len().max(1) as u64 }
    }

    /// From the start of the machine to a look, whose time is the time since then.
    pub fn since_boot(look: &DeviceSample) -> Activity {
        Activity::between(&DeviceSample::default(), look)
    }

    /// Whether a request was completed.
    pub fn is_idle(&self) -> bool {
        let gained = &self.gained;
        gained.read_ios + gained.write_ios + gained.discard_ios + gained.flush_ios == 0
    }

    /// This many in one second. In sysstat's order of operations, so that the last digit is the same.
    pub(crate) fn per_second(&self, count: u64) -> f64 {
        let hundredths = self.elapsed_ns as f64 / 1e7;
        if hundredths == 0.0 { 0.0 } else { count as f64 / hundredths * 100.0 }
    }
}

fn gained(before: &DeviceCounters, after: &DeviceCounters) -> DeviceCounters {
    let gain = u64::saturating_sub;
    DeviceCounters {
        read_ios: gain(after.read_ios, before.read_ios),
        read_merges: gain(after.read_merges, before.read_merges),
        read_sectors: gain(after.read_sectors, before.read_sectors),
        read_ticks_ms: gain(after.read_ticks_ms, before.read_ticks_ms),
        write_ios: gain(after.write_ios, before.write_ios),
        write_merges: gain(after.write_merges, before.write_merges),
        write_sectors: gain(after.write_sectors, before.write_sectors),
        write_ticks_ms: gain(after.write_ticks_ms, before.write_ticks_ms),
        in_flight: after.in_flight,
        io_ticks_ms: gain(after.io_ticks_ms, before.io_ticks_ms),
        time_in_queue_ms: gain(after.time_in_queue_ms, before.time_in_queue_ms),
        discard_ios: gain(after.discard_ios, before.discard_ios),
        discard_merges: gain(after.discard_merges, before.discard_merges),
        discard_sectors: gain(after.discard_sectors, before.discard_sectors),
        discard_ticks_ms: gain(after.discard_ticks_ms, before.discard_ticks_ms),
        flush_ios: gain(after.flush_ios, before.flush_ios),
        flush_ticks_ms: gain(after.flush_ticks_ms, before.flush_ticks_ms),
    }
}

fn added(sum: &DeviceCounters, one: &DeviceCounters) -> DeviceCounters {
    let add = u64::saturating_add;
    DeviceCounters {
        read_ios: add(sum.read_ios, one.read_ios),
        read_merges: add(sum.read_merges, one.read_merges),
        read_sectors: add(sum.read_sectors, one.read_sectors),
        read_ticks_ms: add(sum.read_ticks_ms, one.read_ticks_ms),
        write_ios: add(sum.write_ios, one.write_ios),
        write_merges: add(sum.write_merges, one.write_merges),
        write_sectors: add(sum.write_sectors, one.write_sectors),
        write_ticks_ms: add(sum.write_ticks_ms, one.write_ticks_ms),
        in_flight: add(sum.in_flight, one.in_flight),
        io_ticks_ms: add(sum.io_ticks_ms, one.io_ticks_ms),
        time_in_queue_ms: add(sum.time_in_queue_ms, one.time_in_queue_ms),
        discard_ios: add(sum.discard_ios, one.discard_ios),
        discard_merges: add(sum.discard_merges, one.discard_merges),
        discard_sectors: add(sum.discard_sectors, one.discard_sectors),
        discard_ticks_ms: add(sum.discard_ticks_ms, one.discard_ticks_ms),
        flush_ios: add(sum.flush_ios, one.flush_ios),
        flush_ticks_ms: add(sum.flush_ticks_ms, one.flush_ticks_ms),
    }
}
