//! Entries for other programs: a line for each figure (CSV, RFC 4180) or for each entry (JSON
//! lines, and a history with a column for each figure).

use std::collections::BTreeMap;

use iolab_order::{Arrange, Gather};

use crate::{DatabaseEntry, EntryFigure};

/// Columns of the CSV form. It has one figure per line, so that entries with different jobs fit
/// into one table.
const COLUMNS: [&str; 16] = [
    "id",
    "kind",
    "title",
    "parent",
    "block",
    "points",
    "started_unix_ns",
    "elapsed_ns",
    "tool",
    "hostname",
    "tags",
    "job",
    "figure",
    "latency",
    "unit",
    "value",
];

/// A header, then a line for each figure of each entry.
pub fn csv(entries: &[DatabaseEntry]) -> String {
    let mut text = COLUMNS.join(",") + "\r\n";
    for entry in entries {
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        let points: Vec<String> = entry.points.iter().map(|(axis, point)| format!("{axis}={point}")).collect();
        let shared = [
            entry.id.to_string(),
            entry.kind.word().to_owned(),
            entry.title.clone(),
            entry.parent.map(|parent| parent.to_string()).unwrap_or_default(),
            entry.block.map(|block| block.to_string()).unwrap_or_default(),
            points.join(";"),
            number(entry.started_unix_ns),
            number(entry.elapsed_ns),
            entry.tool.clone(),
            entry.hostname.clone().unwrap_or_default(),
            entry.tags.join(";"),
        ];
        for figure in &entry.figures {
            let own = [
                figure.job.clone(),
                figure.name.clone(),
                figure.latency.clone().unwrap_or_default(),
                figure.unit.clone(),
                figure.value.to_string(),
            ];
            text += &csv_line(shared.iter().chain(&own).cloned());
        }
    }
    text
}

/// Columns of the history that say which entry it is.
const HISTORY_COLUMNS: [&str; 7] = ["time", "id", "title", "hostname", "kernel", "tags", "note"];

/// Entries as a history: a line for each entry, oldest first, and a column for each figure that all
/// of them have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The lines as CSV. `time` is in seconds since the Unix epoch. A figure of one job of several
    /// is named `JOB.FIGURE`, any other `FIGURE`.
    pub csv: String,
    /// Columns that some entries lack, which programs that look for changes refuse.
    pub left_out: Vec<String>,
    /// Entries without a start time, which have no place in a history.
    pub without_time: usize,
}

/// The history of `entries`.
pub fn history(entries: &[DatabaseEntry]) -> History {
    let mut timed: Vec<(u64, &DatabaseEntry)> =
        entries.iter().filter_map(|entry| entry.started_unix_ns.map(|started| (started, entry))).collect();
    timed.arrange_by_key(|(started, entry)| (*started, entry.id));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, entry) in &timed {
        columns(entry).for_each(|(name, _)| *counts.entry(name).or_default() += 1);
    }
    let (kept, left_out): (Vec<_>, Vec<_>) = counts.into_iter().partition(|(_, count)| *count == timed.len());
    let [kept, left_out] = [kept, left_out].map(|names| names.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
    let head = HISTORY_COLUMNS.iter().map(|name| (*name).to_owned()).chain(kept.iter().cloned());
    let mut csv = csv_line(head);
    for (started, entry) in &timed {
        let values: BTreeMap<String, f64> = columns(entry).gather();
        let mut cells = vec![
            (started / 1_000_000_000).to_string(),
            entry.id.to_string(),
            entry.title.clone(),
            entry.hostname.clone().unwrap_or_default(),
            entry.kernel.clone().unwrap_or_default(),
            entry.tags.join(";"),
            entry.note.clone(),
        ];
        cells.extend(kept.iter().filter_map(|name| values.get(name).map(f64::to_string)));
        csv += &csv_line(cells);
    }
    History { csv, left_out, without_time: entries.len() - timed.len() }
}

/// The figures of an entry by column.
fn columns(entry: &DatabaseEntry) -> impl Iterator<Item = (String, f64)> {
    let is_single = entry.figures.iter().all(|figure| figure.job == entry.figures[0].job);
    entry.figures.iter().map(move |EntryFigure { job, name, value, .. }| {
        let name = if is_single || job.is_empty() { name.clone() } else { format!("{job}.{name}") };
        (name, *value)
    })
}

/// A line of cells.
pub fn csv_line(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| quoted(&cell)).collect();
    cells.join(",") + "\r\n"
}

/// A cell; one that contains a separator is quoted.
fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\r', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

/// One line for each entry, with everything that is known of it.
pub fn json_lines(entries: &[DatabaseEntry]) -> String {
    // Plain data with string keys cannot fail to serialise.
    entries.iter().map(|entry| serde_json::to_string(entry).unwrap_or_default() + "\n").collect()
}
