//! Metrics in the text format of OpenMetrics 1.0, for Prometheus and readers of its textfiles.
//!
//! ```text
//! # TYPE iolab_latency_seconds histogram
//! iolab_latency_seconds_bucket{job="a",worker="0",direction="read",kind="lat",le="0.000262144"} 981
//! ```
//!
//! Guarantees: base units (seconds, bytes); one family after the other, each with its type and
//! help; `# EOF` at the end. The number of a job's first worker distinguishes it from others of the
//! same name. The runs of a server have a label each. Histogram bounds are powers of two of a
//! nanosecond, at which recorded buckets also end, so that nothing is estimated; a latency equal to
//! a bound is counted above it. Deliberately not here: a server, and time stamps, because the
//! scraper knows the time.
//!
//! The format is specified in <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

use std::fmt::Write;

use iolab_aggregate::{DeviceFigures, DirectionFigures, Figures, figures, per_second};
use iolab_histogram::{SparseHistogram, bucket_of};
use iolab_recording::{DeviceCounters, Recording};

/// Bytes of a sector in the kernel's counters (Documentation/block/stat.rst).
const SECTOR: u64 = 512;
const NS_PER_SECOND: f64 = 1e9;
const MS_PER_SECOND: f64 = 1e3;
const QUANTILES: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];
/// Bounds of histograms are 2 to the power of these, ns: 512 ns to 17 s.
const BOUNDS: std::ops::RangeInclusive<u32> = 9..=34;

/// The content type of the text.
pub const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics of a recording.
pub fn openmetrics(recording: &Recording) -> String {
    told(&[Run { name: None, figures: figures(recording), recording }], &recording.iolab_version, None)
}

/// All metrics of several runs, of which `going_on` go on; the label `run` has the name of each.
pub fn openmetrics_of_runs(runs: &[(&str, &Recording)], going_on: usize, version: &str) -> String {
    let mut all: Vec<Run<'_>> = Vec::new();
    for (name, recording) in runs {
        all.push(Run { name: Some((*name).to_owned()), figures: figures(recording), recording });
    }
    told(&all, version, Some(going_on))
}

/// Metrics of block devices that no run is measured on.
pub fn openmetrics_of_devices(devices: &[DeviceFigures], version: &str) -> String {
    let mut text = Exposition(String::new());
    text.family("iolab", "info", "The program that measured.");
    text.sample("iolab_info", &[("version", version)], 1);
    let rows: Vec<DeviceRow<'_>> = devices.iter().map(|figures| DeviceRow { run: None, figures }).collect();
    self::devices(&mut text, &rows);
    text.0 + "# EOF\n"
}

/// One device, and the run that it belongs to if several are told of.
struct DeviceRow<'a> {
    run: Option<&'a str>,
    figures: &'a DeviceFigures,
}

impl DeviceRow<'_> {
    fn labels<'a>(&'a self, more: &[(&'static str, &'a str)]) -> Vec<(&'static str, &'a str)> {
        let device = ("device", self.figures.name.as_str());
        self.run.iter().map(|name| ("run", *name)).chain([device]).chain(more.iter().copied()).collect()
    }
}

/// One run and its figures.
struct Run<'a> {
    /// What distinguishes it from others in the same text.
    name: Option<String>,
    figures: Figures<'a>,
    recording: &'a Recording,
}

impl Run<'_> {
    fn labels<'a>(&'a self, more: &[(&'static str, &'a str)]) -> Vec<(&'static str, &'a str)> {
        self.name.iter().map(|name| ("run", name.as_str())).chain(more.iter().copied()).collect()
    }
}

fn told(runs: &[Run<'_>], version: &str, going_on: Option<usize>) -> String {
    let mut text = Exposition(String::new());
    text.family("iolab", "info", "The program that measured.");
    text.sample("iolab_info", &[("version", version)], 1);
    if let Some(count) = going_on {
        text.family("iolab_runs_in_progress", "gauge", "Runs that go on.");
        text.sample("iolab_runs_in_progress", &[], count);
    }
    text.family("iolab_interrupted", "gauge", "1 if the run was ended early.");
    for run in runs {
        text.sample("iolab_interrupted", &run.labels(&[]), u8::from(run.recording.interrupted));
    }
    jobs(&mut text, &used(runs));
    let rows = runs
        .iter()
        .flat_map(|run| run.figures.devices.iter().map(|figures| DeviceRow { run: run.name.as_deref(), figures }));
    devices(&mut text, &rows.collect::<Vec<_>>());
    findings(&mut text, runs);
    text.0 + "# EOF\n"
}

/// One direction of one job with any operations.
struct Used<'a> {
    run: &'a Run<'a>,
    job: &'a str,
    worker: String,
    direction: &'a DirectionFigures,
}

impl Used<'_> {
    fn labels<'a>(&'a self, more: &[(&'static str, &'a str)]) -> Vec<(&'static str, &'a str)> {
        let own = [("job", self.job), ("worker", self.worker.as_str()), ("direction", self.direction.name)];
        self.run.labels(&[&own, more].concat())
    }

    /// Latencies that were measured, by name.
    fn latencies(&self) -> impl Iterator<Item = (&'static str, &SparseHistogram)> {
        let DirectionFigures { slat, clat, lat, response, .. } = self.direction;
        let all = [("slat", slat), ("clat", clat), ("lat", lat), ("response", response)];
        all.into_iter().filter(|(_, histogram)| !histogram.is_empty())
    }
}

fn used<'a>(runs: &'a [Run<'a>]) -> Vec<Used<'a>> {
    let mut all = Vec::new();
    for run in runs {
        for job in &run.figures.jobs {
            for direction in job.directions.iter().filter(|direction| direction.ios > 0) {
                all.push(Used { run, job: &job.plan.job, worker: job.plan.number.to_string(), direction });
            }
        }
    }
    all
}

fn jobs(text: &mut Exposition, all: &[Used<'_>]) {
    text.family("iolab_operations", "counter", "Operations completed in the measured part.");
    for one in all {
        text.sample("iolab_operations_total", &one.labels(&[]), one.direction.ios);
    }
    text.family("iolab_bytes", "counter", "Bytes moved in the measured part.");
    for one in all {
        text.sample("iolab_bytes_total", &one.labels(&[]), one.direction.bytes);
    }
    text.family("iolab_runtime_seconds", "gauge", "The time that rates are divided by.");
    for one in all {
        text.sample("iolab_runtime_seconds", &one.labels(&[]), one.direction.runtime_ns as f64 / NS_PER_SECOND);
    }
    text.family("iolab_operations_per_second", "gauge", "Operations a second over the measured part.");
    for one in all {
        let DirectionFigures { ios, runtime_ns, .. } = *one.direction;
        text.sample("iolab_operations_per_second", &one.labels(&[]), per_second(ios, runtime_ns));
    }
    text.family("iolab_latency_seconds", "histogram", "Latencies: slat, clat, lat; response of a paced load.");
    for one in all {
        for (kind, histogram) in one.latencies() {
            buckets(text, &one.labels(&[("kind", kind)]), histogram);
        }
    }
    text.family("iolab_latency_quantile_seconds", "gauge", "Quantiles of them, from the whole histogram.");
    for one in all {
        for (kind, histogram) in one.latencies() {
            for quantile in QUANTILES {
                let value = histogram.percentile(quantile * 100.0) as f64 / NS_PER_SECOND;
                let quantile = quantile.to_string();
                let labels = one.labels(&[("kind", kind), ("quantile", &quantile)]);
                text.sample("iolab_latency_quantile_seconds", &labels, value);
            }
        }
    }
}

/// The cumulative counts of one histogram.
fn buckets(text: &mut Exposition, labels: &[(&str, &str)], histogram: &SparseHistogram) {
    for exponent in BOUNDS {
        let end = bucket_of(1 << exponent);
        let below = histogram.buckets.iter().take_while(|(index, _)| (*index as usize) < end);
        let count: u64 = below.map(|(_, count)| count).sum();
        let bound = ((1_u64 << exponent) as f64 / NS_PER_SECOND).to_string();
        text.sample("iolab_latency_seconds_bucket", &[labels, &[("le", &bound)]].concat(), count);
    }
    text.sample("iolab_latency_seconds_bucket", &[labels, &[("le", "+Inf")]].concat(), histogram.count);
    text.sample("iolab_latency_seconds_count", labels, histogram.count);
    text.sample("iolab_latency_seconds_sum", labels, histogram.sum as f64 / NS_PER_SECOND);
}

/// A count of requests of each kind.
type DeviceKinds = fn(&DeviceCounters) -> [(&'static str, u64); 4];
/// A time of a device, ms.
type DeviceTime = fn(&DeviceCounters) -> u64;

fn devices(text: &mut Exposition, rows: &[DeviceRow<'_>]) {
    text.family("iolab_device_requests", "counter", "Requests that block devices completed, whoever made them.");
    for row in rows {
        let gained = &row.figures.gained;
        for (kind, count) in [
            ("read", gained.read_ios),
            ("write", gained.write_ios),
            ("discard", gained.discard_ios),
            ("flush", gained.flush_ios),
        ] {
            text.sample("iolab_device_requests_total", &row.labels(&[("kind", kind)]), count);
        }
    }
    text.family("iolab_device_bytes", "counter", "Bytes of these requests.");
    for row in rows {
        let gained = &row.figures.gained;
        for (kind, sectors) in
            [("read", gained.read_sectors), ("write", gained.write_sectors), ("discard", gained.discard_sectors)]
        {
            let bytes = sectors.saturating_mul(SECTOR);
            text.sample("iolab_device_bytes_total", &row.labels(&[("kind", kind)]), bytes);
        }
    }
    device_times(text, rows);
    text.family("iolab_device_in_flight", "gauge", "Requests in flight at the last sample.");
    for row in rows {
        text.sample("iolab_device_in_flight", &row.labels(&[]), row.figures.gained.in_flight);
    }
    text.family("iolab_device_busy_ratio", "gauge", "Share of the time in which anything was in flight, 0 to 1.");
    for row in rows {
        text.sample("iolab_device_busy_ratio", &row.labels(&[]), row.figures.util_percent / 100.0);
    }
}

/// What iostat makes its means of: merges, and times added up.
fn device_times(text: &mut Exposition, rows: &[DeviceRow<'_>]) {
    let counted: [(&str, &str, DeviceKinds); 2] = [
        ("iolab_device_merges", "Requests that were merged into others before they were sent.", |gained| {
            [
                ("read", gained.read_merges),
                ("write", gained.write_merges),
                ("discard", gained.discard_merges),
                ("flush", 0),
            ]
        }),
        (
            "iolab_device_wait_seconds",
            "Time that requests took in the block layer and the device, added up.",
            |gained| {
                [
                    ("read", gained.read_ticks_ms),
                    ("write", gained.write_ticks_ms),
                    ("discard", gained.discard_ticks_ms),
                    ("flush", gained.flush_ticks_ms),
                ]
            },
        ),
    ];
    for (family, help, kinds) in counted {
        text.family(family, "counter", help);
        for row in rows {
            for (kind, count) in kinds(&row.figures.gained) {
                let labels = row.labels(&[("kind", kind)]);
                let is_time = family.ends_with("seconds");
                let value = if is_time { count as f64 / MS_PER_SECOND } else { count as f64 };
                text.sample(&format!("{family}_total"), &labels, value);
            }
        }
    }
    for (family, help, of) in [
        (
            "iolab_device_busy_seconds",
            "Time in which anything was in flight.",
            (|gained| gained.io_ticks_ms) as DeviceTime,
        ),
        (
            "iolab_device_queue_seconds",
            "Time in flight of all requests, added up: its rate is the mean depth.",
            |gained| gained.time_in_queue_ms,
        ),
    ] {
        text.family(family, "counter", help);
        for row in rows {
            let value = of(&row.figures.gained) as f64 / MS_PER_SECOND;
            text.sample(&format!("{family}_total"), &row.labels(&[]), value);
        }
    }
}

fn findings(text: &mut Exposition, runs: &[Run<'_>]) {
    text.family("iolab_finding", "gauge", "1 for each finding: what to know before figures are believed.");
    for run in runs {
        let mut said = Vec::new();
        for finding in &run.recording.findings {
            let severity = finding.severity.name();
            let jobs = finding.jobs.join(",");
            // A rule may fire twice; each sample is printed once.
            if !said.contains(&(&finding.rule, jobs.clone())) {
                let labels = run.labels(&[("rule", &finding.rule), ("severity", severity), ("jobs", &jobs)]);
                text.sample("iolab_finding", &labels, 1);
                said.push((&finding.rule, jobs));
            }
        }
    }
}

/// The text being written, which cannot fail.
struct Exposition(String);

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}\n# HELP {name} {help}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (number, (label, text)) in labels.iter().enumerate() {
            let opening = if number == 0 { '{' } else { ',' };
            let text = text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            let _ = write!(self.0, "{opening}{label}=\"{text}\"");
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut text = Exposition(String::new());
        text.sample("x", &[("a", "say \"so\\\n"), ("b", "")], 1.5);
        text.sample("y", &[], 2);
        assert_eq!(text.0, "x{a=\"say \\\"so\\\\\\n\",b=\"\"} 1.5\ny 2\n");
    }

    #[test]
    fn buckets_are_cumulative_and_end_below_their_bounds() {
        let histogram = SparseHistogram {
            count: 4,
            min: 511,
            max: 40_000_000_000,
            sum: 40_000_002_047,
            sum_of_squares: 0.0,
            buckets: [511, 512, 1024, 40_000_000_000].map(|value| (bucket_of(value) as u32, 1)).to_vec(),
        };
        let mut text = Exposition(String::new());
        buckets(&mut text, &[], &histogram);
        let lines: Vec<&str> = text.0.lines().collect();
        assert_eq!(lines[0], "iolab_latency_seconds_bucket{le=\"0.000000512\"} 1");
        assert_eq!(lines[1], "iolab_latency_seconds_bucket{le=\"0.000001024\"} 2");
        assert_eq!(lines[2], "iolab_latency_seconds_bucket{le=\"0.000002048\"} 3");
        let rest = &lines[lines.len() - 4..];
        assert_eq!(rest[0], "iolab_latency_seconds_bucket{le=\"17.179869184\"} 3");
        assert_eq!(rest[1], "iolab_latency_seconds_bucket{le=\"+Inf\"} 4");
        assert_eq!(rest[2..], ["iolab_latency_seconds_count 4", "iolab_latency_seconds_sum 40.000002047"]);
    }
}
