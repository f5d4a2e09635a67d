//! Where, when and how: facts that are needed to judge and reproduce the figures.

use iolab_recording::{Host, HostFacts, Recording};
use iolab_report::iso_text;
use maud::{Markup, html};

use crate::digest::Digest;
use crate::frame::{Cell, counted, details, name, number, table};
use crate::number::bytes;
use crate::standing::Outcome;

/// Name and value of one fact.
type Fact = (&'static str, Markup);

/// A list of facts.
pub(crate) fn facts(facts: &[Fact]) -> Markup {
    html! { dl.facts { @for (term, value) in facts { div { dt { (term) } dd { (value) } } } } }
}

/// The machine. If trials ran on different machines, all values are listed, because readers must
/// see that flaw.
pub(crate) fn machine(hosts: &[&HostFacts], versions: &[&str]) -> Markup {
    let distinct = |of: &dyn Fn(&HostFacts) -> String| {
        let mut values: Vec<String> = Vec::new();
        for host in hosts {
            let value = of(host);
            if !value.is_empty() && !values.contains(&value) {
                values.push(value);
            }
        }
        several(&values)
    };
    let mut programs: Vec<String> = Vec::new();
    for version in versions {
        if !programs.iter().any(|known| known == version) {
            programs.push((*version).to_owned());
        }
    }
    facts(&[
        ("Host", distinct(&|host| host.hostname.clone())),
        ("Kernel", distinct(&|host| host.kernel.clone())),
        ("CPU", distinct(&|host| format!("{} × {}", host.cpus, host.cpu_model))),
        ("Memory", distinct(&|host| bytes(host.memory_bytes as f64))),
        ("Clock", distinct(&|host| host.clock.clone())),
        ("iolab", several(&programs)),
    ])
}

/// The hosts of a run of several, and how well their clocks agree.
pub(crate) fn hosts(recording: &Recording) -> Markup {
    let row = |host: &Host| {
        let sign = if host.clock_offset_ns < 0 { "\u{2212}" } else { "+" };
        let offset = crate::number::time(host.clock_offset_ns.unsigned_abs() as f64);
        vec![
            Cell::Head(host.name.clone()),
            Cell::Text(host.facts.kernel.clone()),
            Cell::Text(format!("{} \u{d7} {}", host.facts.cpus, host.facts.cpu_model)),
            Cell::Number(bytes(host.facts.memory_bytes as f64)),
            Cell::Number(format!("{sign}{offset}")),
            Cell::Number(crate::number::time(host.clock_error_ns as f64)),
        ]
    };
    let head = ["host", "kernel", "CPU", "memory", "clock against the first", "error of that"];
    let rows: Vec<Vec<Cell>> = recording.hosts.iter().map(row).collect();
    table(&html! { "The hosts of this run" }, "Hosts", &head, &rows)
}

fn several(values: &[String]) -> Markup {
    html! {
        @if values.is_empty() { "not known" }
        @for (place, value) in values.iter().enumerate() { @if place > 0 { "; " } (name(value)) }
        @if values.len() > 1 { " " strong.severity { "(not the same in all trials)" } }
    }
}

/// Block devices of a run and their queue settings, as they were when it began.
pub(crate) fn devices(recording: &Recording) -> Markup {
    let series = recording.observations.iter().flat_map(|observations| &observations.devices);
    let with_settings: Vec<_> = series.filter(|device| !device.settings.is_empty()).collect();
    html! {
        @if recording.devices.is_empty() && with_settings.is_empty() {
            p { "No block device was found under the files." }
        } @else {
            p { "Block devices under the files: "
                @for (place, device) in recording.devices.iter().enumerate() {
                    @if place > 0 { ", " } (name(&device.name))
                    @if !device.parts.is_empty() { " (made of " (name(&device.parts.join(", "))) ")" }
                } "." }
        }
        @for device in with_settings {
            @let rows: Vec<Vec<Cell>> = device.settings.iter().map(|(key, value)| vec![Cell::Head(key.clone()), Cell::Text(value.clone())]).collect();
            (details(&format!("Queue settings of {}", device.name),
                &table(&html! { "Settings of " (name(&device.name)) " when the run began" }, &format!("Settings of {}", device.name), &["setting", "value"], &rows)))
        }
    }
}

/// A time of day, in UTC.
pub(crate) fn date(unix_ns: u64) -> Markup {
    let text = iso_text(unix_ns / 1_000_000_000);
    html! { time datetime={ (text.replace(' ', "T")) "Z" } { bdi dir="ltr" { (text) " UTC" } } }
}

/// Program text.
pub(crate) fn code(text: &str) -> Markup {
    html! { pre tabindex="0" dir="ltr" { code { (text) } } }
}

/// Seed and order of a study's trials, with when each began.
pub(crate) fn order(outcome: &Outcome<'_>, digests: &[Digest]) -> Markup {
    let head: Vec<&str> = ["place", "block"]
        .into_iter()
        .chain(outcome.design.axes.iter().map(String::as_str))
        .chain(["began", "took"])
        .collect();
    let row = |(place, planned): (usize, &iolab_study::TrialId)| {
        let mut cells = vec![Cell::Number((place + 1).to_string()), Cell::Number((planned.block + 1).to_string())];
        cells.extend(outcome.design.configurations[planned.configuration].points.iter().cloned().map(Cell::Text));
        match digests.iter().find(|digest| digest.planned == *planned) {
            Some(digest) => cells.extend([
                Cell::Rich(date(digest.started_unix_ns)),
                Cell::Number(crate::number::time(digest.elapsed_ns as f64)),
            ]),
            None => cells.extend(["not run", "\u{2013}"].map(|text| Cell::Text(text.to_owned()))),
        }
        cells
    };
    let trials = &outcome.design.trials;
    let rows: Vec<Vec<Cell>> = trials.iter().enumerate().take(MOST_TRIALS).map(row).collect();
    html! {
        @if let Some(hosts) = &outcome.study.hosts {
            p { "Each trial was one run on " (name(&hosts.in_words())) "; its ranks began at one moment, and its figures are those of all ranks together." }
        }
        p { "The trials ran in blocks; each block ran every configuration once, in random order from seed " (number(&outcome.study.seed.to_string())) "." }
        (details(&format!("Order of the {}", counted(trials.len(), "trial", "trials")), &html! {
            (table(&html! { "Trials in the order of the design" }, "Order of the trials", &head, &rows))
            @if trials.len() > MOST_TRIALS { p { "and " (trials.len() - MOST_TRIALS) " more" } }
        }))
    }
}

/// Most trials listed.
const MOST_TRIALS: usize = 300;

/// The job, what each configuration adds to it, and the study as data.
pub(crate) fn plan(outcome: &Outcome<'_>, job: &str) -> Markup {
    let row = |(place, configuration): (usize, &iolab_study::Configuration)| {
        let settings: Vec<String> =
            configuration.settings.iter().map(|setting| format!("{}={}", setting.option, setting.value)).collect();
        vec![Cell::Head(format!("c{place:03}")), Cell::Text(outcome.name(place)), Cell::Text(settings.join("  "))]
    };
    let rows: Vec<Vec<Cell>> = outcome.design.configurations.iter().enumerate().map(row).collect();
    // Plain data with string keys cannot fail to serialise.
    let json = iolab_text::indented(&serde_json::to_string(outcome.study).unwrap_or_default());
    html! {
        h3 { "The job of every trial" }
        (code(job))
        (details("What each configuration adds to it",
            &table(&html! { "Settings of each configuration" }, "Settings of each configuration", &["number", "configuration", "settings"], &rows)))
        (details("The study as JSON", &code(&json)))
    }
}
