//! `iolab fs perf`: random appends, reads and truncations until a volume is written, on images and
//! folders in turn.

mod shown;

use std::path::PathBuf;

use iolab_logfs_bench::{Target, VolumeLoad, VolumeResult, run_volume_load};
use serde_json::Value;

use super::targets::{LogfsArguments, policy, targets, usual_domains};
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

/// One value of a sweep.
struct Setting {
    label: String,
    load: VolumeLoad,
    targets: Vec<Target>,
}

/// What a target took, round by round.
struct Series {
    path: PathBuf,
    is_logfs: bool,
    results: Vec<VolumeResult>,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    let mut document = Vec::new();
    for setting in settings(arguments)? {
        let series = run(&setting, arguments.rounds)?;
        if arguments.json {
            document.push(shown::as_json(&setting, &series));
        } else {
            output::print(&shown::as_text(&setting, &series))?;
        }
    }
    if arguments.json {
        output::print(&format!("{:#}\n", Value::from(document)))?;
    }
    Ok(0)
}

fn run(setting: &Setting, rounds: u32) -> Result<Vec<Series>, Failure> {
    let series = |target: &Target| Series {
        path: target.path().to_owned(),
        is_logfs: matches!(target, Target::Image(_)),
        results: Vec::new(),
    };
    let mut all: Vec<Series> = setting.targets.iter().map(series).collect();
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..all.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for number in order {
            let load = VolumeLoad { seed: setting.load.seed.wrapping_add(u64::from(round)), ..setting.load };
            all[number].results.push(run_volume_load(&setting.targets[number], &load)?);
        }
    }
    Ok(all)
}

/// The load for each value of the sweep, or once.
fn settings(arguments: &Arguments) -> Result<Vec<Setting>, Failure> {
    if arguments.lower >= arguments.upper {
        return Err(Failure::mistake("iolab: --lower must be below --upper"));
    }
    let Some(sweep) = &arguments.sweep else { return Ok(vec![setting(arguments, "", "")?]) };
    let mistake = || Failure::mistake(format!("iolab: --sweep={sweep}: NAME=VALUE,VALUE is needed (small=0,10,50)"));
    let (name, values) = sweep.split_once('=').ok_or_else(mistake)?;
    values.split(',').map(|value| setting(arguments, name, value)).collect()
}

fn setting(arguments: &Arguments, name: &str, value: &str) -> Result<Setting, Failure> {
    let wrong = |error: String| Failure::mistake(format!("iolab: --sweep={name}={value}: {error}"));
    let percent = || match value.parse::<u32>() {
        Ok(percent) if percent <= 100 => Ok(percent),
        _ => Err(wrong("a percentage is needed".to_owned())),
    };
    let mut logfs = arguments.logfs.clone();
    let (mut write, mut small) = (arguments.write, arguments.small);
    let (mut domains, mut parallel) = (arguments.domains, arguments.parallel);
    let count = || match value.parse::<u32>() {
        Ok(count) if (1..=1024).contains(&count) => Ok(count),
        _ => Err(wrong("a number from 1 to 1024 is needed".to_owned())),
    };
    match name {
        "" => {}
        "small" => small = percent()?,
        "write" => write = percent()?.max(1),
        "domains" => domains = Some(count()?),
        "parallel" => parallel = count()?,
        "cluster-size" => logfs.cluster_size = super::size(value).map_err(wrong)?,
        "cleaning-memory" => logfs.cleaning_memory = super::size(value).map_err(wrong)?,
        "policy" => logfs.policy = policy(value).map_err(wrong)?,
        _ => {
            let names = "small, write, domains, parallel, cluster-size, cleaning-memory, policy";
            return Err(wrong(format!("one of {names} can be swept")));
        }
    }
    // An image of an earlier value is ours.
    let targets = targets(&arguments.targets, &LogfsArguments { force: logfs.force, ..logfs })?;
    let capacity_bytes = match arguments.capacity {
        Some(bytes) => bytes,
        None => {
            let capacities: Result<Vec<u64>, _> = targets.iter().map(Target::capacity_bytes).collect();
            capacities?.into_iter().min().unwrap_or(0)
        }
    };
    let mut load = VolumeLoad {
        capacity_bytes,
        volume_bytes: arguments.volume,
        domains: 1,
        fill_percent: arguments.fill,
        upper_percent: arguments.upper,
        lower_percent: arguments.lower,
        write_percent: write,
        small_write_percent: small,
        small_read_percent: arguments.small_reads,
        files: arguments.files as usize,
        small_bytes: arguments.small_size,
        large_bytes: arguments.large_size,
        unit_bytes: arguments.unit,
        parallel: parallel as usize,
        seed: arguments.seed,
    };
    load.domains = match domains {
        Some(domains) => domains as usize,
        None => (usual_domains(&targets)? as usize).min(load.most_domains()).max(1),
    };
    let label = if name.is_empty() { String::new() } else { format!("{name}={value}") };
    Ok(Setting { label, load, targets })
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
