//! Entries for other programs: a line for each figure (CSV, RFC 4180) or for each entry (JSON
//! lines).

use crate::DatabaseEntry;

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
            let cells: Vec<String> = shared.iter().chain(&own).map(|cell| quoted(cell)).collect();
            text += &(cells.join(",") + "\r\n");
        }
    }
    text
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
