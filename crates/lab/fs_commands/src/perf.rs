//! Random appends, reads and truncations until a given volume is written, on images and folders in
//! turn.

use std::path::PathBuf;

use iolab_activity::Failure;
use iolab_logfs::UnknownPolicy;
use iolab_logfs_bench::{BenchTarget, ForwardingCost, VolumeLoad, VolumeResult, measure_forwarding, run_volume_load};
use iolab_process::keep_freed_memory;

use crate::FsError;
use crate::targets::{LogfsSetting, targets, usual_domains};

/// The load, and what it runs on.
#[derive(Debug, Clone, Copy)]
pub struct VolumeRequest<'a> {
    /// Images (regular files, block devices) and folders.
    pub targets: &'a [PathBuf],
    /// The load; a capacity of 0 is that of the smallest target, and domains are set below.
    pub load: VolumeLoad,
    /// Domains; as many as processors by default, and fewer where there is no room for so many.
    pub domains: Option<u32>,
    /// Rounds; each runs every target once.
    pub rounds: u32,
    /// Run once for each value of a parameter: `NAME=VALUE,…`.
    pub sweep: Option<&'a str>,
    /// How images are made.
    pub logfs: LogfsSetting,
}

/// One value of a sweep.
#[derive(Debug)]
pub struct SweepSetting {
    pub(crate) label: String,
    pub(crate) load: VolumeLoad,
    pub(crate) targets: Vec<BenchTarget>,
}

/// The results of a target, round by round.
#[derive(Debug)]
pub struct Series {
    pub(crate) path: PathBuf,
    pub(crate) is_logfs: bool,
    pub(crate) results: Vec<VolumeResult>,
    /// What forwarding costs on an image whose domains are open as one file system, for each round.
    pub(crate) forwarding: Vec<ForwardingCost>,
}

/// Runs the load for each value of the sweep, or once; calls `done` after each run.
///
/// # Errors
/// Errors of the sweep are found before a target is touched.
pub fn measure_volumes(
    request: &VolumeRequest<'_>,
    mut done: impl FnMut(&SweepSetting, &[Series]) -> Result<(), Failure>,
) -> Result<(), FsError> {
    keep_freed_memory();
    for setting in settings(request)? {
        done(&setting, &run(&setting, request.rounds)?)?;
    }
    Ok(())
}

fn run(setting: &SweepSetting, rounds: u32) -> Result<Vec<Series>, FsError> {
    let series = |target: &BenchTarget| Series {
        path: target.path().to_owned(),
        is_logfs: matches!(target, BenchTarget::Image(_)),
        results: Vec::new(),
        forwarding: Vec::new(),
    };
    let mut all: Vec<Series> = setting.targets.iter().map(series).collect();
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..all.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for number in order {
            let load = VolumeLoad { seed: setting.load.seed.wrapping_add(u64::from(round)), ..setting.load };
            let target = &setting.targets[number];
            // First, because the load makes the image anew and leaves its own content.
            if let BenchTarget::Image(image) = target
                && image.shared_root
            {
                all[number].forwarding.push(measure_forwarding(image)?);
            }
            all[number].results.push(run_volume_load(target, &load)?);
        }
    }
    Ok(all)
}

/// The load for each value of the sweep, or once.
fn settings(request: &VolumeRequest<'_>) -> Result<Vec<SweepSetting>, FsError> {
    if request.load.lower_percent >= request.load.upper_percent {
        return Err(Failure::mistake("--lower must be below --upper").into());
    }
    let Some(sweep) = request.sweep else { return Ok(vec![setting(request, "", "")?]) };
    let mistake = || Failure::mistake(format!("--sweep={sweep}: expected NAME=VALUE,VALUE (small=0,10,50)"));
    let (name, values) = sweep.split_once('=').ok_or_else(mistake)?;
    values.split(',').map(|value| setting(request, name, value)).collect()
}

fn setting(request: &VolumeRequest<'_>, name: &str, value: &str) -> Result<SweepSetting, FsError> {
    let wrong = |error: String| Failure::mistake(format!("--sweep={name}={value}: {error}"));
    let percent = || match value.parse::<u32>() {
        Ok(percent) if percent <= 100 => Ok(percent),
        _ => Err(wrong("expected a percentage".to_owned())),
    };
    let (mut load, mut logfs, mut domains) = (request.load, request.logfs, request.domains);
    let size =
        |text: &str| iolab_units::parse_bytes(text, iolab_units::KbBase::K1024).map_err(|error| error.to_string());
    let count = || match value.parse::<u32>() {
        Ok(count) if (1..=1024).contains(&count) => Ok(count),
        _ => Err(wrong("expected a number from 1 to 1024".to_owned())),
    };
    match name {
        "" => {}
        "small" => load.small_write_percent = percent()?,
        "small-reads" => load.small_read_percent = percent()?,
        "write" => load.write_percent = percent()?.max(1),
        "remote" => load.remote_percent = percent()?,
        "domains" => domains = Some(count()?),
        "parallel" => load.parallel = count()? as usize,
        "cluster-size" => logfs.cluster_bytes = size(value).map_err(wrong)?,
        "cleaning-memory" => logfs.cleaning_bytes = Some(size(value).map_err(wrong)?),
        "policy" => logfs.policy = Some(value.parse().map_err(|error: UnknownPolicy| wrong(error.to_string()))?),
        _ => {
            let names = "small, small-reads, write, remote, domains, parallel, cluster-size, cleaning-memory, policy";
            return Err(wrong(format!("expected one of {names}")).into());
        }
    }
    let targets = targets(request.targets, &logfs)?;
    if load.capacity_bytes == 0 {
        let capacities: Result<Vec<u64>, _> = targets.iter().map(BenchTarget::capacity_bytes).collect();
        load.capacity_bytes = capacities?.into_iter().min().unwrap_or(0);
    }
    load.domains = match domains {
        Some(domains) => domains as usize,
        None => (usual_domains(&targets)? as usize).min(load.most_domains()).max(1),
    };
    refuse_remote(&load, logfs.shared_root, &targets)?;
    let label = if name.is_empty() { String::new() } else { format!("{name}={value}") };
    Ok(SweepSetting { label, load, targets })
}

/// Operations on files of other domains require several domains, and on an image a single file
/// system.
fn refuse_remote(load: &VolumeLoad, shared_root: bool, targets: &[BenchTarget]) -> Result<(), Failure> {
    let has_image = targets.iter().any(|target| matches!(target, BenchTarget::Image(_)));
    match load.remote_percent {
        1.. if load.domains < 2 => Err(Failure::mistake("--remote requires at least two domains (--domains=2)")),
        1.. if has_image && !shared_root => Err(Failure::mistake("--remote on an image requires --shared-root")),
        _ => Ok(()),
    }
}
