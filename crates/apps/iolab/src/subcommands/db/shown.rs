//! Entries as text for a terminal.

use iolab_report::iso_text;
use iolab_store::{DatabaseEntry, EntryFigure};
use iolab_study::Figure;
use iolab_text::{Alignment, aligned};
use iolab_units::rounded_ns;

/// A line for each entry.
pub(super) fn table(entries: &[DatabaseEntry]) -> String {
    if entries.is_empty() {
        return "nothing\n".to_owned();
    }
    let head = ["id", "started (UTC)", "kind", "title", "engine", "bs", "iops", "p99", "host", "tags", ""];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines.extend(entries.iter().map(line));
    aligned(&lines, |_| Alignment::Left)
}

fn line(entry: &DatabaseEntry) -> Vec<String> {
    let figure = |name: &str| entry.figure(name).map_or("-".to_owned(), value);
    let options = |name: &str| match entry.option_values(name)[..] {
        [] => "-".to_owned(),
        [one] => one.to_owned(),
        [one, ..] => format!("{one}, …"),
    };
    let mark = match &entry.flaw {
        Some(flaw) => format!("! {flaw}"),
        None if !std::path::Path::new(&entry.path).exists() => "! its file no longer exists".to_owned(),
        None => entry.note.clone(),
    };
    vec![
        format!("@{}", entry.id),
        started(entry),
        entry.kind.word().to_owned(),
        entry.title.clone(),
        options("ioengine"),
        options("bs"),
        figure("iops"),
        figure("p99"),
        entry.hostname.clone().unwrap_or_else(|| "-".to_owned()),
        entry.tags.join(" "),
        mark,
    ]
}

pub(super) fn started(entry: &DatabaseEntry) -> String {
    entry.started_unix_ns.map_or("-".to_owned(), |ns| iso_text(ns / 1_000_000_000))
}

fn value(figure: &EntryFigure) -> String {
    match Figure::from_name(&figure.name) {
        Ok(of) => iolab_study::shown(&of, figure.value),
        Err(_) => figure.value.to_string(),
    }
}

/// Show everything about an entry, and the trials of a study.
pub(super) fn whole(entry: &DatabaseEntry, trials: &[DatabaseEntry]) -> String {
    let mut text = format!("@{}  {}: {}\n", entry.id, entry.kind.word(), entry.title);
    let mut fact = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text += &format!("  {name:9} {value}\n");
        }
    };
    fact("file", Some(entry.path.clone()));
    fact("started", Some(started(entry)));
    fact("took", entry.elapsed_ns.map(|ns| rounded_ns(ns as f64)));
    fact("by", Some(entry.tool.clone()));
    fact("host", entry.hostname.clone());
    fact("kernel", entry.kernel.clone());
    fact("cpu", entry.cpu_model.clone());
    fact("study", entry.parent.map(|parent| format!("@{parent}, block {}", entry.block.unwrap_or(0) + 1)));
    let points: Vec<String> = entry.points.iter().map(|(axis, point)| format!("{axis}={point}")).collect();
    fact("points", Some(points.join(", ")));
    fact("tags", Some(entry.tags.join(" ")));
    fact("note", Some(entry.note.clone()));
    fact("flaw", entry.flaw.clone());
    for (rule, consequence) in &entry.findings {
        text += &format!("  finding   {rule}: {consequence}\n");
    }
    if !entry.figures.is_empty() {
        let cells = |figure: &EntryFigure| {
            let job = if figure.job.is_empty() { "all jobs" } else { &figure.job };
            let of = figure.latency.as_ref().map_or(String::new(), |kind| format!("({kind})"));
            vec![job.to_owned(), figure.name.clone(), value(figure), of]
        };
        text += "\n";
        text += &aligned(&entry.figures.iter().map(cells).collect::<Vec<_>>(), |_| Alignment::Left);
    }
    if !trials.is_empty() {
        text += &format!("\n{}", table(trials));
    }
    if !entry.job_text.is_empty() {
        text += &format!("\n{}\n", entry.job_text.trim_end());
    }
    text
}
