//! `iolab fs perf`: random appends, reads and truncations until a given volume is written, on
//! images and folders in turn.

use std::path::PathBuf;

use iolab_fs_commands::{
    LogfsSetting, Series, SweepSetting, VolumeRequest, measure_volumes, volumes_json, volumes_text,
};
use iolab_logfs_bench::VolumeLoad;
use serde_json::Value;

use super::targets::LogfsArguments;
use crate::exit::ExitFailure;
use crate::output;

/// The load, and what it runs on.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Images are created anew for every run, so their contents are lost. In a folder, a temporary folder \
        is created and removed. Several targets run in turn, in reversed order every other round; ratios compare \
        results of the same round.\n\nSweeps: small=0,10,50 small-reads=0,50 write=40,80 remote=0,20 domains=1,2 parallel=1,8 \
        cluster-size=256k,1m,4m policy=threshold:0.3,dynamic:0.3 cleaning-memory=2m,8m"
)]
pub(crate) struct Arguments {
    /// Images (regular files or block devices) and folders
    #[arg(required = true)]
    targets: Vec<PathBuf>,
    /// Bytes to write while measuring
    #[arg(long, value_parser = super::size, default_value = "4g")]
    volume: u64,
    /// Share of operations that write, percent
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u32).range(1..=100))]
    write: u32,
    /// Share of writes that are small, percent
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100))]
    small: u32,
    /// Share of reads that are small, percent
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100))]
    small_reads: u32,
    /// Files per domain for small operations, and as many for large ones
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=4096))]
    files: u32,
    /// Range of small sizes
    #[arg(long, value_parser = range, default_value = "8k-128k")]
    small_size: (u64, u64),
    /// Range of large sizes
    #[arg(long, value_parser = range, default_value = "16m-20m")]
    large_size: (u64, u64),
    /// Sizes and offsets are multiples of this
    #[arg(long, value_parser = super::size, default_value = "4k")]
    unit: u64,
    /// Start truncating files at this much live data, percent of capacity
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=95))]
    upper: u32,
    /// Stop truncating at this much live data, percent of capacity
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(0..=94))]
    lower: u32,
    /// Bytes to write before measuring, percent of capacity
    #[arg(long, default_value_t = 100)]
    fill: u32,
    /// Capacity to assume for every target; by default that of the smallest one
    #[arg(long, value_parser = super::size)]
    capacity: Option<u64>,
    /// Number of domains, each with its own thread, files and part of the disk (or folder); they
    /// share capacity and volume. By default one per processor, fewer on small targets
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    domains: Option<u32>,
    /// Open the domains of an image as one file system, whose cores forward to each other, and
    /// measure what forwarding and changes of the root directory cost
    #[arg(long)]
    shared_root: bool,
    /// Share of operations on files in other domains (or other threads' folders), percent; on
    /// images only with --shared-root
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    remote: u32,
    /// Operations in flight per domain
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    parallel: u32,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of rounds; each round runs every target once, with its own seed
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Run once per value of a parameter
    #[arg(long, value_name = "NAME=VALUE,…")]
    sweep: Option<String>,
    #[command(flatten)]
    logfs: LogfsArguments,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    let request = VolumeRequest {
        targets: &arguments.targets,
        load: load(arguments),
        domains: arguments.domains,
        rounds: arguments.rounds,
        sweep: arguments.sweep.as_deref(),
        logfs: LogfsSetting { shared_root: arguments.shared_root, ..arguments.logfs.setting() },
    };
    let mut document = Vec::new();
    measure_volumes(&request, |setting: &SweepSetting, series: &[Series]| {
        if arguments.json {
            document.push(volumes_json(setting, series));
            return Ok(());
        }
        super::say(&volumes_text(setting, series))
    })?;
    if arguments.json {
        output::print(&format!("{:#}\n", Value::from(document)))?;
    }
    Ok(0)
}

fn load(arguments: &Arguments) -> VolumeLoad {
    VolumeLoad {
        capacity_bytes: arguments.capacity.unwrap_or(0),
        volume_bytes: arguments.volume,
        domains: 1,
        fill_percent: arguments.fill,
        upper_percent: arguments.upper,
        lower_percent: arguments.lower,
        write_percent: arguments.write,
        small_write_percent: arguments.small,
        small_read_percent: arguments.small_reads,
        remote_percent: arguments.remote,
        files: arguments.files as usize,
        small_bytes: arguments.small_size,
        large_bytes: arguments.large_size,
        unit_bytes: arguments.unit,
        parallel: arguments.parallel as usize,
        seed: arguments.seed,
    }
}

/// Parses a range such as `8k-128k`.
fn range(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once('-').ok_or("expected FROM-TO, as in 8k-128k")?;
    let range = (super::size(from)?, super::size(to)?);
    if range.0 == 0 || range.0 > range.1 {
        Err("the range must start at 1 byte or more and end above its start".to_owned())
    } else {
        Ok(range)
    }
}
