//! Block devices: differences of counters, utilisation, and the means over the underlying devices
//! of one.

use iolab_recording::{DeviceCounters, DeviceUse, Host};

/// What one device did during the run.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceFigures {
    /// Kernel name; preceded by that of its host if there are several.
    pub name: String,
    /// Counters gained during the run (`in_flight` is the final value).
    pub gained: DeviceCounters,
    /// Share of the time in which anything was in flight, percent.
    pub util_percent: f64,
    /// For a device made of others: the means of their counters, and their largest utilisation.
    pub parts: Option<(DeviceCounters, f64)>,
}

/// Figures of devices of a run on these hosts, in the order recorded.
pub fn device_figures(devices: &[DeviceUse], hosts: &[Host]) -> Vec<DeviceFigures> {
    let name = |device: &DeviceUse| match hosts.get(device.host as usize) {
        Some(host) => format!("{}:{}", host.name, device.name),
        None => device.name.clone(),
    };
    devices
        .iter()
        .map(|device| {
            let is_part = |part: &&DeviceUse| part.host == device.host && device.parts.contains(&part.name);
            let parts: Vec<&DeviceUse> = devices.iter().filter(is_part).collect();
            DeviceFigures {
                name: name(device),
                gained: gained(device),
                util_percent: util_percent(device),
                parts: (!parts.is_empty())
                    .then(|| (mean(&parts), parts.iter().map(|p| util_percent(p)).fold(0.0, f64::max))),
            }
        })
        .collect()
}

fn util_percent(device: &DeviceUse) -> f64 {
    if device.elapsed_ns == 0 {
        return 0.0;
    }
    let busy_ms = device.after.io_ticks_ms.saturating_sub(device.before.io_ticks_ms);
    (busy_ms as f64 * 1e8 / device.elapsed_ns as f64).min(100.0)
}

fn gained(device: &DeviceUse) -> DeviceCounters {
    combine(&device.after, &device.before, u64::saturating_sub)
}

fn mean(parts: &[&DeviceUse]) -> DeviceCounters {
    let sum = parts.iter().fold(DeviceCounters::default(), |sum, part| combine(&sum, &gained(part), |a, b| a + b));
    combine(&sum, &sum, |total, _| total / parts.len() as u64)
}

fn combine(a: &DeviceCounters, b: &DeviceCounters, each: impl Fn(u64, u64) -> u64) -> DeviceCounters {
    DeviceCounters {
        read_ios: each(a.read_ios, b.read_ios),
        read_merges: each(a.read_merges, b.read_merges),
        read_sectors: each(a.read_sectors, b.read_sectors),
        read_ticks_ms: each(a.read_ticks_ms, b.read_ticks_ms),
        write_ios: each(a.write_ios, b.write_ios),
        write_merges: each(a.write_merges, b.write_merges),
        write_sectors: each(a.write_sectors, b.write_sectors),
        write_ticks_ms: each(a.write_ticks_ms, b.write_ticks_ms),
        in_flight: a.in_flight,
        io_ticks_ms: each(a.io_ticks_ms, b.io_ticks_ms),
        time_in_queue_ms: each(a.time_in_queue_ms, b.time_in_queue_ms),
        discard_ios: each(a.discard_ios, b.discard_ios),
        discard_merges: each(a.discard_merges, b.discard_merges),
        discard_sectors: each(a.discard_sectors, b.discard_sectors),
        discard_ticks_ms: each(a.discard_ticks_ms, b.discard_ticks_ms),
        flush_ios: each(a.flush_ios, b.flush_ios),
        flush_ticks_ms: each(a.flush_ticks_ms, b.flush_ticks_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utilisation_and_means_over_parts() {
        let device = |name: &str, parts: &[&str], ios: u64, ticks: u64| DeviceUse {
            name: name.into(),
            host: 0,
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            before: DeviceCounters { read_ios: 5, io_ticks_ms: 100, ..Default::default() },
            after: DeviceCounters { read_ios: 5 + ios, io_ticks_ms: 100 + ticks, ..Default::default() },
            elapsed_ns: 1_000_000_000,
        };
        let figures = device_figures(
            &[device("md0", &["sda", "sdb"], 30, 900), device("sda", &[], 10, 250), device("sdb", &[], 20, 2000)],
            &[],
        );
        assert_eq!((figures[0].gained.read_ios, figures[0].util_percent), (30, 90.0));
        let (mean, util) = figures[0].parts.as_ref().expect("md0 has parts");
        assert_eq!((mean.read_ios, *util), (15, 100.0));
        assert_eq!((figures[1].util_percent, &figures[1].parts), (25.0, &None));
    }
}
