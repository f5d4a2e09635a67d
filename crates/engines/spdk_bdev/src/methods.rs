//! The results of a configuration's methods: block devices by name, and errors injected into them.

use std::path::PathBuf;

use crate::json::{Json, Wrong};
use crate::parameters::Parameters;

/// A block device of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bdev {
    pub(crate) name: String,
    /// Line of the call that creates it.
    pub(crate) line: u32,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A controller, whose namespaces are the devices: the keys that name it, without `ns=`.
    Controller { words: String },
    /// Memory, or nothing.
    Memory { blocks: u64, block_bytes: u32, keeps: bool },
    /// A file or block device through the kernel.
    Kernel { by: KernelInterface, path: PathBuf, block_bytes: Option<u32>, read_only: bool },
    /// Delays its base.
    Delay { base: String, reads: Latency, writes: Latency },
    /// Injects errors into its base.
    Error { base: String },
    /// Strips over several bases.
    Raid0 { bases: Vec<String>, strip_bytes: u64 },
    /// Part of its base: number and count of parts, and their size if given.
    Split { base: String, part: u64, parts: u64, part_bytes: Option<u64> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelInterface {
    Aio,
    Uring,
}

/// Additional latency of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Latency {
    pub(crate) average_ns: u64,
    /// For one operation in a hundred.
    pub(crate) p99_ns: u64,
}

/// A call of `bdev_error_inject_error`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Injection {
    pub(crate) line: u32,
    pub(crate) bdev: String,
    /// The kinds of operations, from `io_type`.
    pub(crate) operations: Operations,
    pub(crate) error: Fault,
    /// Number of affected operations.
    pub(crate) count: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operations {
    All,
    Read,
    Write,
    Trim,
    Flush,
}

/// The kind of an injected error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Ends earlier injections.
    Clear,
    /// The operation fails.
    Failure,
    /// It is held until it times out.
    Pending,
    /// One byte of it is changed.
    Corrupt { offset: u32, value: u8 },
    /// There was no memory for it at first; it is repeated at once.
    NoMemory,
}

/// The result of one call.
#[derive(Debug)]
pub(crate) enum Made {
    Bdevs(Vec<Bdev>),
    Injection(Injection),
    /// It tunes SPDK and creates nothing.
    Nothing,
}

/// Methods that tune parts of SPDK that do not exist here.
const WITHOUT_EFFECT: [&str; 8] = [
    "bdev_set_options",
    "bdev_nvme_set_options",
    "bdev_nvme_set_hotplug",
    "bdev_raid_set_options",
    "bdev_iscsi_set_options",
    "bdev_wait_for_examine",
    "bdev_examine",
    "bdev_enable_histogram",
];

/// The methods that create something, for messages.
pub(crate) const METHODS: [&str; 10] = [
    "bdev_nvme_attach_controller",
    "bdev_malloc_create",
    "bdev_null_create",
    "bdev_aio_create",
    "bdev_uring_create",
    "bdev_delay_create",
    "bdev_error_create",
    "bdev_error_inject_error",
    "bdev_raid_create",
    "bdev_split_create",
];

/// Valid block sizes, bytes.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 512..=(1 << 20);
const MIB: u64 = 1 << 20;

/// Reads one call.
pub(crate) fn make(method: &str, line: u32, parameters: Option<&Json>) -> Result<Made, Wrong> {
    if WITHOUT_EFFECT.contains(&method) {
        return Ok(Made::Nothing);
    }
    let mut given = Parameters::of(method, line, parameters)?;
    let made = match method {
        "bdev_nvme_attach_controller" => one(line, controller(&mut given)?),
        "bdev_malloc_create" => one(line, memory(&mut given, true)?),
        "bdev_null_create" => one(line, memory(&mut given, false)?),
        "bdev_aio_create" => one(line, kernel(&mut given, KernelInterface::Aio)?),
        "bdev_uring_create" => one(line, kernel(&mut given, KernelInterface::Uring)?),
        "bdev_delay_create" => one(line, delay(&mut given)?),
        "bdev_error_create" => {
            let base = given.needed_text("base_name")?;
            one(line, (format!("EE_{base}"), Kind::Error { base }))
        }
        "bdev_error_inject_error" => Made::Injection(injection(&mut given)?),
        "bdev_raid_create" => one(line, raid0(&mut given)?),
        "bdev_split_create" => Made::Bdevs(split(&mut given)?),
        _ => {
            let known = METHODS.join(", ");
            return Err(Wrong::at(line, format!("the method {method} is unknown here; known are {known}")));
        }
    };
    given.ignore(&["uuid"]);
    given.end()?;
    Ok(made)
}

fn one(line: u32, (name, kind): (String, Kind)) -> Made {
    Made::Bdevs(vec![Bdev { name, line, kind }])
}

fn controller(given: &mut Parameters<'_>) -> Result<(String, Kind), Wrong> {
    let name = given.needed_text("name")?;
    let mut words = format!("trtype={} traddr={}", given.needed_text("trtype")?, given.needed_text("traddr")?);
    for key in ["adrfam", "trsvcid", "subnqn", "hostnqn"] {
        if let Some(value) = given.text(key)?.filter(|value| !value.is_empty()) {
            words.push_str(&format!(" {key}={value}"));
        }
    }
    let digest = match (given.flag("hdgst")?, given.flag("ddgst")?) {
        (false, false) => "",
        (true, false) => " digest=header",
        (false, true) => " digest=data",
        (true, true) => " digest=both",
    };
    words.push_str(digest);
    // How SPDK reconnects, and the number of paths and queues.
    given.ignore(&[
        "priority",
        "prchk_reftag",
        "prchk_guard",
        "multipath",
        "num_io_queues",
        "ctrlr_loss_timeout_sec",
        "reconnect_delay_sec",
        "fast_io_fail_timeout_sec",
        "max_bdevs",
        "allow_unrecognized_csi",
    ]);
    Ok((name, Kind::Controller { words }))
}

fn block_size(given: &mut Parameters<'_>) -> Result<Option<u32>, Wrong> {
    match given.number("block_size")? {
        None | Some(0) => Ok(None),
        Some(bytes) if bytes.is_power_of_two() && BLOCK_BYTES.contains(&bytes) => Ok(Some(bytes as u32)),
        Some(bytes) => {
            Err(Wrong::at(given.line, format!("block_size {bytes} is not a power of two between 512 and 1048576")))
        }
    }
}

fn memory(given: &mut Parameters<'_>, keeps: bool) -> Result<(String, Kind), Wrong> {
    let line = given.line;
    let default = if keeps { format!("Malloc@{line}") } else { format!("Null@{line}") };
    let name = given.text("name")?.unwrap_or(default);
    let blocks = given.needed_number("num_blocks")?;
    let block_bytes = block_size(given)?.ok_or_else(|| Wrong::at(line, "block_size is missing"))?;
    given.nothing("md_size", "metadata of blocks")?;
    given.nothing("dif_type", "protection information")?;
    given.ignore(&[
        "physical_block_size",
        "optimal_io_boundary",
        "md_interleave",
        "dif_is_head_of_md",
        "dif_pi_format",
        "preferred_write_alignment",
        "preferred_write_granularity",
        "optimal_write_size",
        "preferred_unmap_alignment",
        "preferred_unmap_granularity",
        "numa_id",
    ]);
    if blocks == 0 || blocks.checked_mul(u64::from(block_bytes)).is_none() {
        return Err(Wrong::at(line, format!("{blocks} blocks of {block_bytes} bytes are no device")));
    }
    Ok((name, Kind::Memory { blocks, block_bytes, keeps }))
}

fn kernel(given: &mut Parameters<'_>, by: KernelInterface) -> Result<(String, Kind), Wrong> {
    let name = given.needed_text("name")?;
    let path = PathBuf::from(given.needed_text("filename")?);
    let block_bytes = block_size(given)?;
    let read_only = given.flag("readonly")?;
    // Holes are always created if the file system supports them.
    given.ignore(&["fallocate"]);
    Ok((name, Kind::Kernel { by, path, block_bytes, read_only }))
}

fn delay(given: &mut Parameters<'_>) -> Result<(String, Kind), Wrong> {
    let (name, base) = (given.needed_text("name")?, given.needed_text("base_bdev_name")?);
    let mut latency = |average: &str, p99: &str| -> Result<Latency, Wrong> {
        let mut microseconds = |key: &str| given.needed_number(key).map(|value| value.saturating_mul(1000));
        Ok(Latency { average_ns: microseconds(average)?, p99_ns: microseconds(p99)? })
    };
    let reads = latency("avg_read_latency", "p99_read_latency")?;
    let writes = latency("avg_write_latency", "p99_write_latency")?;
    Ok((name, Kind::Delay { base, reads, writes }))
}

fn raid0(given: &mut Parameters<'_>) -> Result<(String, Kind), Wrong> {
    let line = given.line;
    let name = given.needed_text("name")?;
    let level = given.needed_text("raid_level")?;
    if !matches!(level.as_str(), "raid0" | "0") {
        return Err(Wrong::at(line, format!("raid_level {level} cannot be had here: raid0 can")));
    }
    let strip_bytes = given.needed_number("strip_size_kb")?.saturating_mul(1024);
    if !strip_bytes.is_power_of_two() || strip_bytes > 1 << 30 {
        return Err(Wrong::at(line, "strip_size_kb is not a power of two below a million".to_owned()));
    }
    let bases = given.needed_texts("base_bdevs")?;
    if bases.is_empty() {
        return Err(Wrong::at(line, "base_bdevs is empty"));
    }
    if given.flag("superblock")? {
        return Err(Wrong::at(line, "superblock cannot be had here: nothing but data is on the bases"));
    }
    Ok((name, Kind::Raid0 { bases, strip_bytes }))
}

fn split(given: &mut Parameters<'_>) -> Result<Vec<Bdev>, Wrong> {
    let line = given.line;
    let base = given.needed_text("base_bdev")?;
    let parts = given.needed_number("split_count")?;
    if !(1..=65_536).contains(&parts) {
        return Err(Wrong::at(line, format!("split_count {parts} is not between 1 and 65536")));
    }
    let part_bytes = given.number("split_size_mb")?.filter(|&size| size > 0).map(|size| size.saturating_mul(MIB));
    let part = |part| Bdev {
        name: format!("{base}p{part}"),
        line,
        kind: Kind::Split { base: base.clone(), part, parts, part_bytes },
    };
    Ok((0..parts).map(part).collect())
}

fn injection(given: &mut Parameters<'_>) -> Result<Injection, Wrong> {
    let line = given.line;
    let bdev = given.needed_text("name")?;
    let kind = given.needed_text("io_type")?;
    let error = given.text("error_type")?;
    let count = given.number("num")?.unwrap_or(1);
    given.nothing("queue_depth", "an error that waits for a queue depth")?;
    let offset = given.number("corrupt_offset")?.unwrap_or(0);
    let value = given.number("corrupt_value")?.unwrap_or(0);
    let operations = match kind.as_str() {
        "all" | "clear" => Operations::All,
        "read" => Operations::Read,
        "write" => Operations::Write,
        "unmap" => Operations::Trim,
        "flush" => Operations::Flush,
        _ => return Err(Wrong::at(line, format!("io_type {kind} is none of clear, read, write, unmap, flush, all"))),
    };
    let error = match (kind.as_str(), error.as_deref()) {
        ("clear", _) => Fault::Clear,
        (_, Some("failure")) => Fault::Failure,
        (_, Some("pending")) => Fault::Pending,
        (_, Some("nomem")) => Fault::NoMemory,
        (_, Some("corrupt_data")) => {
            let offset = u32::try_from(offset).map_err(|_| Wrong::at(line, "corrupt_offset is too large"))?;
            let value = u8::try_from(value).map_err(|_| Wrong::at(line, "corrupt_value is not one byte"))?;
            Fault::Corrupt { offset, value }
        }
        (_, other) => {
            let other = other.unwrap_or("nothing");
            let said = format!("error_type {other} is none of failure, pending, corrupt_data, nomem");
            return Err(Wrong::at(line, said));
        }
    };
    Ok(Injection { line, bdev, operations, error, count: u32::try_from(count).unwrap_or(u32::MAX) })
}
