//! The report of one recording: its conclusions, then each job with its distribution and course
//! over time, then the machine.

use iolab_aggregate::{DirectionFigures, JobFigures, figures};
use iolab_plan::{Direction, describe};
use iolab_recording::Recording;
use maud::{Markup, html};

use crate::charts::{Gallery, device_galleries, run_charts};
use crate::frame::{Cell, Header, Section, counted, details, document, name, number, table};
use crate::number::{bytes, bytes_per_second, grouped, percent, rate, time};
use crate::{Page, cost, digest, environment, findings};

/// The page of a recording and its figures. `source` is the file name shown to readers, `notes` are
/// remarks about the recording.
pub fn recording_page(recording: &Recording, source: &str, notes: &[String], version: &str) -> Page {
    let told = figures(recording);
    let mut gallery = Gallery::new("");
    run_charts(&mut gallery, recording, "");
    let device_figures = device_galleries(recording.observations.as_ref().map_or(&[], |seen| &seen.devices));
    let title = match told.jobs.as_slice() {
        [] => "A run".to_owned(),
        [only] => only.plan.job.clone(),
        [first, rest @ ..] => format!("{} and {}", first.plan.job, counted(rest.len(), "other job", "other jobs")),
    };
    let mut sections = vec![
        Section::new("summary", "Results", summary(recording, &told.jobs, notes)),
        Section::new("jobs", "Jobs", jobs(&told.jobs)),
    ];
    if !gallery.is_empty() {
        sections.push(Section::new("figures", "Figures", gallery.markup()));
    }
    sections.extend([
        Section::new("cost", "Cost", costs(&told.jobs)),
        Section::new("devices", "Block devices", devices(recording, &device_figures)),
        Section::new("environment", "Environment", environment(recording)),
        Section::new("again", "How to repeat it", again(recording, source)),
    ]);
    let header = Header { title: &title, question: "", facts: facts(recording), version };
    let figures = std::iter::once(gallery).chain(device_figures).flat_map(Gallery::into_figures).collect();
    Page { html: document(&header, &sections), figures }
}

fn facts(recording: &Recording) -> Markup {
    html! {
        p { (counted(recording.workers.len(), "worker", "workers")) ", " (number(&time(recording.elapsed_ns as f64)))
            @if recording.has_several_hosts() {
                ", on " (counted(recording.hosts.len(), "host", "hosts")) " ("
                (name(&recording.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", "))) ")"
            } @else { ", on " (name(&recording.host.hostname)) ", Linux " (name(&recording.host.kernel)) }
            ", begun " (environment::date(recording.started_unix_ns)) "." }
    }
}

fn summary(recording: &Recording, jobs: &[JobFigures<'_>], notes: &[String]) -> Markup {
    let gathered = findings::gather([(String::new(), recording.findings.as_slice())].into_iter());
    let warnings = digest::warnings(recording);
    let warnings: Vec<&str> = warnings.iter().map(String::as_str).collect();
    html! {
        @for note in notes { p.weak { (name(note)) } }
        @if recording.interrupted { p { strong.severity { "The run was interrupted: the results cover only the part \
            that ran." } } }
        ul.conclusions.answers {
            @for job in jobs {
                @for direction in job.directions.iter().filter(|direction| direction.ios > 0) { li { (sentence(job, direction)) } }
                @if let Some(message) = &job.error_message { li { strong.severity { "Failed: " } (name(&job.plan.job)) ": " (name(message)) } }
                @if job.directions.iter().all(|direction| direction.ios == 0) { li { (name(&job.plan.job)) " completed no operation." } }
            }
        }
        (findings::markup(&gathered, &warnings))
    }
}

fn sentence(job: &JobFigures<'_>, direction: &DirectionFigures) -> Markup {
    let latency = &direction.lat;
    html! {
        strong { (name(&job.plan.job)) @if !job.hosts.is_empty() { " on " (name(&job.hosts.join(", "))) } ", " (direction.name) } ": "
        (number(&rate(direction.ios_per_second()))) ", " (number(&bytes_per_second(direction.bytes_per_second())))
        @if !latency.is_empty() {
            "; half of the operations took at most " (number(&time(latency.percentile(50.0) as f64)))
            @for percent in [99.0, 99.9] {
                @if latency.count >= iolab_statistics::samples_needed(percent) {
                    ", " (number(&format!("{percent} %"))) " at most " (number(&time(latency.percentile(percent) as f64)))
                }
            }
            ", the slowest " (number(&time(latency.max as f64)))
        }
        "."
    }
}

/// Percentiles of the table of jobs.
const PERCENTILES: [f64; 4] = [50.0, 99.0, 99.9, 99.99];

fn jobs(jobs: &[JobFigures<'_>]) -> Markup {
    let names: Vec<String> = PERCENTILES.iter().map(|percent| format!("p{percent}")).collect();
    let head: Vec<&str> =
        ["job", "direction", "operations", "data", "rate", "bandwidth", "± over time", "mean", "± of latencies"]
            .into_iter()
            .chain(names.iter().map(String::as_str))
            .chain(["slowest"])
            .collect();
    let row = |job: &JobFigures<'_>, direction: &DirectionFigures| {
        let latency = &direction.lat;
        let or_dash = |ns: Option<f64>| Cell::Number(ns.map_or("\u{2013}".to_owned(), time));
        let mut cells = vec![
            Cell::Head(titled(job)),
            Cell::Text(direction.name.to_owned()),
            Cell::Number(grouped(direction.ios)),
            Cell::Number(bytes(direction.bytes as f64)),
            Cell::Number(rate(direction.ios_per_second())),
            Cell::Number(bytes_per_second(direction.bytes_per_second())),
            // Over windows of the run, as in fio.
            Cell::Number(match direction.bandwidth.samples {
                0 | 1 => "\u{2013}".to_owned(),
                _ => bytes_per_second(direction.bandwidth.stddev * 1024.0),
            }),
            or_dash((!latency.is_empty()).then(|| latency.mean())),
            or_dash((latency.count > 1).then(|| latency.stddev())),
        ];
        let enough = |percent: f64| latency.count >= iolab_statistics::samples_needed(percent);
        cells.extend(PERCENTILES.map(|percent| or_dash(enough(percent).then(|| latency.percentile(percent) as f64))));
        cells.push(or_dash((!latency.is_empty()).then_some(latency.max as f64)));
        cells
    };
    let used = |job: &JobFigures<'_>| -> Vec<Vec<Cell>> {
        job.directions.iter().filter(|direction| direction.ios > 0).map(|direction| row(job, direction)).collect()
    };
    let rows: Vec<Vec<Cell>> = jobs.iter().flat_map(used).collect();
    html! {
        p { "Latencies are from the beginning of an operation to its completion. Percentiles with too few samples \
            are omitted. "
            "± is the standard deviation: for bandwidth over windows of the run (bwavgtime), for latencies \
            over all operations." }
        (table(&html! { "Each job and direction" }, "Each job and direction", &head, &rows))
        @for job in jobs.iter().filter(|job| !job.files.is_empty()) { (files(job)) }
        @for job in jobs.iter().filter(|job| job.schedule.is_some()) { (schedule(job)) }
        @for job in jobs.iter().filter(|job| job.drift.is_some()) { (drift(job)) }
    }
}

/// The name of a job in tables: with its hosts if there are several.
fn titled(job: &JobFigures<'_>) -> String {
    let own = &job.plan.job;
    if job.hosts.is_empty() { own.clone() } else { format!("{own} on {}", job.hosts.join(", ")) }
}

/// Each file or device of a job that counts them.
fn files(job: &JobFigures<'_>) -> Markup {
    let head = ["file or device", "direction", "operations", "rate", "bandwidth", "mean", "p50", "p99", "slowest"];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for file in &job.files {
        for (direction, of) in Direction::ALL.into_iter().zip(&file.directions) {
            if of.clat.is_empty() {
                continue;
            }
            let latency = |ns: f64| Cell::Number(time(ns));
            rows.push(vec![
                Cell::Head(file.path.clone()),
                Cell::Text(direction.name().to_owned()),
                Cell::Number(grouped(of.done.ios)),
                Cell::Number(rate(of.done.ios_per_second())),
                Cell::Number(bytes_per_second(of.done.bytes_per_second())),
                latency(of.clat.mean()),
                latency(of.clat.percentile(50.0) as f64),
                latency(of.clat.percentile(99.0) as f64),
                latency(of.clat.max as f64),
            ]);
        }
    }
    let caption = html! { "Each file or device of " (name(&titled(job))) ", by completion latency" };
    table(&caption, &format!("Each file or device of {}", titled(job)), &head, &rows)
}

/// How a paced load kept its schedule.
fn schedule(job: &JobFigures<'_>) -> Markup {
    let Some(schedule) = &job.schedule else { return html! {} };
    html! {
        p { (name(&job.plan.job)) " was asked for " (number(&rate(schedule.asked_iops()))) " and sent " (number(&rate(schedule.sent_iops())))
            "; at the end " (grouped(schedule.backlog_at_end)) " operations were due and not sent, the longest lag was "
            (number(&time(schedule.lag_most_ns as f64))) "." }
        @for text in &job.saturation { p { strong.severity { (name(text)) } } }
    }
}

/// How a replay kept the times of its trace, stretch by stretch.
fn drift(job: &JobFigures<'_>) -> Markup {
    let Some(drift) = &job.drift else { return html! {} };
    let head = ["from", "operations", "late on average", "late at most"];
    // Periods are merged into this number of rows, so that the page stays readable.
    const ROWS: usize = 20;
    let rows = drift.series.chunks(drift.series.len().div_ceil(ROWS).max(1)).map(|stretches| {
        let operations: u64 = stretches.iter().map(|one| one.operations).sum();
        let sum: u128 = stretches.iter().map(|one| u128::from(one.mean_ns) * u128::from(one.operations)).sum();
        let most_ns = stretches.iter().map(|one| one.most_ns).max().unwrap_or(0);
        vec![
            Cell::Head(time(stretches[0].start_ns as f64)),
            Cell::Number(grouped(operations)),
            Cell::Number(time((sum / u128::from(operations.max(1))) as f64)),
            Cell::Number(time(most_ns as f64)),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    html! {
        p { (name(&job.plan.job)) " replays a trace: " (name(&drift.line())) "." }
        @if !rows.is_empty() {
            (table(&html! { "How late operations began" }, "How late operations began, by the trace's time", &head, &rows))
        }
    }
}

fn costs(jobs: &[JobFigures<'_>]) -> Markup {
    let row = |job: &JobFigures<'_>| {
        let operations: u64 = job.directions.iter().map(|direction| direction.ios).sum();
        let per_operation = |ns: u64| {
            Cell::Number(if operations == 0 { "\u{2013}".to_owned() } else { time(ns as f64 / operations as f64) })
        };
        let (user, system) =
            job.workers.iter().fold((0, 0), |sum, worker| (sum.0 + worker.cpu.user_ns, sum.1 + worker.cpu.system_ns));
        let switches = if operations == 0 { 0.0 } else { job.cpu.context_switches as f64 / operations as f64 };
        let share = job.overheads.iter().map(iolab_recording::LoopOverhead::share_percent).reduce(f64::max);
        vec![
            Cell::Head(titled(job)),
            per_operation(user + system),
            per_operation(user),
            per_operation(system),
            Cell::Number(percent(job.cpu.user_percent)),
            Cell::Number(percent(job.cpu.system_percent)),
            Cell::Number(format!("{switches:.2}")),
            Cell::Rich(cost::share_markup(share)),
        ]
    };
    let head = [
        "job",
        "CPU per operation",
        "user",
        "system",
        "user, of the time",
        "system, of the time",
        "switches per operation",
        "iolab's own part",
    ];
    html! {
        (table(&html! { "CPU time of the workers" }, "CPU time of the workers", &head, &jobs.iter().map(row).collect::<Vec<_>>()))
        ul { @for job in jobs { @for overhead in &job.overheads { li { (name(&job.plan.job)) ": " (name(&overhead.line())) } } } }
    }
}

fn devices(recording: &Recording, [wholes, parts]: &[Gallery; 2]) -> Markup {
    let told = iolab_aggregate::device_figures(&recording.devices, &recording.hosts);
    let row = |device: &iolab_aggregate::DeviceFigures| {
        let gained = &device.gained;
        let mean = |sectors: u64, ios: u64| {
            Cell::Number(if ios == 0 { "\u{2013}".to_owned() } else { bytes(sectors as f64 * 512.0 / ios as f64) })
        };
        vec![
            Cell::Head(device.name.clone()),
            Cell::Number(grouped(gained.read_ios)),
            Cell::Number(grouped(gained.read_merges)),
            mean(gained.read_sectors, gained.read_ios),
            Cell::Number(grouped(gained.write_ios)),
            Cell::Number(grouped(gained.write_merges)),
            mean(gained.write_sectors, gained.write_ios),
            Cell::Number(percent(device.util_percent)),
        ]
    };
    let head = ["device", "reads", "merged", "mean size", "writes", "merged", "mean size", "busy"];
    html! {
        @if !told.is_empty() {
            (table(&html! { "Requests that the block layer completed during the run" }, "Requests of block devices", &head, &told.iter().map(row).collect::<Vec<_>>()))
        }
        (wholes.markup())
        @if !parts.is_empty() { (details("The devices that these are made of", &parts.markup())) }
        (environment::devices(recording))
    }
}

fn environment(recording: &Recording) -> Markup {
    html! {
        @if recording.has_several_hosts() { (environment::hosts(recording)) }
        @else { (environment::machine(&[&recording.host], &[recording.iolab_version.as_str()])) }
        h3 { "Command line" }
        (environment::code(&recording.host.command_line.join(" ")))
    }
}

fn again(recording: &Recording, source: &str) -> Markup {
    html! {
        @for text in &recording.plan.sources {
            h3 { (name(&text.name)) }
            (environment::code(&text.text))
        }
        (environment::code(&format!("iolab run JOB.fio --record=NEW.iolab\niolab report {source} -o report.html")))
        (details("The plan, with every default", &environment::code(&describe(&recording.plan))))
    }
}
