//! `iolab fs perf`: random appends, reads and truncations until a volume is written, on images and
//! folders in turn.

use std::path::PathBuf;

use iolab_fs_commands::{Series, Setting, VolumeRequest, measure_volumes, volumes_json, volumes_text};
use iolab_logfs_bench::VolumeLoad;
use serde_json::Value;

use super::targets::LogfsArguments;
use crate::exit::Failure;
use crate::output;

/// The load, and what it runs on.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An image is made anew for every run, and what it holds is lost; in a folder a folder is made and removed. Several targets run \
                        in turn, the order reversed from round to round, and ratios are those of the same round.\n\nSweeps: small=0,10,50 \
                        write=40,80 domains=1,2 parallel=1,8 cluster-size=256k,1m,4m policy=greedy:0.7,dynamic:0.9 cleaning-memory=2m,8m"
)]
pub(crate) struct Arguments {
    /// Images (regular files, block devices) and folders
    #[arg(required = true)]
    targets: Vec<PathBuf>,
    /// Bytes to write in the measured part
    #[arg(long, value_parser = super::size, default_value = "4g")]
    volume: u64,
    /// Operations that write, percent
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u32).range(1..=100))]
    write: u32,
    /// Of the writes, the small ones, percent
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100))]
    small: u32,
    /// Of the reads, the small ones, percent
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100))]
    small_reads: u32,
    /// Files for small operations, and as many for large ones, of each domain
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=4096))]
    files: u32,
    /// Small sizes, from and to
    #[arg(long, value_parser = range, default_value = "8k-128k")]
    small_size: (u64, u64),
    /// Large sizes
    #[arg(long, value_parser = range, default_value = "16m-20m")]
    large_size: (u64, u64),
    /// All sizes and offsets are multiples of this
    #[arg(long, value_parser = super::size, default_value = "4k")]
    unit: u64,
    /// Live data at which files are cut, percent of the capacity
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=95))]
    upper: u32,
    /// Live data at which that ends
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(0..=94))]
    lower: u32,
    /// Bytes written before the measured part, percent of the capacity
    #[arg(long, default_value_t = 100)]
    fill: u32,
    /// Bytes that a target is taken to hold; the smallest target's unless told
    #[arg(long, value_parser = super::size)]
    capacity: Option<u64>,
    /// Domains, each with a thread, files and a part of the disk (or a folder) of its own, which
    /// share capacity and volume; as many as processors unless told, and fewer where there is no
    /// room for so many
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    domains: Option<u32>,
    /// Operations under way at once in each domain
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    parallel: u32,
    /// Everything random follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rounds; each runs every target once, with a seed of its own
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Run once for each value of a parameter
    #[arg(long, value_name = "NAME=VALUE,…")]
    sweep: Option<String>,
    #[command(flatten)]
    logfs: LogfsArguments,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    let request = VolumeRequest {
        targets: &arguments.targets,
        load: load(arguments),
        domains: arguments.domains,
        rounds: arguments.rounds,
        sweep: arguments.sweep.as_deref(),
        logfs: arguments.logfs.setting(),
    };
    let mut document = Vec::new();
    measure_volumes(&request, |setting: &Setting, series: &[Series]| {
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
        files: arguments.files as usize,
        small_bytes: arguments.small_size,
        large_bytes: arguments.large_size,
        unit_bytes: arguments.unit,
        parallel: arguments.parallel as usize,
        seed: arguments.seed,
    }
}

/// `8k-128k`.
fn range(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once('-').ok_or("FROM-TO is needed, as in 8k-128k")?;
    let range = (super::size(from)?, super::size(to)?);
    if range.0 == 0 || range.0 > range.1 {
        Err("from at least 1 byte up to something larger".to_owned())
    } else {
        Ok(range)
    }
}
