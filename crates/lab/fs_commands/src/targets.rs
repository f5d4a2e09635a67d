//! The targets of benchmarks of file systems: images, which they create anew, and folders.

use std::path::{Path, PathBuf};

use iolab_activity::Failure;
use iolab_clock::Clock;
use iolab_histogram::SparseHistogram;
use iolab_image::make_file;
use iolab_logfs::{MkfsOptions, OpenOptions, Policy};
use iolab_logfs_bench::{BenchTarget, ImageStore};
use iolab_order::Arrange;
use serde_json::{Value, json};

use crate::FsError;

/// How logfs is made and used; folders are used as they are.
#[derive(Debug, Clone, Copy)]
pub struct LogfsSetting {
    /// Unit in which space is given away, bytes.
    pub cluster_bytes: u64,
    /// Writes up to this length go into the metadata log, bytes; by default one byte less than a
    /// block.
    pub log_writes_bytes: Option<u64>,
    /// Which clusters are cleaned, and when; the default of logfs if absent.
    pub policy: Option<Policy>,
    /// Most bytes that one pass of cleaning holds in memory; the default of logfs if absent.
    pub cleaning_bytes: Option<u64>,
    /// Open all domains of an image as one file system, instead of each by itself.
    pub shared_root: bool,
    /// Size of an image that does not exist yet, bytes.
    pub image_bytes: Option<u64>,
    /// Overwrite what images hold.
    pub force: bool,
}

/// Examines the targets before anything is touched: folders are used as they are, anything else is
/// an image that will be overwritten.
///
/// # Errors
/// Data would be lost, or an image cannot be made.
pub(crate) fn targets(paths: &[PathBuf], setting: &LogfsSetting) -> Result<Vec<BenchTarget>, FsError> {
    paths.iter().map(|path| target(path, setting)).collect()
}

fn target(path: &Path, setting: &LogfsSetting) -> Result<BenchTarget, FsError> {
    if path.is_dir() {
        return Ok(BenchTarget::Folder(path.to_owned()));
    }
    crate::mkfs::refuse_objections(path, setting.force)?;
    if !path.exists() {
        let Some(size) = setting.image_bytes else {
            let text = format!("{}: no such file or folder; use --image-size=SIZE to create an image", path.display());
            return Err(Failure::mistake(text).into());
        };
        make_file(path, size)?;
    }
    Ok(BenchTarget::Image(Box::new(store(path, setting)?)))
}

fn store(path: &Path, setting: &LogfsSetting) -> Result<ImageStore, Failure> {
    let cluster_bytes = u32::try_from(setting.cluster_bytes).unwrap_or(u32::MAX);
    let id = crate::mkfs::random_id()?;
    let usual = MkfsOptions::new(id, Clock::monotonic().unix_ns());
    let small_max_bytes =
        setting.log_writes_bytes.map_or(usual.small_max_bytes, |bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    let mkfs = MkfsOptions { cluster_bytes, small_max_bytes, ..usual };
    let open = OpenOptions { policy: setting.policy, cleaning_bytes: setting.cleaning_bytes, ..OpenOptions::default() };
    Ok(ImageStore { path: path.to_owned(), mkfs, open, shared_root: setting.shared_root })
}

/// Processors that the program may use.
pub fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// The fewest clusters of a domain if the number of domains is not given: several times what a
/// domain needs to work.
const CLUSTERS_FOR_A_DOMAIN: u64 = 64;

/// A domain for each processor, but fewer if an image is too small for that.
///
/// # Errors
/// The size of a target is not available.
pub fn usual_domains(targets: &[BenchTarget]) -> Result<u32, FsError> {
    let mut domains = u64::from(processors());
    for target in targets {
        if let BenchTarget::Image(image) = target {
            let part = CLUSTERS_FOR_A_DOMAIN * u64::from(image.mkfs.cluster_bytes.max(1));
            domains = domains.min(target.capacity_bytes()? / part);
        }
    }
    Ok(domains.max(1) as u32)
}

const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p99.9", 99.9)];

/// The titles of [`latency_columns()`].
pub(crate) fn latency_titles() -> String {
    let names = ["avg"].into_iter().chain(PERCENTILES.map(|(name, _)| name)).chain(["max"]);
    names.map(|name| format!(" {name:>9}")).collect()
}

/// Mean, percentiles and maximum.
pub(crate) fn latency_columns(latency: &SparseHistogram) -> String {
    let percentiles = PERCENTILES.map(|(_, percent)| latency.percentile(percent) as f64);
    let numbers = [latency.mean()].into_iter().chain(percentiles).chain([latency.max as f64]);
    numbers.map(|ns| format!(" {:>9}", iolab_units::rounded_ns(ns))).collect()
}

/// The latencies as JSON, ns.
pub(crate) fn latency_json(latency: &SparseHistogram) -> Value {
    let mut all = json!({ "mean": latency.mean(), "max": latency.max });
    for (name, percent) in PERCENTILES {
        all[name] = latency.percentile(percent).into();
    }
    all
}

/// Median, minimum and maximum of at least one number.
pub(crate) fn spread(numbers: &[f64]) -> (f64, f64, f64) {
    let mut sorted = numbers.to_vec();
    sorted.arrange_by(f64::total_cmp);
    let (first, last) = (sorted.first().copied().unwrap_or(0.0), sorted.last().copied().unwrap_or(0.0));
    let middle = sorted.len() / 2;
    let median = match sorted.len() % 2 {
        0 if !sorted.is_empty() => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted.get(middle).copied().unwrap_or(0.0),
    };
    (median, first, last)
}
