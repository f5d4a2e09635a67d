//! Block devices over one run: columns of `iostat -x` over time and, if requests were traced, their
//! times and sizes.
//!
//! `iolab_iostat` defines the columns. An interval without a request has no mean time and no mean
//! size: nothing is drawn for it.

use std::collections::BTreeMap;

use iolab_charts::{
    AxisMeasure, AxisUnit, Estimate, Heading, Spacing, Spectrum, SpectrumSeries, Stacked, StackedBar, TimeSeries,
    Timeline,
};
use iolab_histogram::{SparseHistogram, bucket_low};
use iolab_iostat::{DeviceActivity, find};
use iolab_order::Arrange;
use iolab_recording::{DeviceSeries, RequestInterval};
use iolab_units::format_bytes;

use super::Gallery;
use super::distributions::spectrum_of;
use super::over_time::{least_ns, middle};

/// The devices that hold the files, and the devices below those.
pub(crate) fn device_galleries(devices: &[DeviceSeries]) -> [Gallery; 2] {
    let is_part = |one: &DeviceSeries| devices.iter().any(|other| other.parts.contains(&one.name));
    let (mut wholes, mut parts) = (Gallery::new("device-"), Gallery::new("part-"));
    for device in devices {
        let gallery = if is_part(device) { &mut parts } else { &mut wholes };
        gallery.group(&device.name, note(device));
        over_time(gallery, device);
        requests(gallery, device);
    }
    [wholes, parts]
}

fn note(device: &DeviceSeries) -> &'static str {
    match (device.requests.is_empty(), device.settings.contains_key("scheduler")) {
        (true, _) => {
            "Columns of iostat -x between two samples of the device's counters; they include all programs, not only \
            the jobs."
        }
        (false, true) => {
            "Columns of iostat -x between two samples of the device's counters; they include all programs, not only \
            the jobs. Times of requests are from issue to completion (tracepoints block_rq_issue and \
            block_rq_complete)."
        }
        (false, false) => {
            "Columns of iostat -x between two samples of the device's counters; they include all programs, not only \
            the jobs. The device has no queue of requests: times are from what it was handed to completion \
            (tracepoints block_bio_queue and block_bio_complete)."
        }
    }
}

/// One panel: name, unit, the factor from columns to that unit, and the columns.
type Rows = (&'static str, AxisUnit, f64, &'static [&'static str]);

const PANELS: [Rows; 6] = [
    ("requests", AxisUnit::PerSecond, 1.0, &["r/s", "w/s", "rrqm/s", "wrqm/s", "d/s", "f/s"]),
    ("bandwidth", AxisUnit::BytesPerSecond, 1024.0, &["rkB/s", "wkB/s"]),
    ("request size", AxisUnit::Bytes, 1024.0, &["rareq-sz", "wareq-sz"]),
    ("wait", AxisUnit::Nanoseconds, 1e6, &["r_await", "w_await", "f_await"]),
    ("aqu-sz", AxisUnit::Count, 1.0, &["aqu-sz"]),
    ("%util", AxisUnit::Share, 0.01, &["%util"]),
];

fn over_time(gallery: &mut Gallery, device: &DeviceSeries) {
    let least_ns = least_ns(device.samples.iter().map(|sample| sample.at_ns));
    let looks = || {
        let pairs = device.samples.windows(2);
        pairs.filter(|pair| pair[1].at_ns.saturating_sub(pair[0].at_ns) >= least_ns)
    };
    if looks().count() < 3 {
        return;
    }
    let line = |name: &str, factor: f64, is_mean: bool| {
        let column = find(name)?;
        let point = |pair: &[iolab_recording::DeviceSample]| {
            let value = (column.value)(&DeviceActivity::between(&pair[0], &pair[1]), iolab_iostat::DataUnit::Kilobytes)
                * factor;
            // The mean of no requests is unknown, not zero.
            (middle(pair[0].at_ns, pair[1].at_ns), if is_mean && value == 0.0 { f64::NAN } else { value })
        };
        let points: Vec<(f64, f64)> = looks().map(point).collect();
        let is_used = points.iter().any(|(_, value)| *value > 0.0);
        is_used.then(|| TimeSeries { name: name.to_owned(), points })
    };
    let panel = |(name, unit, factor, columns): &Rows| {
        let is_mean = matches!(unit, AxisUnit::Bytes | AxisUnit::Nanoseconds);
        let series: Vec<TimeSeries> = columns.iter().filter_map(|column| line(column, *factor, is_mean)).collect();
        (!series.is_empty()).then(|| iolab_charts::Panel { measure: AxisMeasure::linear(name, *unit), series })
    };
    let panels: Vec<iolab_charts::Panel> = PANELS.iter().filter_map(panel).collect();
    if !panels.is_empty() {
        let heading = Heading::new(&gallery.id(&device.name), &format!("{} over time", device.name));
        gallery
            .add(Timeline { heading, latency: Spacing::Log, latencies: Vec::new(), panels, marks: Vec::new() }.draw());
    }
}

/// Times and sizes of requests over the whole run.
fn requests(gallery: &mut Gallery, device: &DeviceSeries) {
    let whole = |of: fn(&RequestInterval) -> &SparseHistogram| {
        let mut all = SparseHistogram::default();
        device.requests.iter().for_each(|interval| all.merge(of(interval)));
        all
    };
    let times = [("reads", whole(|one| &one.read_ns)), ("writes", whole(|one| &one.write_ns))];
    let series: Vec<SpectrumSeries> = times.iter().map(|(name, all)| spectrum_of(name, all)).collect();
    let series: Vec<SpectrumSeries> = series.into_iter().filter(|one| !one.points.is_empty()).collect();
    if !series.is_empty() {
        let title = format!("Time of requests in {} by percentile", device.name);
        let heading = Heading::new(&gallery.id(&format!("{}-times", device.name)), &title);
        gallery.add(Spectrum { heading, series, latency: Spacing::Log, beside: Vec::new() }.draw());
    }
    let sizes = [("reads", whole(|one| &one.read_bytes)), ("writes", whole(|one| &one.write_bytes))];
    let sizes: Vec<(&str, BTreeMap<u64, u64>)> =
        sizes.iter().filter(|(_, all)| !all.is_empty()).map(|(name, all)| (*name, by_size(all))).collect();
    if !sizes.is_empty() {
        let title = format!("Sizes of requests at {}", device.name);
        let heading = Heading::new(&gallery.id(&format!("{}-sizes", device.name)), &title);
        gallery.add(shares(heading, &sizes).draw());
    }
}

/// The number of requests by size, in classes that end at powers of two.
fn by_size(sizes: &SparseHistogram) -> BTreeMap<u64, u64> {
    let mut all = BTreeMap::new();
    for (bucket, count) in &sizes.buckets {
        *all.entry(bucket_low(*bucket as usize).max(1).next_power_of_two()).or_default() += count;
    }
    all
}

/// Most parts of a bar; more are hard to distinguish.
const MOST_SIZES: usize = 7;

/// A bar for each direction; sizes that are not among the most frequent share the last part.
fn shares(heading: Heading, sizes: &[(&str, BTreeMap<u64, u64>)]) -> Stacked {
    let mut together: BTreeMap<u64, u64> = BTreeMap::new();
    for (size, count) in sizes.iter().flat_map(|(_, all)| all) {
        *together.entry(*size).or_default() += count;
    }
    let mut frequent: Vec<(u64, u64)> = together.into_iter().collect();
    frequent.arrange_by_key(|entry| std::cmp::Reverse(entry.1));
    let has_others = frequent.len() > MOST_SIZES;
    frequent.truncate(MOST_SIZES);
    frequent.arrange();
    let bar = |(name, all): &(&str, BTreeMap<u64, u64>)| {
        let total: u64 = all.values().sum();
        let share = |count: u64| Estimate::of(count as f64 / total as f64);
        let known: Vec<u64> = frequent.iter().map(|(size, _)| all.get(size).copied().unwrap_or(0)).collect();
        let others = has_others.then(|| total - known.iter().sum::<u64>());
        StackedBar { name: (*name).to_owned(), parts: known.into_iter().chain(others).map(share).collect() }
    };
    let others = has_others.then(|| "other sizes".to_owned());
    Stacked {
        heading,
        measure: AxisMeasure::linear("requests", AxisUnit::Share),
        parts: frequent.iter().map(|(size, _)| format!("to {}", format_bytes(*size))).chain(others).collect(),
        bars: sizes.iter().map(bar).collect(),
        as_shares: true,
    }
}

#[cfg(test)]
mod tests {
    use iolab_histogram::Histogram;
    use iolab_recording::{DeviceCounters, DeviceSample};

    use super::*;

    fn histogram(values: impl Iterator<Item = u64>) -> SparseHistogram {
        let mut all = Histogram::new();
        values.for_each(|value| all.add(value));
        all.to_sparse()
    }

    /// Busy in every other tenth of a second, with a hundred reads of 4 KiB that take 1 ms each.
    fn device(name: &str, parts: &[&str]) -> DeviceSeries {
        let look = |place: u64| {
            let reads = 100 * place.div_ceil(2);
            let counters = DeviceCounters {
                read_ios: reads,
                read_sectors: 8 * reads,
                read_ticks_ms: reads,
                io_ticks_ms: 50 * place.div_ceil(2),
                time_in_queue_ms: reads,
                ..DeviceCounters::default()
            };
            DeviceSample { at_ns: place * 100_000_000, counters, ..DeviceSample::default() }
        };
        let interval = RequestInterval {
            read_ns: histogram((0..2000).map(|n| 1_000_000 + n)),
            read_bytes: histogram((0..10_u64).flat_map(|power| [4096 << power; 3])),
            ..RequestInterval::default()
        };
        DeviceSeries {
            name: name.to_owned(),
            parts: parts.iter().map(|&part| part.to_owned()).collect(),
            samples: (0..9).map(look).collect(),
            requests: vec![interval],
            ..DeviceSeries::default()
        }
    }

    #[test]
    fn every_device_has_its_figures_and_parts_stand_apart() {
        let devices = [device("md0", &["sda"]), device("sda", &[])];
        let [wholes, parts] = device_galleries(&devices).map(Gallery::into_figures);
        let ids = |figures: &[iolab_charts::DrawnChart]| figures.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&wholes), ["device-md0", "device-md0-times", "device-md0-sizes"]);
        assert_eq!(ids(&parts), ["part-sda", "part-sda-times", "part-sda-sizes"]);
        let cells: Vec<String> =
            wholes[0].table.rows.iter().flatten().map(|cell| cell.shown().replace('\u{a0}', " ")).collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        for value in ["r/s", "rareq-sz", "r_await", "aqu-sz", "%util"] {
            assert!(
                wholes[0].table.columns.iter().any(|column| column.contains(value)) || cells.contains(&value),
                "{value}"
            );
        }
        for value in ["1k/s", "4 KiB", "1 ms", "50 %"] {
            assert!(cells.contains(&value), "no {value} in {cells:?}");
        }
        let sizes = &wholes[2].table;
        let told: Vec<String> = sizes.rows.iter().flatten().map(iolab_charts::Datum::shown).collect();
        assert!(told.iter().any(|text| text == "to 4k") && told.iter().any(|text| text == "other sizes"), "{sizes:?}");
    }

    #[test]
    fn a_device_without_looks_has_none() {
        let mut bare = device("sda", &[]);
        bare.samples.truncate(2);
        bare.requests.clear();
        assert!(device_galleries(&[bare]).iter().all(Gallery::is_empty));
    }
}
