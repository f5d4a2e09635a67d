//! Zones: `zonemode=strided`, a pattern of stripes on any device, and `zonemode=zbd`, sequential
//! writes in the zones of a device or in emulated ones.

use std::path::Path;

use iolab_engine::{DeviceZones, FileUse};
use iolab_options::{Direction, SizeSpec};
use iolab_plan::{FilePlan, LayoutPlan, Pattern, StridePlan, VerifyPlan, WorkloadPlan, ZonePlan, ZoneResetPlan};

use crate::blocks::Blocks;
use crate::files::Target;
use crate::job::Job;
use crate::{PathKind, readings};

/// Options that work in this mode only.
const OF_ZBD: [&str; 9] = [
    "zonecapacity",
    "read_beyond_wp",
    "max_open_zones",
    "job_max_open_zones",
    "ignore_zone_limits",
    "zone_reset_threshold",
    "zone_reset_frequency",
    "recover_zbd_write_error",
    "write_zone_remainder",
];

/// `zonemode=strided`.
pub(crate) fn stride(job: &Job<'_>) -> Option<StridePlan> {
    let mode = job.word("zonemode");
    let zone_bytes = job.bytes("zonesize");
    let range_bytes = job.bytes_or_default("zonerange");
    let skip_bytes = match job.size("zoneskip") {
        SizeSpec::Bytes(bytes) => bytes,
        _ => {
            job.error("zoneskip", "zoneskip must be a number of bytes", "");
            0
        }
    };
    if mode != "zbd"
        && let Some(name) = OF_ZBD.into_iter().find(|name| job.has(name))
    {
        job.warn_always(name, format!("{name} has no effect without zonemode=zbd"), "add zonemode=zbd, or remove it");
    }
    match mode.as_str() {
        "strided" if zone_bytes == 0 => {
            job.error(
                "zonemode",
                "zonemode=strided needs zonesize, the bytes to transfer in each zone",
                "for example zonesize=1m",
            );
            None
        }
        "strided" => Some(StridePlan { range_bytes, zone_bytes, skip_bytes }),
        "zbd" if skip_bytes > 0 => {
            job.error("zoneskip", "zoneskip has no meaning with zonemode=zbd", "remove zoneskip");
            None
        }
        "none" if zone_bytes > 0 => {
            job.error("zonesize", "zonesize has no effect with zonemode=none", "add zonemode=strided or zonemode=zbd");
            None
        }
        _ => None,
    }
}

/// `zonemode=zbd`, with the zones that the devices have; `None` in other modes, and after an error.
pub(crate) fn resolve(
    job: &Job<'_>,
    pattern: &Pattern,
    blocks: &Blocks,
    layout: &LayoutPlan,
    targets: &[Target],
) -> Option<ZonePlan> {
    let capacity = job.bytes("zonecapacity");
    let limits = [job.count("max_open_zones"), job.count("job_max_open_zones")];
    let ignores = job.on("ignore_zone_limits");
    let resets = resets(job);
    let [reads_beyond, recovers, fills_rest] =
        ["read_beyond_wp", "recover_zbd_write_error", "write_zone_remainder"].map(|name| job.on(name));
    if job.word("zonemode") != "zbd" {
        return None;
    }
    let device = device(job, targets)?;
    let (emulated, device) = (device.is_none(), device.or_else(|| emulated(job))?);
    let capacity_bytes = if emulated && capacity > 0 { capacity } else { device.zone_bytes };
    if capacity_bytes > device.zone_bytes {
        let reason = format!("zonecapacity={capacity_bytes} is more than a zone has ({} bytes)", device.zone_bytes);
        job.error("zonecapacity", reason, "use a smaller zonecapacity or a larger zonesize");
    }
    let plan = ZonePlan {
        zone_bytes: device.zone_bytes,
        capacity_bytes,
        emulated,
        most_open: most_open(job, limits[0], device.most_open, ignores),
        job_most_open: limits[1],
        resets,
        reads_beyond,
        recovers,
        fills_rest,
    };
    check_blocks(job, &plan, pattern, blocks);
    check_company(job, &plan, pattern, layout);
    Some(plan)
}

/// The zones that all devices of the job have, `Some(None)` if they have none.
fn device(job: &Job<'_>, targets: &[Target]) -> Option<Option<DeviceZones>> {
    let mut found: Option<Option<DeviceZones>> = None;
    for target in targets {
        let zones = match job.engine.capabilities.files {
            FileUse::Devices | FileUse::DeviceNamedBy(_) => zones_of_engine(job, target)?,
            FileUse::Descriptors if matches!(target.kind, PathKind::BlockDevice(_)) => {
                job.request.machine.zones(Path::new(&target.path))
            }
            _ => None,
        };
        if found.is_some_and(|before| before != zones) {
            job.error("filename", "the devices of the job have different zones", "give each device a job of its own");
            return None;
        }
        found = Some(zones);
    }
    let zones = found?;
    let asked = job.bytes("zonesize");
    if let Some(zones) = zones.filter(|zones| asked > 0 && asked != zones.zone_bytes) {
        let reason = format!("zonesize={asked}, but the zones of the device have {} bytes", zones.zone_bytes);
        job.error("zonesize", reason, "remove zonesize: the device says it itself");
        return None;
    }
    Some(zones)
}

fn zones_of_engine(job: &Job<'_>, target: &Target) -> Option<Option<DeviceZones>> {
    let settings = &job.section.engine_settings;
    match job.request.machine.zones_of_device(job.engine.name, &target.path, settings) {
        Ok(zones) => Some(zones),
        Err(error) => {
            // A device that cannot be opened has been reported already.
            if !matches!(target.kind, PathKind::Missing) {
                job.error("filename", error.message, "");
            }
            None
        }
    }
}

/// Zones of a device that has none.
fn emulated(job: &Job<'_>) -> Option<DeviceZones> {
    let zone_bytes = job.bytes("zonesize");
    if zone_bytes == 0 || !zone_bytes.is_multiple_of(512) {
        let reason = "the device has no zones, so zonemode=zbd needs zonesize, a multiple of 512";
        job.error("zonemode", reason, "for example zonesize=64m");
        return None;
    }
    Some(DeviceZones { zone_bytes, most_open: 0 })
}

/// The limit of open zones: the job's, but not more than the device has.
fn most_open(job: &Job<'_>, asked: u32, device: u32, ignores: bool) -> u32 {
    if !ignores && device > 0 && asked > device {
        let reason = format!("max_open_zones={asked}, but the device allows only {device}");
        job.error("max_open_zones", reason, "use a smaller one, or set ignore_zone_limits");
    }
    if asked == 0 && !ignores { device } else { asked }
}

fn resets(job: &Job<'_>) -> Option<ZoneResetPlan> {
    let share = |name| job.given(name, readings::floats).and_then(|all| all.first().copied());
    let (threshold, frequency) = (share("zone_reset_threshold"), share("zone_reset_frequency"));
    if threshold.is_some() && frequency.is_none_or(|frequency| frequency == 0.0) {
        let reason = "zone_reset_threshold has no effect without zone_reset_frequency";
        job.warn_always("zone_reset_threshold", reason, "add zone_reset_frequency, for example 0.01");
    }
    let frequency = frequency.filter(|frequency| *frequency > 0.0)?;
    let every = (1.0 / frequency).round().max(1.0) as u64;
    Some(ZoneResetPlan { threshold: threshold.unwrap_or(0.0), every })
}

fn check_blocks(job: &Job<'_>, plan: &ZonePlan, pattern: &Pattern, blocks: &Blocks) {
    let write = blocks.sizes[Direction::Write.index()].max();
    if pattern.directions.contains(&Direction::Write) && write > plan.capacity_bytes {
        let reason = format!("bs={write} is more than a zone can hold ({} bytes)", plan.capacity_bytes);
        job.error("bs", reason, "use smaller blocks");
    }
    let trims = &blocks.sizes[Direction::Trim.index()];
    if pattern.directions.contains(&Direction::Trim) && (trims.min(), trims.max()) != (plan.zone_bytes, plan.zone_bytes)
    {
        let reason = format!("trims reset whole zones, and a zone has {} bytes", plan.zone_bytes);
        job.error("bs", reason, &format!("use bs=,,{} (the third size is that of trims)", plan.zone_bytes));
    }
    if blocks.unaligned {
        job.error("bs_unaligned", "writes of any length do not fit into zones", "remove bs_unaligned");
    }
}

/// What does not work together with zones.
fn check_company(job: &Job<'_>, plan: &ZonePlan, pattern: &Pattern, layout: &LayoutPlan) {
    const NEVER: [&str; 11] = [
        "lockfile",
        "flow",
        "follow",
        "latency_target",
        "serialize_overlap",
        "write_iolog",
        "read_iolog",
        "verify_only",
        "verify_backlog",
        "trim_percentage",
        "file_append",
    ];
    let is_off = |name: &'static str| matches!(job.written(name), "0" | "none" | "off");
    if let Some(name) = NEVER.into_iter().find(|name| job.has(name) && !is_off(name)) {
        job.error(name, format!("{name} does not work together with zonemode=zbd"), "remove one of them");
    }
    if job.word("io_submit_mode") == "offload" {
        let reason = "io_submit_mode=offload does not work together with zonemode=zbd";
        job.error("io_submit_mode", reason, "remove one of them");
    }
    if pattern.trim_then_write || pattern.skip_bytes != 0 {
        let reason = format!("rw={} does not work with zones, which are written in order", job.written("rw"));
        job.error("rw", reason, "use write, randwrite, rw, randrw, or a mix of them with trims of whole zones");
    }
    let writes = pattern.directions.contains(&Direction::Write);
    if writes && !plan.emulated && !layout.direct && job.engine.capabilities.files == FileUse::Descriptors {
        let reason = "buffered writes reach a zoned device in any order";
        job.error("direct", reason, "set direct=1");
    }
    if plan.recovers && job.given("continue_on_error", readings::word).is_none() {
        let reason = "recover_zbd_write_error has no effect: the first error ends the job";
        job.warn_always("recover_zbd_write_error", reason, "add continue_on_error=write");
    }
}

/// A trace has offsets of its own.
pub(crate) fn refuse_trace(job: &Job<'_>) {
    if job.word("zonemode") == "zbd" {
        let reason = "read_iolog does not work together with zonemode=zbd: a trace says where its operations go";
        job.error("zonemode", reason, "remove zonemode");
    }
}

/// The part of a range that consists of whole zones.
pub(crate) fn whole(job: &Job<'_>, zone_bytes: u64, path: &str, (start, length): (u64, u64)) -> (u64, u64) {
    if zone_bytes == 0 || length == 0 {
        return (start, length);
    }
    let end = start.saturating_add(length) / zone_bytes * zone_bytes;
    let first = start.checked_next_multiple_of(zone_bytes).unwrap_or(u64::MAX);
    if first >= end {
        let reason = format!("{path}: the range of the job has no whole zone of {zone_bytes} bytes");
        job.error("size", reason, "use offset and size in zones, for example size=4z");
        return (start, length);
    }
    if (first, end) != (start, start + length) {
        let reason = format!("{path}: the job uses whole zones only, bytes {first} to {end}");
        job.warn("size", reason, "use offset and size in zones, for example size=4z");
    }
    (first, end - first)
}

/// Whether what is verified fits into zones.
pub(crate) fn check_verify(job: &Job<'_>, workload: &WorkloadPlan, verify: Option<&VerifyPlan>) {
    let (Some(zones), Some(verify)) = (&workload.zones, verify) else { return };
    if !zones.zone_bytes.is_multiple_of(verify.interval_bytes.max(1)) {
        let reason = format!(
            "zones of {} bytes do not consist of whole intervals of {} bytes",
            zones.zone_bytes, verify.interval_bytes
        );
        job.error("verify_interval", reason, "use a verify_interval that divides the zone, for example 4096");
    }
}

/// With `zone_reset_threshold`, all jobs that write to a device use the same range of it: the share
/// that is written is one number.
pub(crate) fn check_ranges(job: &Job<'_>, workload: &WorkloadPlan, files: &[FilePlan]) {
    let resets = workload.zones.is_some_and(|zones| zones.resets.is_some());
    let mut ranges = job.resolving.zone_ranges.borrow_mut();
    for file in files.iter().filter(|_| resets && workload.pattern.directions.contains(&Direction::Write)) {
        let range = (file.start_bytes, file.length_bytes);
        if *ranges.entry(file.path.clone()).or_insert(range) != range {
            let reason = "with zone_reset_frequency, all jobs that write to a device must use the same range of it";
            job.error("zone_reset_frequency", reason, "give these jobs the same offset and size");
        }
    }
}
