//! Parses the kernel's counters of block devices, pressure, CPUs and memory.
//!
//! Every function takes the text of one file and returns `None` when it does not have the
//! documented form. Nothing here opens a file.

use iolab_recording::{DeviceCounters, HostSample, QuotaUse};

/// Counters of a device (Documentation/block/stat.rst): 11 fields, since Linux 4.18 four of
/// discards, since 5.5 two of flushes.
pub(crate) fn device_counters(text: &str) -> Option<DeviceCounters> {
    let mut fields = [0; 17];
    let words = text.split_whitespace().map_while(|word| word.parse().ok());
    let read = fields.iter_mut().zip(words).map(|(field, word)| *field = word).count();
    (read >= 11).then_some(DeviceCounters {
        read_ios: fields[0],
        read_merges: fields[1],
        read_sectors: fields[2],
        read_ticks_ms: fields[3],
        write_ios: fields[4],
        write_merges: fields[5],
        write_sectors: fields[6],
        write_ticks_ms: fields[7],
        in_flight: fields[8],
        io_ticks_ms: fields[9],
        time_in_queue_ms: fields[10],
        discard_ios: fields[11],
        discard_merges: fields[12],
        discard_sectors: fields[13],
        discard_ticks_ms: fields[14],
        flush_ios: fields[15],
        flush_ticks_ms: fields[16],
    })
}

/// Reads and writes in flight, from `/sys/block/*/inflight`.
pub(crate) fn in_flight(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// The totals of `some` and `full` in a file of `/proc/pressure`, converted from µs to ns
/// (Documentation/accounting/psi.rst).
pub(crate) fn pressure_ns(text: &str) -> (Option<u64>, Option<u64>) {
    let total = |kind: &str| -> Option<u64> {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(kind))?;
        let us = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
        us.parse::<u64>().ok()?.checked_mul(1000)
    };
    (total("some"), total("full"))
}

/// Ticks of all CPUs together since boot, from the first line of `/proc/stat` (proc_stat(5)): user,
/// nice, system, idle, iowait, irq, softirq, steal. Fields that an old kernel lacks are 0.
pub(crate) fn cpu_ticks(text: &str) -> Option<[u64; 8]> {
    let words = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map_while(|word| word.parse().ok());
    let mut ticks = [0; 8];
    let read = ticks.iter_mut().zip(words).map(|(tick, word)| *tick = word).count();
    (read >= 4).then_some(ticks)
}

/// Stores the first line of `/proc/stat` in `host`. `tick_ns` is the length of one tick
/// (proc_stat(5): USER_HZ).
pub(crate) fn cpu_times(text: &str, tick_ns: u64, host: &mut HostSample) -> Option<()> {
    let [user, nice, system, idle, iowait, irq, softirq, steal] =
        cpu_ticks(text)?.map(|ticks| ticks.saturating_mul(tick_ns));
    host.user_ns = user.saturating_add(nice);
    host.system_ns = system.saturating_add(irq).saturating_add(softirq);
    (host.idle_ns, host.iowait_ns, host.steal_ns) = (idle, iowait, steal);
    Some(())
}

/// One line of `/proc/meminfo` in bytes; the file is in units of 1024 bytes whatever it prints
/// (proc_meminfo(5)). `name` includes the colon.
pub(crate) fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// `cpu.stat` of a control group with CPU bandwidth counters: `throttled_usec` in the unified
/// hierarchy, `throttled_time` in ns in a controller's own
/// (Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst).
pub(crate) fn quota_use(text: &str) -> Option<QuotaUse> {
    let field = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.trim().parse().ok()
    };
    let throttled_ns =
        field("throttled_usec").and_then(|us| us.checked_mul(1000)).or_else(|| field("throttled_time"))?;
    Some(QuotaUse { periods: field("nr_periods")?, throttled_periods: field("nr_throttled")?, throttled_ns })
}

/// Quota and period of `cpu.max`, ns; `None` for `max`, which means no quota.
pub(crate) fn quota_and_period_ns(text: &str) -> Option<(u64, u64)> {
    let mut us = text.split_whitespace().map(|word| word.parse::<u64>().ok()?.checked_mul(1000));
    Some((us.next()??, us.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_old_and_new_kernels() {
        let new = device_counters("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n").unwrap();
        assert_eq!((new.read_ios, new.time_in_queue_ms, new.discard_ios, new.flush_ticks_ms), (1, 11, 12, 17));
        let old = device_counters("  1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((old.write_sectors, old.discard_ios, old.flush_ios), (7, 0, 0));
        assert_eq!(device_counters("1 2 3"), None);
        assert_eq!(device_counters("1 2 3 4 5 six 7 8 9 10 11"), None);
    }

    #[test]
    fn pressure_in_flight_and_memory() {
        let text = "some avg10=0.00 avg60=1.00 avg300=0.00 total=17\nfull avg10=0.00 total=3\n";
        assert_eq!(pressure_ns(text), (Some(17_000), Some(3_000)));
        assert_eq!(pressure_ns("some avg10=0.00 total=17\n"), (Some(17_000), None));
        assert_eq!(pressure_ns(""), (None, None));
        assert_eq!(in_flight("       3        12\n"), Some((3, 12)));
        assert_eq!(in_flight("3"), None);
        let memory = "MemTotal: 9 kB\nCached:            12 kB\nDirty: 1 kB\n";
        assert_eq!(meminfo_bytes(memory, "Cached:"), Some(12 << 10));
        assert_eq!(meminfo_bytes(memory, "Writeback:"), None);
    }

    #[test]
    fn quotas_of_both_hierarchies() {
        let expected = Some(QuotaUse { periods: 21, throttled_periods: 20, throttled_ns: 1_261_310_000 });
        let unified = "usage_usec 9\nnr_periods 21\nnr_throttled 20\nthrottled_usec 1261310\nnr_bursts 0\n";
        assert_eq!(quota_use(unified), expected);
        assert_eq!(quota_use("nr_periods 21\nnr_throttled 20\nthrottled_time 1261310000\n"), expected);
        assert_eq!(quota_use("usage_usec 80249700960\nuser_usec 6\n"), None);
        assert_eq!(quota_use("nr_periods 21\nnr_throttled x\nthrottled_usec 1\n"), None);
        assert_eq!(quota_and_period_ns("20000 100000\n"), Some((20_000_000, 100_000_000)));
        assert_eq!(quota_and_period_ns("max 100000\n"), None);
        assert_eq!(quota_and_period_ns("20000"), None);
    }

    #[test]
    fn cpu_times_of_old_and_new_kernels() {
        let mut host = HostSample::default();
        assert_eq!(cpu_times("cpu  10 1 20 300 40 2 3 5 7 8\ncpu0 1 1 1 1\n", 10_000_000, &mut host), Some(()));
        assert_eq!((host.user_ns, host.system_ns, host.idle_ns), (110_000_000, 250_000_000, 3_000_000_000));
        assert_eq!((host.iowait_ns, host.steal_ns), (400_000_000, 50_000_000));
        assert_eq!(cpu_times("cpu  1 1 1 1\n", 1, &mut host), Some(()));
        assert_eq!((host.idle_ns, host.iowait_ns, host.steal_ns), (1, 0, 0));
        assert_eq!(cpu_times("intr 1 2 3\n", 1, &mut host), None);
    }
}
