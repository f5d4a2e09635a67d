//! `iolab fs cluster-reading`: from how much live content on is a cluster read whole?

use std::fmt::Write;
use std::path::PathBuf;

use iolab_fs_bench::{ReadingOptions, ReadingResult, read_clusters};
use serde_json::{Value, json};

use super::facts::size_text;
use crate::exit::Failure;
use crate::output;

/// What to try, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folder, or a file or device that holds content: nothing is written to it
    target: PathBuf,
    /// Bytes of a cluster
    #[arg(long, value_parser = super::size, default_value = "1m")]
    cluster_size: u64,
    /// Numbers of ranges
    #[arg(long, value_delimiter = ',', default_values_t = [1_u64, 2, 4, 8, 16, 32, 64])]
    counts: Vec<u64>,
    /// Lengths of a range
    #[arg(long, value_delimiter = ',', value_parser = super::size, default_values = ["4k", "16k", "64k", "256k"])]
    lengths: Vec<u64>,
    /// Clusters read for each case
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Bytes of the file that is made in a folder
    #[arg(long, value_parser = super::size, default_value = "1g")]
    file_size: u64,
    /// Everything random follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    let options = ReadingOptions {
        cluster_bytes: arguments.cluster_size,
        counts: arguments.counts.clone(),
        lengths: arguments.lengths.clone(),
        samples: arguments.samples,
        file_bytes: arguments.file_size,
        seed: arguments.seed,
    };
    let found = read_clusters(&arguments.target, &options)?;
    output::print(&if arguments.json { format!("{:#}\n", as_json(&found)) } else { as_text(arguments, &found) })?;
    Ok(0)
}

fn as_text(arguments: &Arguments, found: &ReadingResult) -> String {
    let mut text =
        format!("{:>6} {:>9} {:>6} {:>12} {:>12} {:>6}\n", "ranges", "of", "live", "one by one", "whole", "ratio");
    for case in &found.cases {
        let live = 100.0 * (case.count * case.length) as f64 / arguments.cluster_size as f64;
        let ratio = case.ranges_ns as f64 / case.whole_ns.max(1) as f64;
        let _ = writeln!(
            text,
            "{:>6} {:>9} {live:>5.1}% {:>12} {:>12} {ratio:>6.2}",
            case.count,
            size_text(case.length),
            iolab_units::rounded_ns(case.ranges_ns as f64),
            iolab_units::rounded_ns(case.whole_ns as f64),
        );
    }
    let _ = match found.request_bytes {
        Some(bytes) => writeln!(text, "one more request costs as much as reading {} more", size_text(bytes as u64)),
        None => {
            writeln!(text, "the times do not grow with requests and bytes: nothing can be said of what a request costs")
        }
    };
    text
}

fn as_json(found: &ReadingResult) -> Value {
    let case = |case: &iolab_fs_bench::ReadingCase| json!({ "count": case.count, "length": case.length, "ranges_ns": case.ranges_ns, "whole_ns": case.whole_ns });
    json!({ "cases": found.cases.iter().map(case).collect::<Vec<_>>(), "request_bytes": found.request_bytes })
}
