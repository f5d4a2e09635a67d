//! A run that goes on: its parts, each of which is sent again when it has changed.

use std::sync::Arc;

use iolab_aggregate::{DirectionFigures, JobFigures, figures};
use iolab_iostat::{DataUnit, DeviceActivity, EXTENDED};
use iolab_plan::Direction;
use iolab_recording::{DeviceSeries, IntervalLatencies, Recording};
use maud::{Markup, html};

use super::listing::segment;
use super::page::Site;
use crate::charts::{Gallery, over_time_charts};
use crate::frame::{Cell, name, number, table};
use crate::number::{bytes_per_second, grouped, rate, time};
use crate::{digest, environment, findings};

/// A part of a live page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LivePart {
    /// The id of its element.
    pub id: &'static str,
    /// What is in it; shared, because most parts stay as they are from one state to the next.
    pub html: Arc<str>,
}

/// The page.
#[derive(Debug)]
pub struct LivePage<'a> {
    /// What all pages share.
    pub site: Site<'a>,
    /// The name of the run's file.
    pub name: &'a str,
    /// The names of its jobs.
    pub title: &'a str,
    /// When it began, ns since the Unix epoch.
    pub begun_unix_ns: Option<u64>,
    /// From [`live_now`] and [`live_course`].
    pub parts: &'a [LivePart],
}

/// Headings of the parts.
const HEADINGS: [(&str, &str); 4] =
    [("now", "Now"), ("findings", "Findings so far"), ("course", "Over time"), ("devices", "Block devices")];

impl LivePage<'_> {
    /// The document.
    pub fn html(&self) -> String {
        let facts = html! {
            p { @if let Some(at) = self.begun_unix_ns { "Begun " (environment::date(at)) ". " }
                span #connection role="status" { "This page shows the moment when it was loaded." } " "
                a href={ "/live/" (segment(self.name)) } { "Load it again" } }
        };
        let body = html! {
            div #live data-events={ "/live/" (segment(self.name)) "/events" } {
                @for (id, heading) in HEADINGS {
                    section aria-labelledby={ (id) "-title" } {
                        h2 id={ (id) "-title" } { (heading) }
                        div id=(id) {
                            @for part in self.parts.iter().filter(|part| part.id == id) { (maud::PreEscaped(&part.html)) }
                        }
                    }
                }
            }
        };
        self.site.document(self.title, &facts, &body, true)
    }
}

/// The part with rates and latencies. `latest` is the last interval of each worker; of the
/// recording, only what a run adds up to is read.
pub fn live_now(recording: &Recording, latest: &[(u32, IntervalLatencies)]) -> LivePart {
    LivePart { id: "now", html: now(recording, latest).into_string().into() }
}

/// The parts that cost more the longer the run is: its findings, its charts over time, its block
/// devices.
pub fn live_course(recording: &Recording) -> Vec<LivePart> {
    let gathered = findings::gather([(String::new(), recording.findings.as_slice())].into_iter());
    let warnings = digest::warnings(recording);
    let warnings: Vec<&str> = warnings.iter().map(String::as_str).collect();
    let told = html! {
        @if gathered.is_empty() && warnings.is_empty() { p.weak { "None." } }
        @else { (findings::markup(&gathered, &warnings)) }
    };
    let mut gallery = Gallery::new("");
    over_time_charts(&mut gallery, recording);
    let course = html! {
        @if gallery.is_empty() { p.weak { "The first pictures come after three intervals." } }
        @else { (gallery.markup()) }
    };
    let parts: [(&'static str, Markup); 3] = [("findings", told), ("devices", devices(recording)), ("course", course)];
    parts.into_iter().map(|(id, html)| LivePart { id, html: html.into_string().into() }).collect()
}

fn now(recording: &Recording, latest: &[(u32, IntervalLatencies)]) -> Markup {
    let told = figures(recording);
    let head = [
        "job",
        "direction",
        "rate now",
        "bandwidth now",
        "p50 now",
        "p99 now",
        "p99.9 now",
        "rate so far",
        "p99 so far",
        "operations",
    ];
    let row = |job: &JobFigures<'_>, direction: &DirectionFigures| {
        let own = Now::of(recording, job.plan.section, direction.name, latest);
        let latency = |percent: f64| {
            Cell::Number(match own.latencies.count >= iolab_statistics::samples_needed(percent) {
                true => time(own.latencies.percentile(percent) as f64),
                false => "\u{2013}".to_owned(),
            })
        };
        vec![
            Cell::Head(job.plan.job.clone()),
            Cell::Text(direction.name.to_owned()),
            Cell::Number(rate(own.ios_per_second)),
            Cell::Number(bytes_per_second(own.bytes_per_second)),
            latency(50.0),
            latency(99.0),
            latency(99.9),
            Cell::Number(rate(direction.ios_per_second())),
            Cell::Number(match direction.lat.count >= iolab_statistics::samples_needed(99.0) {
                true => time(direction.lat.percentile(99.0) as f64),
                false => "\u{2013}".to_owned(),
            }),
            Cell::Number(grouped(direction.ios)),
        ]
    };
    let rows: Vec<Vec<Cell>> = told
        .jobs
        .iter()
        .flat_map(|job| {
            job.directions.iter().filter(|direction| direction.ios > 0).map(move |direction| row(job, direction))
        })
        .collect();
    html! {
        p { "Measured so far: " (number(&time(recording.elapsed_ns as f64))) ". \u{201c}Now\u{201d} is the last interval of each worker." }
        @if rows.is_empty() { p.weak { "No interval is over yet." } }
        @else { (table(&html! { "Each job and direction" }, "Each job and direction", &head, &rows)) }
    }
}

/// The last interval of the workers of a section, in one direction.
#[derive(Default)]
struct Now {
    ios_per_second: f64,
    bytes_per_second: f64,
    latencies: iolab_histogram::SparseHistogram,
}

impl Now {
    fn of(recording: &Recording, section: u32, direction: &str, latest: &[(u32, IntervalLatencies)]) -> Now {
        let direction = Direction::ALL.into_iter().find(|known| known.name() == direction);
        let workers = recording.plan.workers.iter().filter(|worker| worker.section == section);
        let mut now = Now::default();
        for worker in workers {
            let Some((_, interval)) = latest.iter().find(|(number, _)| *number == worker.number) else { continue };
            let Some(part) = direction.and_then(|direction| interval.direction(direction)) else { continue };
            let seconds = interval.length_ns.max(1) as f64 / 1e9;
            now.ios_per_second += part.ios as f64 / seconds;
            now.bytes_per_second += part.bytes as f64 / seconds;
            now.latencies.merge(&part.lat());
        }
        now
    }
}

/// The columns of the table of devices.
const COLUMNS: [&str; 9] = ["r/s", "rkB/s", "r_await", "w/s", "wkB/s", "w_await", "f/s", "aqu-sz", "%util"];

/// The columns of iostat, of the last interval.
fn devices(recording: &Recording) -> Markup {
    let all = recording.observations.as_ref().map_or(&[][..], |seen| &seen.devices);
    let row = |device: &DeviceSeries| {
        let [.., before, last] = device.samples.as_slice() else { return None };
        let activity = DeviceActivity::between(before, last);
        let figure = |name: &&str| {
            let column = EXTENDED.iter().find(|column| column.name == *name);
            let value = column.map_or(0.0, |column| (column.value)(&activity, DataUnit::Kilobytes));
            Cell::Number(format!("{value:.2}"))
        };
        Some(std::iter::once(Cell::Head(device.name.clone())).chain(COLUMNS.iter().map(figure)).collect())
    };
    let rows: Vec<Vec<Cell>> = all.iter().filter_map(row).collect();
    let head: Vec<&str> = std::iter::once("device").chain(COLUMNS).collect();
    let caption = html! { "Columns of iostat, between the last two samples" };
    html! {
        @if rows.is_empty() { p.weak { "None is under the files of this run, or none was sampled twice yet." } }
        @else { (table(&caption, "Block devices", &head, &rows)) }
        @if all.len() > 1 { p.weak { "Devices that others are made of follow them: " (name(&all[0].name)) " comes first." } }
    }
}
