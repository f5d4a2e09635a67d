//! The share of live content from which reading a whole cluster is faster, as text and as JSON.

use std::fmt::Write;
use std::path::Path;

use iolab_activity::Failure;
use iolab_image::{Image, ImageAccess, ImageError};
use iolab_logfs::set_cleaning;
use iolab_logfs_bench::{ReadingCase, ReadingOptions, ReadingResult, ReadingWay};
use iolab_units::rounded_ns;
use serde_json::{Value, json};

use crate::FsError;
use crate::facts::size_text;

/// Measures it on a folder, file or device.
///
/// # Errors
/// The target is not suitable, or cannot be read.
pub fn read_clusters_of(target: &Path, options: &ReadingOptions) -> Result<ReadingResult, FsError> {
    Ok(iolab_logfs_bench::read_clusters(target, options)?)
}

/// Stores the cost of reading in an image of logfs, for its cleaning. Returns what was stored.
///
/// # Errors
/// The cost cannot be derived from the times, the image is in use, or it cannot be written.
pub fn store_reading_cost(image: &Path, found: &ReadingResult) -> Result<String, FsError> {
    let Some(cost) = found.cost else {
        let text = format!(
            "{}: nothing stored, because the times do not grow with requests and bytes; try more --samples",
            image.display()
        );
        return Err(Failure::failed(text).into());
    };
    let mut opened = Image::open(image, ImageAccess::Write)?;
    let stored = opened.run(async |disk, _| set_cleaning(&disk, |cleaning| cleaning.reading = Some(cost)).await)?;
    stored.map_err(|source| ImageError::FileSystem { path: image.to_owned(), source })?;
    let (request, kib) = (rounded_ns(cost.request_ns as f64), rounded_ns(cost.kib_ns as f64));
    Ok(format!("{}: stored {request} for a request and {kib} for each KiB\n", image.display()))
}

const WAYS: [(&str, &str, ReadingWay); 3] = [
    ("ranges", "one by one", ReadingWay::Ranges),
    ("whole", "whole", ReadingWay::Whole),
    ("planned", "planned", ReadingWay::Planned),
];

/// `ranges`, `whole`, `planned`.
///
/// # Errors
/// It is none of these.
pub fn reading_way(text: &str) -> Result<ReadingWay, String> {
    let found = WAYS.iter().find(|(name, _, _)| *name == text);
    found.map(|(_, _, way)| *way).ok_or_else(|| "expected ranges, whole or planned".to_owned())
}

/// The result as a table.
pub fn cluster_reading_text(options: &ReadingOptions, found: &ReadingResult) -> String {
    let used = || WAYS.iter().filter(|(_, _, way)| options.ways.contains(way));
    let mut text = format!("{:>6} {:>9} {:>6}", "ranges", "of", "live");
    used().for_each(|(_, title, _)| text += &format!(" {title:>12}"));
    text.push_str("  fastest\n");
    for case in &found.cases {
        let live = 100.0 * (case.count * case.length) as f64 / options.cluster_bytes as f64;
        let _ = write!(text, "{:>6} {:>9} {live:>5.1}%", case.count, size_text(case.length));
        for ns in used().filter_map(|(_, _, way)| case.time_ns(*way)) {
            let _ = write!(text, " {:>12}", rounded_ns(ns as f64));
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

/// The result as JSON.
pub fn cluster_reading_json(found: &ReadingResult) -> Value {
    let case = |case: &ReadingCase| {
        let [ranges, whole, planned] = WAYS.map(|(_, _, way)| case.time_ns(way));
        let fastest = case.times_ns.iter().map(|(_, ns)| ns).min();
        json!({
            "count": case.count, "length": case.length,
            "ranges_ns": ranges, "whole_ns": whole, "planned_ns": planned, "fastest_ns": fastest,
        })
    };
    json!({ "cases": found.cases.iter().map(case).collect::<Vec<_>>(), "request_bytes": found.request_bytes,
        "request_ns": found.cost.map(|cost| cost.request_ns), "kib_ns": found.cost.map(|cost| cost.kib_ns) })
}
