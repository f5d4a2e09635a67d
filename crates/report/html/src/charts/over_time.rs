//! Figures of one recording: its distribution, its history over time with the activity of block
//! layer and host, its heat map.

use std::collections::BTreeMap;

use iolab_aggregate::{IntervalFigures, figures, interval_figures, summed_series};
use iolab_charts::{
    AxisMeasure, AxisUnit, DecileSeries, Deciles, Heading, HeatCell, HeatColumn, HeatMap, LatencyBand, LatencyMoment,
    Panel, Spacing, Spectrum, SpectrumSeries, TimeMark, TimeSeries, Timeline,
};
use iolab_histogram::{BUCKETS, SparseHistogram, bucket_low};
use iolab_order::Arrange;
use iolab_recording::{DeviceSample, DeviceSeries, HostSample, Recording};
use iolab_statistics::samples_needed;

use super::Gallery;
use super::distributions::{deciles_of, spectrum_of};

/// Draws the figures of a recording. `of` names the trial in titles; empty for a page about this
/// recording alone.
pub(crate) fn run_charts(gallery: &mut Gallery, recording: &Recording, of: &str) {
    let of = if of.is_empty() { String::new() } else { format!("; {of}") };
    let intervals = interval_figures(recording);
    if of.is_empty() {
        gallery.group(
            "Percentile spectrum",
            "Each nine to the right is ten times rarer; percentiles with too few samples are omitted.",
        );
        spectrum(gallery, recording);
    }
    if of.is_empty() {
        gallery.group("Over time", "All charts share the same time axis.");
    }
    timeline(gallery, recording, &intervals, &of);
    heat_maps(gallery, &intervals, &of);
}

/// Draws the history of a run that goes on.
pub(crate) fn over_time_charts(gallery: &mut Gallery, recording: &Recording) {
    gallery.group("", "");
    timeline(gallery, recording, &interval_figures(recording), "");
}

fn spectrum(gallery: &mut Gallery, recording: &Recording) {
    let told = figures(recording);
    let several = told.jobs.len() > 1;
    let named = || {
        told.jobs.iter().flat_map(|job| {
            let name = &job.plan.job;
            job.directions.iter().map(move |direction| {
                let name = if several { format!("{name}, {}", direction.name) } else { direction.name.to_owned() };
                (name, &direction.lat)
            })
        })
    };
    let series: Vec<SpectrumSeries> = named()
        .map(|(name, latencies)| spectrum_of(&name, latencies))
        .filter(|series| !series.points.is_empty())
        .collect();
    if !series.is_empty() {
        let heading = Heading::new(&gallery.id("spectrum"), "Latency by percentile");
        gallery.add(Spectrum { heading, series, latency: Spacing::Log, beside: Vec::new() }.draw());
    }
    if asks_for_deciles(recording) {
        let series: Vec<DecileSeries> = named()
            .filter(|(_, latencies)| latencies.count >= 10)
            .map(|(name, latencies)| deciles_of(&name, latencies))
            .collect();
        if !series.is_empty() {
            let heading = Heading::new(&gallery.id("deciles"), "Latency by decile");
            gallery.add(Deciles { heading, series, latency: Spacing::Log }.draw());
        }
    }
}

/// Whether the job lists all tenths as its percentiles (`percentile_list=10:20:…:100`). The
/// default list has most of them, but not the last.
fn asks_for_deciles(recording: &Recording) -> bool {
    let has_all = |list: &[f64]| (1..=10).all(|tenth| list.contains(&f64::from(tenth * 10)));
    recording.plan.workers.iter().any(|worker| has_all(&worker.measurement.percentiles.list))
}

fn timeline(gallery: &mut Gallery, recording: &Recording, intervals: &[IntervalFigures<'_>], of: &str) {
    let mut panels = vec![rates(recording)];
    let observations = recording.observations.as_ref();
    if let Some(device) = observations.and_then(|seen| seen.devices.first()).filter(|device| device.samples.len() > 2) {
        panels.extend(device_panels(device));
    }
    if let Some(host) = observations.map(|seen| seen.host.as_slice()).filter(|host| host.len() > 2) {
        panels.push(host_panel(host));
    }
    panels.retain(|panel| panel.series.iter().any(|series| series.points.len() > 2));
    let latencies = bands(intervals);
    if panels.is_empty() && latencies.is_empty() {
        return;
    }
    let heading = Heading::new(&gallery.id("over-time"), &format!("Latency and load over time{of}"));
    gallery.add(Timeline { heading, latency: Spacing::Log, latencies, panels, marks: marks(recording) }.draw());
}

/// Median, p99 and largest latency of each interval, by direction, of all jobs together.
fn bands(intervals: &[IntervalFigures<'_>]) -> Vec<LatencyBand> {
    let band = |LatencyHistory { name, moments }: LatencyHistory| {
        let moment = |Moment { start_ns, length_ns, latencies }: &Moment| {
            let percentile = |percent: f64| {
                (latencies.count >= samples_needed(percent)).then(|| latencies.percentile(percent) as f64)
            };
            LatencyMoment {
                at_ns: *start_ns as f64 + *length_ns as f64 / 2.0,
                p50_ns: percentile(50.0),
                p99_ns: percentile(99.0),
                max_ns: (!latencies.is_empty()).then_some(latencies.max as f64),
            }
        };
        let least_ns = moments.iter().map(|moment| moment.length_ns).max().unwrap_or(0) / 2;
        let whole = moments.iter().filter(|moment| moment.length_ns >= least_ns);
        LatencyBand { name: name.to_owned(), moments: whole.map(moment).collect() }
    };
    merged(intervals).into_iter().map(band).filter(|band| band.moments.len() > 1).collect()
}

/// The latencies of one direction over time.
struct LatencyHistory {
    name: &'static str,
    moments: Vec<Moment>,
}

/// The latencies of one interval.
struct Moment {
    start_ns: u64,
    length_ns: u64,
    latencies: SparseHistogram,
}

/// The latencies of each direction over time, of all jobs together.
fn merged(intervals: &[IntervalFigures<'_>]) -> Vec<LatencyHistory> {
    let mut all =
        iolab_plan::Direction::ALL.map(|direction| LatencyHistory { name: direction.name(), moments: Vec::new() });
    let mut places: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    for interval in intervals {
        let moments = &mut all[interval.direction.index()].moments;
        // Intervals of several jobs end together, but the first interval of each begins with the
        // job.
        let end_ns = interval.start_ns + interval.length_ns;
        let place = *places.entry((interval.direction.index(), end_ns)).or_insert(moments.len());
        match moments.get_mut(place) {
            Some(moment) => {
                moment.start_ns = moment.start_ns.min(interval.start_ns);
                moment.length_ns = end_ns - moment.start_ns;
                moment.latencies.merge(&interval.lat);
            }
            None => moments.push(Moment {
                start_ns: interval.start_ns,
                length_ns: interval.length_ns,
                latencies: interval.lat.clone(),
            }),
        }
    }
    all.into_iter().filter(|history| !history.moments.is_empty()).collect()
}

/// Bandwidth of all workers together.
fn rates(recording: &Recording) -> Panel {
    let interval_ns = recording.plan.workers.iter().map(|worker| worker.measurement.interval_ns).max().unwrap_or(0);
    let workers: Vec<_> = recording.workers.iter().collect();
    let series = iolab_plan::Direction::ALL.map(|direction| {
        let samples = summed_series(&workers, &[direction], interval_ns);
        let point = |sample: &iolab_aggregate::RateSample| {
            (middle(sample.start_ns, sample.end_ns), sample.kib_per_second() * 1024.0)
        };
        // The rate over the last few milliseconds is mostly chance, and would look like a collapse.
        let least_ns = samples.iter().map(|sample| sample.end_ns - sample.start_ns).max().unwrap_or(0) / 2;
        let whole = samples.iter().filter(|sample| sample.end_ns - sample.start_ns >= least_ns);
        TimeSeries { name: direction.name().to_owned(), points: whole.map(point).collect() }
    });
    let is_used = |series: &TimeSeries| series.points.iter().any(|(_, value)| *value > 0.0);
    let series = series.into_iter().filter(is_used).collect();
    Panel { measure: AxisMeasure::linear("bandwidth of the jobs", AxisUnit::BytesPerSecond), series }
}

pub(super) fn middle(start_ns: u64, end_ns: u64) -> f64 {
    (start_ns as f64 + end_ns as f64) / 2.0
}

/// The activity of a device between two samples.
type Between = fn(&DeviceSample, &DeviceSample, f64) -> f64;

/// Requests, merges, sizes and queue of a device.
fn device_panels(device: &DeviceSeries) -> Vec<Panel> {
    let least_ns = least_ns(device.samples.iter().map(|sample| sample.at_ns));
    let line = |name: &str, of: Between| {
        let whole = device.samples.windows(2).filter(|pair| pair[1].at_ns.saturating_sub(pair[0].at_ns) >= least_ns);
        let points = whole.map(|pair| {
            let seconds = (pair[1].at_ns - pair[0].at_ns) as f64 / 1e9;
            (middle(pair[0].at_ns, pair[1].at_ns), of(&pair[0], &pair[1], seconds))
        });
        TimeSeries { name: name.to_owned(), points: points.collect() }
    };
    let panel = |name: &str, unit: AxisUnit, series: Vec<TimeSeries>| {
        let is_used = |series: &TimeSeries| series.points.iter().any(|(_, value)| *value > 0.0);
        let series = series.into_iter().filter(is_used).collect();
        Panel { measure: AxisMeasure::linear(&format!("{name} of {}", device.name), unit), series }
    };
    vec![
        panel(
            "requests",
            AxisUnit::PerSecond,
            vec![
                line("reads", |one, next, seconds| gain(next.counters.read_ios, one.counters.read_ios) / seconds),
                line("writes", |one, next, seconds| gain(next.counters.write_ios, one.counters.write_ios) / seconds),
                line("merged reads", |one, next, seconds| {
                    gain(next.counters.read_merges, one.counters.read_merges) / seconds
                }),
                line("merged writes", |one, next, seconds| {
                    gain(next.counters.write_merges, one.counters.write_merges) / seconds
                }),
            ],
        ),
        panel(
            "request size",
            AxisUnit::Bytes,
            vec![
                line("reads", |one, next, _| {
                    let requests = gain(next.counters.read_ios, one.counters.read_ios);
                    gain(next.counters.read_sectors, one.counters.read_sectors) * 512.0 / requests
                }),
                line("writes", |one, next, _| {
                    let requests = gain(next.counters.write_ios, one.counters.write_ios);
                    gain(next.counters.write_sectors, one.counters.write_sectors) * 512.0 / requests
                }),
            ],
        ),
        panel(
            "queue",
            AxisUnit::Count,
            vec![line("mean length", |one, next, seconds| {
                gain(next.counters.time_in_queue_ms, one.counters.time_in_queue_ms) / (seconds * 1e3)
            })],
        ),
    ]
}

/// The shortest time between two samples that is used. Rates over less, as at the end of a run, are
/// mostly chance.
pub(super) fn least_ns(times_ns: impl Iterator<Item = u64> + Clone) -> u64 {
    let gaps = times_ns.clone().zip(times_ns.skip(1)).map(|(one, next)| next.saturating_sub(one));
    (gaps.max().unwrap_or(0) / 2).max(1)
}

/// The increase of a counter.
fn gain(later: u64, earlier: u64) -> f64 {
    later.saturating_sub(earlier) as f64
}

/// Where the CPUs spent their time.
fn host_panel(host: &[HostSample]) -> Panel {
    let least_ns = least_ns(host.iter().map(|sample| sample.at_ns));
    let line = |name: &str, of: fn(&HostSample) -> u64| {
        let whole = host.windows(2).filter(|pair| pair[1].at_ns.saturating_sub(pair[0].at_ns) >= least_ns);
        let points = whole.map(|pair| {
            let total = |sample: &HostSample| {
                sample.user_ns + sample.system_ns + sample.idle_ns + sample.iowait_ns + sample.steal_ns
            };
            let all = gain(total(&pair[1]), total(&pair[0]));
            (middle(pair[0].at_ns, pair[1].at_ns), gain(of(&pair[1]), of(&pair[0])) / all)
        });
        TimeSeries { name: name.to_owned(), points: points.collect() }
    };
    let series = vec![
        line("user", |sample| sample.user_ns),
        line("system", |sample| sample.system_ns),
        line("waiting for I/O", |sample| sample.iowait_ns),
        line("stolen", |sample| sample.steal_ns),
        line("stopped by a quota", |sample| sample.quota.map_or(0, |quota| quota.throttled_ns)),
    ];
    let is_used = |series: &TimeSeries| series.points.iter().any(|(_, value)| *value > 0.001);
    Panel {
        measure: AxisMeasure::linear("CPU time", AxisUnit::Share),
        series: series.into_iter().filter(is_used).collect(),
    }
}

/// The end of the ramp, if it is the same for all workers.
fn marks(recording: &Recording) -> Vec<TimeMark> {
    let mut ends: Vec<u64> = recording
        .plan
        .workers
        .iter()
        .zip(&recording.workers)
        .filter(|(plan, _)| plan.limits.ramp_ns > 0)
        .map(|(plan, worker)| worker.started_ns + plan.limits.ramp_ns)
        .collect();
    ends.arrange();
    ends.first().map(|end| TimeMark { at_ns: *end as f64, label: "ramp ends".to_owned() }).into_iter().collect()
}

/// A heat map for each direction. The first and the last interval may be shorter than the others:
/// they are drawn with the same width, so that all lie on one grid. A final part shorter than half
/// an interval is added to the one before, so that it does not look like a collapse.
fn heat_maps(gallery: &mut Gallery, intervals: &[IntervalFigures<'_>], of: &str) {
    for LatencyHistory { name, mut moments } in merged(intervals) {
        let grid_ns = moments.iter().map(|moment| moment.length_ns).max().unwrap_or(0);
        if let Some(rest) = moments.pop_if(|last| last.length_ns * 2 < grid_ns) {
            match moments.last_mut() {
                Some(last) => last.latencies.merge(&rest.latencies),
                None => moments.push(rest),
            }
        }
        let column = |(place, moment): (usize, &Moment)| {
            let end_ns = moment.start_ns + moment.length_ns;
            let start_ns = if place == 0 { end_ns.saturating_sub(grid_ns) } else { moment.start_ns };
            let cells = moment.latencies.buckets.iter().map(cell).collect();
            HeatColumn { start_ns: start_ns as f64, length_ns: grid_ns as f64, cells }
        };
        let is_drawn = |entry: &(usize, &Moment)| entry.1.length_ns > 0 && !entry.1.latencies.is_empty();
        let columns: Vec<HeatColumn> = moments.iter().enumerate().filter(is_drawn).map(column).collect();
        if columns.len() > 2 {
            let heading =
                Heading::new(&gallery.id(&format!("heat-{name}")), &format!("Latencies of {name}s over time{of}"));
            gallery.add(HeatMap { heading, columns }.draw());
        }
    }
}

fn cell(bucket: &(u32, u64)) -> HeatCell {
    let place = bucket.0 as usize;
    let next = (place + 1).min(BUCKETS - 1);
    HeatCell {
        low_ns: (bucket_low(place) as f64).max(1.0),
        high_ns: (bucket_low(next) as f64).max(bucket_low(place) as f64 + 1.0),
        count: bucket.1 as f64,
    }
}
