//! Limits, processors, block devices, and means of observation.

use iolab_clock::Clock;
use iolab_observe::{System, free_bytes, locked_memory_limit};
use iolab_order::Arrange;
use iolab_pipeline::left_over_settings;
use iolab_units::{format_bytes, rounded_ns};

use crate::check::{Check, CheckStatus, read};

/// Locked memory below this does not hold the buffers of a deep queue.
const LOCKED_BYTES: u64 = 64 << 20;

/// Requests that all AIO contexts of the machine may hold; a job takes its depth.
const AIO_REQUESTS: u64 = 4096;

/// A share of stolen time above this shows in latencies.
const STOLEN: f64 = 0.01;

/// A layout soon fills less space than this.
const FREE_BYTES: u64 = 1 << 30;

/// Limits of processes and of the machine.
pub(crate) fn limits() -> Vec<Check> {
    vec![user(), locked_memory(), huge_pages(), aio(), space()]
}

fn user() -> Check {
    if rustix::process::geteuid().is_root() {
        return Check::ok("user", "root");
    }
    Check::new(
        CheckStatus::Limited,
        "user",
        "not root",
        "cannot change device settings, trace requests or drop device caches, and can use only devices that this user may open",
        "sudo iolab …",
    )
}

pub(crate) fn locked_memory() -> Check {
    match locked_memory_limit() {
        None => Check::ok("locked memory", "no limit"),
        Some(bytes) if bytes >= LOCKED_BYTES => Check::ok("locked memory", format!("at most {}", format_bytes(bytes))),
        Some(bytes) => Check::new(
            CheckStatus::Limited,
            "locked memory",
            format!("at most {}", format_bytes(bytes)),
            "io_uring cannot register larger buffers and uses plain ones; lockmem fails",
            "ulimit -l unlimited (LimitMEMLOCK=infinity in a service)",
        ),
    }
}

fn huge_pages() -> Check {
    let number = read("/proc/sys/vm/nr_hugepages").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    if number > 0 {
        return Check::ok("huge pages", format!("{number} reserved"));
    }
    Check::new(
        CheckStatus::Limited,
        "huge pages",
        "none reserved",
        "mem=mmaphuge and mem=shmhuge fail, and so do user-space drivers without an IOMMU",
        "sysctl vm.nr_hugepages=512",
    )
}

pub(crate) fn aio() -> Check {
    let number = |path| read(path).and_then(|text| text.parse::<u64>().ok());
    let (Some(most), Some(used)) = (number("/proc/sys/fs/aio-max-nr"), number("/proc/sys/fs/aio-nr")) else {
        let mend = "a kernel with CONFIG_AIO";
        return Check::new(CheckStatus::No, "AIO requests", "no native AIO", "ioengine=libaio does not run", mend);
    };
    let found = format!("{used} of {most} in use");
    if most.saturating_sub(used) >= AIO_REQUESTS {
        return Check::ok("AIO requests", found);
    }
    let consequence = "libaio with many jobs or a deep queue fails with EAGAIN";
    Check::new(CheckStatus::Limited, "AIO requests", found, consequence, "sysctl fs.aio-max-nr=1048576")
}

fn space() -> Check {
    let here = std::env::current_dir().unwrap_or_else(|_| ".".into());
    let free = free_bytes(&here).unwrap_or(0);
    let found = format!("{:.1} GiB in {}", free as f64 / (1_u64 << 30) as f64, here.display());
    if free >= FREE_BYTES {
        return Check::ok("free space", found);
    }
    Check::new(
        CheckStatus::Limited,
        "free space",
        found,
        "larger files cannot be created here",
        "--directory=/elsewhere",
    )
}

/// Processors and clocks.
pub(crate) fn processors() -> Vec<Check> {
    let mut checks = vec![clock(), steal(), quota(), load()];
    checks.extend(governor());
    checks.extend(turbo());
    checks
}

fn clock() -> Check {
    let kernel = read("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_default();
    match Clock::best() {
        (clock, None) => {
            Check::ok("clock", format!("time stamps come from {}, the kernel's clock is {kernel}", clock.name()))
        }
        (clock, Some(reason)) => Check::new(
            CheckStatus::Limited,
            "clock",
            format!("time stamps come from {}: {reason}", clock.name()),
            "reading the clock costs more, which shows in operations of about a microsecond",
            "clocksource=tsc tsc=reliable on the kernel's command line, if the processor's TSC is invariant",
        ),
    }
}

/// Since boot: the share that the hypervisor usually takes.
pub(crate) fn steal() -> Check {
    let text = read("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let times: Vec<f64> = line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
    let share = times.get(7).copied().unwrap_or(0.0) / times.iter().sum::<f64>().max(1.0);
    let found = format!("{:.2} % of the CPU time since boot", share * 100.0);
    if share < STOLEN {
        return Check::ok("steal", found);
    }
    let consequence = "the hypervisor pauses this VM at times, which appears as device latency";
    Check::new(
        CheckStatus::Limited,
        "steal",
        found,
        consequence,
        "use dedicated CPUs, and compare only within the blocks of a study",
    )
}

/// Limits of the control group in which this program and its jobs run.
pub(crate) fn quota() -> Check {
    let topic = "CPU quota";
    let Some(quotas) = System::live().cpu_quotas() else {
        let consequence = "a CPU quota would stop jobs for parts of a second, and iolab could not tell";
        let mend = "mount -t cgroup2 none /sys/fs/cgroup";
        return Check::new(CheckStatus::Limited, topic, "cannot find this program's control group", consequence, mend);
    };
    let told: Vec<String> = quotas
        .iter()
        .map(|quota| {
            let (part, whole) = (quota.quota_ns as f64, quota.period_ns.max(1) as f64);
            let (group, cpus) = (&quota.group, part / whole);
            format!("{} of CPU time in {} for {group}, which is {cpus:.2} CPUs", rounded_ns(part), rounded_ns(whole))
        })
        .collect();
    if told.is_empty() {
        return Check::ok(topic, "none");
    }
    let consequence = "jobs that use up the quota stop until the period ends, which appears as device latency";
    let mend = "echo max > cpu.max of the group (cgroup v1: echo -1 > cpu.cfs_quota_us), docker run without --cpus";
    Check::new(CheckStatus::Limited, topic, told.join("; "), consequence, mend)
}

pub(crate) fn load() -> Check {
    let text = read("/proc/loadavg").unwrap_or_default();
    let load: f64 = text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    let cpus = System::live().cpus_online();
    let found = format!("{load:.1} on {cpus} CPUs");
    if load < 0.5 * f64::from(cpus) {
        return Check::ok("load", found);
    }
    let consequence = "jobs will wait for CPUs, which appears as latency";
    Check::new(CheckStatus::Limited, "load", found, consequence, "`top` shows what is running; stop it")
}

fn governor() -> Option<Check> {
    let word = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")?;
    if word == "performance" {
        return Some(Check::ok("governor", word));
    }
    let consequence = "the CPU frequency follows the load, so the first operations after a pause are slow";
    Some(Check::new(CheckStatus::Limited, "governor", word, consequence, "cpupower frequency-set -g performance"))
}

fn turbo() -> Option<Check> {
    let intel = read("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|text| text == "0");
    let on = intel.or_else(|| read("/sys/devices/system/cpu/cpufreq/boost").map(|text| text == "1"))?;
    if !on {
        return Some(Check::ok("turbo", "off"));
    }
    let consequence = "CPU time per operation varies with temperature and the load on other cores";
    let mend = "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo (or 0 > cpufreq/boost)";
    Some(Check::new(CheckStatus::Limited, "turbo", "on", consequence, mend))
}

/// Disks with their schedulers, and what killed runs have left on them.
pub(crate) fn devices() -> Vec<Check> {
    let mut names: Vec<String> = std::fs::read_dir("/sys/block")
        .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    names.arrange();
    let size = |name: &String| read(&format!("/sys/block/{name}/size")).is_some_and(|sectors| sectors != "0");
    let mut checks: Vec<Check> = names.iter().filter(|name| size(name)).map(|name| device(name)).collect();
    checks.push(left());
    checks
}

fn device(name: &str) -> Check {
    let setting = |file: &str| read(&format!("/sys/block/{name}/queue/{file}"));
    let scheduler = setting("scheduler").unwrap_or_else(|| "no scheduler".to_owned());
    let cache = setting("write_cache").unwrap_or_else(|| "unknown".to_owned());
    let found =
        format!("{scheduler}; write cache: {cache}; max_sectors_kb: {}", setting("max_sectors_kb").unwrap_or_default());
    if setting("iostats").as_deref() == Some("0") {
        let mend = format!("echo 1 > /sys/block/{name}/queue/iostats");
        let consequence = "the results cannot be checked against the device";
        return Check::new(CheckStatus::Limited, &format!("disk {name}"), found + "; iostats: 0", consequence, &mend);
    }
    Check::ok(&format!("disk {name}"), found)
}

pub(crate) fn left() -> Check {
    let topic = "settings left over";
    let mine: Vec<String> =
        left_over_settings().iter().map(|one| format!("{} ({})", one.device, one.changes.join(", "))).collect();
    if mine.is_empty() {
        return Check::ok(topic, "none");
    }
    let consequence = "these devices still have settings of a killed run";
    Check::new(CheckStatus::Limited, topic, mine.join("; "), consequence, "iolab device restore")
}

/// Counters and tracepoints.
pub(crate) fn tracing() -> Vec<Check> {
    let pressure = match read("/proc/pressure/cpu") {
        Some(_) => Check::ok("pressure", "/proc/pressure exists"),
        None => Check::new(
            CheckStatus::Limited,
            "pressure",
            "/proc/pressure does not exist",
            "iolab cannot tell how long tasks waited for a CPU",
            "psi=1 on the kernel's command line",
        ),
    };
    vec![pressure, tracepoints()]
}

fn tracepoints() -> Check {
    let place = "events/block/block_rq_issue/id";
    let found = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .iter()
        .find(|root| read(&format!("{root}/{place}")).is_some());
    let paranoid = read("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let root = rustix::process::geteuid().is_root();
    let consequence = "iolab cannot separate time in the device from the rest";
    match found {
        Some(root_folder) if root || paranoid.starts_with('-') => {
            Check::ok("tracepoints", format!("block events in {root_folder}"))
        }
        Some(_) => Check::new(
            CheckStatus::Limited,
            "tracepoints",
            format!("kernel.perf_event_paranoid is {paranoid}"),
            consequence,
            "run as root, or sysctl kernel.perf_event_paranoid=-1",
        ),
        None => Check::new(
            CheckStatus::Limited,
            "tracepoints",
            "block events cannot be read",
            consequence,
            "run as root, with tracefs mounted: mount -t tracefs none /sys/kernel/tracing",
        ),
    }
}
