//! Latencies as files of HdrHistogram, for its plotters, log analysers and libraries.
//!
//! | ending | form |
//! | --- | --- |
//! | `.hgrm` | percentile distribution: a table of value, percentile, count and 1/(1 - percentile) |
//! | `.hlog` | histogram log 1.3: a histogram of each interval, V2-encoded, compressed, in Base64 |
//!
//! Values in `.hgrm` are µs; those in `.hlog` ns, its column of maxima ms, as is usual. A value is
//! the middle of its recorded bucket, at most 0.4 % off; `.hlog` declares three significant digits,
//! so that nothing is lost besides. The forms are those of HdrHistogram's reference implementation
//! (<https://github.com/HdrHistogram/HdrHistogram>, `AbstractHistogram`, `HistogramLogWriter`).

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use iolab_aggregate::{IntervalFigures, figures, interval_figures};
use iolab_histogram::{SparseHistogram, bucket_middle};
use iolab_recording::Recording;

use crate::calendar::iso_text;

/// Rows of a distribution for each halving of what is left (`percentileTicksPerHalfDistance`).
const TICKS: f64 = 5.0;
const NS_PER_US: f64 = 1e3;
const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;

/// A file of HdrHistogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HdrFile {
    /// Its name: job, number of its first worker, direction, kind of latency, and the ending.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// The distributions of all jobs and directions, and the log of their intervals where there are
/// any.
pub fn hdr_files(recording: &Recording) -> Vec<HdrFile> {
    let mut files = Vec::new();
    for job in figures(recording).jobs {
        for direction in job.directions {
            for (kind, histogram) in [
                ("slat", &direction.slat),
                ("clat", &direction.clat),
                ("lat", &direction.lat),
                ("response", &direction.response),
            ] {
                if !histogram.is_empty() {
                    let name = name(&job.plan.job, job.plan.number, direction.name, kind);
                    files.push(HdrFile { name: name + ".hgrm", text: distribution(histogram) });
                }
            }
        }
    }
    let intervals = interval_figures(recording);
    for (kind, of) in KINDS {
        let mut logs: Vec<(String, String)> = Vec::new();
        for interval in intervals.iter().filter(|interval| !of(interval).is_empty()) {
            let worker = interval.workers.first().copied().unwrap_or_default();
            let name = name(interval.job, worker, interval.direction.name(), kind) + ".hlog";
            let at = logs.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                logs.push((name, log_header(recording.started_unix_ns)));
                logs.len() - 1
            });
            log_line(&mut logs[at].1, interval, of(interval));
        }
        files.extend(logs.into_iter().map(|(name, text)| HdrFile { name, text }));
    }
    files
}

type OfInterval = for<'a, 'r> fn(&'a IntervalFigures<'r>) -> &'a SparseHistogram;

/// What intervals have histograms of.
const KINDS: [(&str, OfInterval); 3] = [
    ("clat", |interval| &interval.clat),
    ("lat", |interval| &interval.lat),
    ("response", |interval| &interval.response),
];

/// A file name: what job names may have and file names may not is replaced.
fn name(job: &str, worker: u32, direction: &str, kind: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    let job: String = job.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    format!("{job}.{worker}.{direction}.{kind}")
}

/// Values that a bucket stands for, and how many; limited to the true extremes.
fn values(histogram: &SparseHistogram) -> impl Iterator<Item = (u64, u64)> {
    let (min, max) = (histogram.min, histogram.max);
    histogram.buckets.iter().map(move |(index, count)| (bucket_middle(*index as usize).clamp(min, max), *count))
}

/// `AbstractHistogram.outputPercentileDistribution`, in µs.
fn distribution(histogram: &SparseHistogram) -> String {
    let mut text = format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let all = histogram.count as f64;
    let (mut percentile, mut seen) = (0.0_f64, 0_u64);
    for (value, count) in values(histogram) {
        seen += count;
        let reached = seen as f64 / all * 100.0;
        // A bucket that many percentiles fall into has a row for each of them.
        while percentile <= reached && seen < histogram.count {
            row(&mut text, value, percentile, seen);
            let halvings = (100.0 / (100.0 - percentile)).log2().floor() as i32 + 1;
            percentile += 100.0 / (TICKS * 2.0_f64.powi(halvings));
        }
    }
    let _ = writeln!(text, "{:>12.3} {:>2.12} {:>10}", histogram.max as f64 / NS_PER_US, 1.0, histogram.count);
    let (mean, deviation) = (histogram.mean() / NS_PER_US, histogram.stddev() / NS_PER_US);
    let _ = writeln!(text, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]");
    let max = histogram.max as f64 / NS_PER_US;
    let _ = writeln!(text, "#[Max     = {max:>12.3}, Total count    = {:>12}]", histogram.count);
    let _ = writeln!(text, "#[Buckets = {:>12}, SubBuckets     = {SUB_BUCKETS:>12}]", octaves(histogram.max));
    text
}

fn row(text: &mut String, value: u64, percentile: f64, seen: u64) {
    let (share, value) = (percentile / 100.0, value as f64 / NS_PER_US);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{value:>12.3} {share:>2.12} {seen:>10} {:>14.2}", 1.0 / (1.0 - share));
}

fn log_header(started_unix_ns: u64) -> String {
    let seconds = started_unix_ns as f64 / NS_PER_S;
    format!(
        "#[Histogram log format version 1.3]\n#[StartTime: {seconds:.3} (seconds since epoch), {}]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        iso_text(started_unix_ns)
    )
}

/// A line of a log: times in s since its start, the largest value in ms.
fn log_line(text: &mut String, interval: &IntervalFigures<'_>, histogram: &SparseHistogram) {
    let _ = writeln!(
        text,
        "{:.3},{:.3},{:.3},{}",
        interval.start_ns as f64 / NS_PER_S,
        interval.length_ns as f64 / NS_PER_S,
        histogram.max as f64 / NS_PER_MS,
        iolab_text::base64::encode(&compressed(histogram))
    );
}

/// Sub-buckets of HdrHistogram for three significant digits: the power of two above 2 × 10³.
const SUB_BUCKETS: u64 = 2048;
const HALF_BITS: u32 = SUB_BUCKETS.ilog2() - 1;
const SIGNIFICANT_DIGITS: u32 = 3;
/// `V2EncodingCookieBase` and `V2CompressedEncodingCookieBase`, with counts of eight bytes.
const COOKIE: u32 = 0x1c84_9313;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;

/// The bucket of a value, from 0: those of the first octaves are one.
fn octave(value: u64) -> u32 {
    u64::BITS - (value | (SUB_BUCKETS - 1)).leading_zeros() - (HALF_BITS + 1)
}

/// Buckets that hold values up to this.
fn octaves(max: u64) -> u32 {
    octave(max) + 1
}

/// The place of a value in the list of counts (`countsArrayIndex`).
fn place(value: u64) -> u64 {
    let octave = octave(value);
    (u64::from(octave + 1) << HALF_BITS) + (value >> octave) - (1 << HALF_BITS)
}

/// V2 encoding: runs of empty places are one negative number, everything in ZigZag LEB128.
fn encoded(histogram: &SparseHistogram) -> Vec<u8> {
    let mut counts = Vec::new();
    let mut next = 0;
    let mut waiting = (0, 0_u64);
    let mut put = |place: u64, count: u64| {
        if count == 0 {
            return;
        }
        if place > next {
            put_zigzag(&mut counts, -((place - next) as i64));
        }
        put_zigzag(&mut counts, count as i64);
        next = place + 1;
    };
    for (value, count) in values(histogram) {
        // Buckets of ours may share one of theirs.
        let at = place(value);
        if at != waiting.0 {
            put(waiting.0, waiting.1);
            waiting = (at, 0);
        }
        waiting.1 += count;
    }
    put(waiting.0, waiting.1);
    let mut bytes = Vec::with_capacity(40 + counts.len());
    bytes.extend(COOKIE.to_be_bytes());
    bytes.extend((counts.len() as u32).to_be_bytes());
    // The offset of a shifted histogram.
    bytes.extend(0_u32.to_be_bytes());
    bytes.extend(SIGNIFICANT_DIGITS.to_be_bytes());
    bytes.extend(1_u64.to_be_bytes());
    bytes.extend(histogram.max.max(2).to_be_bytes());
    bytes.extend(1.0_f64.to_be_bytes());
    bytes.extend(counts);
    bytes
}

fn put_zigzag(bytes: &mut Vec<u8>, number: i64) {
    // Counts of recordings are below 2^53, so that the ninth byte, which HdrHistogram fills with
    // eight bits, never comes.
    iolab_histogram::put_varint(bytes, (number << 1 ^ number >> 63) as u64);
}

fn compressed(histogram: &SparseHistogram) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to a Vec cannot fail.
    let _ = encoder.write_all(&encoded(histogram));
    let content = encoder.finish().unwrap_or_default();
    let mut bytes = COMPRESSED_COOKIE.to_be_bytes().to_vec();
    bytes.extend((content.len() as u32).to_be_bytes());
    bytes.extend(content);
    bytes
}

#[cfg(test)]
mod tests {
    use iolab_histogram::Histogram;

    use super::*;

    fn histogram(values: &[(u64, u64)]) -> SparseHistogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|(value, times)| histogram.add_many(*value, *times));
        histogram.to_sparse()
    }

    #[test]
    fn places_are_those_of_the_reference() {
        // From the definition: below 2,048 each value has its place, and above, 1,024 for each
        // octave.
        for (value, expected) in [(0, 0), (1, 1), (2047, 2047), (2048, 2048), (2049, 2048), (2050, 2049), (4095, 3071)]
        {
            assert_eq!(place(value), expected, "{value}");
        }
        assert_eq!((place(4096), octaves(2047), octaves(2048), octaves(4096)), (3072, 1, 2, 3));
    }

    #[test]
    fn an_encoded_histogram_is_a_head_and_its_counts() {
        let bytes = encoded(&histogram(&[(0, 1), (5, 3)]));
        assert_eq!(bytes[..8], [0x1c, 0x84, 0x93, 0x13, 0, 0, 0, 3]);
        // One value, four empty places, three values.
        assert_eq!(bytes[40..], [2, 7, 6]);
        assert!(iolab_text::base64::encode(&compressed(&histogram(&[(7, 1)]))).starts_with("HISTFAAA"));
    }

    #[test]
    fn a_distribution_halves_what_is_left() {
        let text = distribution(&histogram(&[(1000, 90), (2000, 9), (50_000, 1)]));
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]);
        assert_eq!(lines[2], ["1.004", "0.000000000000", "90", "1.00"]);
        assert_eq!(lines[3][1], "0.100000000000", "five steps to the half");
        let last = lines.iter().rfind(|line| line.len() == 3).unwrap();
        assert_eq!(*last, ["50.000", "1.000000000000", "100"]);
        let percentiles: Vec<f64> =
            lines[2..].iter().filter(|line| line.len() == 4).map(|l| l[1].parse().unwrap()).collect();
        assert!(percentiles.is_sorted() && percentiles.iter().all(|share| *share < 1.0), "{text}");
    }
}
