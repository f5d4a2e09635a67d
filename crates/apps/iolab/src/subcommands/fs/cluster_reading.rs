//! `iolab fs cluster-reading`: from how much live content on is a cluster better read whole?

use std::fmt::Write;
use std::path::PathBuf;

use iolab_logfs_bench::{ReadingCase, ReadingOptions, ReadingResult, ReadingWay, read_clusters};
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
    /// How: `ranges`, the live ranges one by one; `whole`, the whole cluster; `planned`, as
    /// cleaning does, neighbours together
    #[arg(long, value_delimiter = ',', value_parser = way, default_values = ["ranges", "whole", "planned"])]
    ways: Vec<ReadingWay>,
    /// Clusters read for each case and way
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
        ways: arguments.ways.clone(),
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

const WAYS: [(&str, &str, ReadingWay); 3] = [
    ("ranges", "one by one", ReadingWay::Ranges),
    ("whole", "whole", ReadingWay::Whole),
    ("planned", "planned", ReadingWay::Planned),
];

fn way(text: &str) -> Result<ReadingWay, String> {
    let found = WAYS.iter().find(|(name, _, _)| *name == text);
    found.map(|(_, _, way)| *way).ok_or_else(|| "one of ranges, whole, planned".to_owned())
}

fn as_text(arguments: &Arguments, found: &ReadingResult) -> String {
    let used = || WAYS.iter().filter(|(_, _, way)| arguments.ways.contains(way));
    let mut text = format!("{:>6} {:>9} {:>6}", "ranges", "of", "live");
    used().for_each(|(_, title, _)| text += &format!(" {title:>12}"));
    text.push_str("  fastest\n");
    for case in &found.cases {
        let live = 100.0 * (case.count * case.length) as f64 / arguments.cluster_size as f64;
        let _ = write!(text, "{:>6} {:>9} {live:>5.1}%", case.count, size_text(case.length));
        for ns in used().filter_map(|(_, _, way)| case.time_ns(*way)) {
            let _ = write!(text, " {:>12}", iolab_units::rounded_ns(ns as f64));
        }
        let fastest = used().min_by_key(|(_, _, way)| case.time_ns(*way)).map_or("", |(_, title, _)| title);
        let _ = writeln!(text, "  {fastest}");
    }
    let _ = match found.request_bytes {
        Some(bytes) => writeln!(text, "one more request costs as much as reading {} more", size_text(bytes as u64)),
        None => {
            writeln!(text, "the times do not grow with requests and bytes, so the cost of a request is unknown")
        }
    };
    text
}

fn as_json(found: &ReadingResult) -> Value {
    let case = |case: &ReadingCase| {
        let [ranges, whole, planned] = WAYS.map(|(_, _, way)| case.time_ns(way));
        let fastest = case.times_ns.iter().map(|(_, ns)| ns).min();
        json!({
            "count": case.count, "length": case.length,
            "ranges_ns": ranges, "whole_ns": whole, "planned_ns": planned, "fastest_ns": fastest,
        })
    };
    json!({ "cases": found.cases.iter().map(case).collect::<Vec<_>>(), "request_bytes": found.request_bytes })
}
