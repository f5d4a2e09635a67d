//! The comparison as text, Markdown and JSON.

use serde_json::{Value, json};

use super::side::FIGURES;
use super::verdict::{Comparison, Verdict};
use crate::spread::Spread;

/// One line: one direction of one case.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    /// In the order of `FIGURES`.
    pub(super) figures: Vec<Comparison>,
}

/// All cases on one area.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) area: String,
    pub(super) rows: Vec<Row>,
}

/// Lines for a terminal.
pub(super) fn text_line(row: &Row) -> String {
    let mut line = format!("{:<38}", row.name);
    for (figure, name) in row.figures.iter().zip(FIGURES) {
        let Comparison { fio, iolab, ratio, verdict } = figure;
        let mark = mark(*verdict);
        line += &format!(" | {name} {}/{} x{:.3}{mark}", digits(fio.median), digits(iolab.median), ratio.median);
    }
    line
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "",
        Verdict::Higher => " ▲",
        Verdict::Lower => " ▼",
    }
}

/// A Markdown table with a line for each case and, in each cell, `fio / iolab` and the ratio with
/// its range.
pub(super) fn markdown(table: &Table) -> String {
    let mut text = format!("### On {}\n\n| job |", table.area);
    for name in FIGURES {
        text += &format!(" {name}: fio / iolab | ratio |");
    }
    text += &format!("\n| --- |{}\n", " ---: | ---: |".repeat(FIGURES.len()));
    for row in &table.rows {
        text += &format!("| {} |", row.name);
        for Comparison { fio, iolab, ratio, verdict } in &row.figures {
            let range = format!("{:.2} ({:.2}–{:.2})", ratio.median, ratio.min, ratio.max);
            let ratio = if *verdict == Verdict::Same { range } else { format!("**{range}**{}", mark(*verdict)) };
            text += &format!(" {} / {} | {ratio} |", digits(fio.median), digits(iolab.median));
        }
        text.push('\n');
    }
    text + &summary(table)
}

/// How many figures are the same.
pub(super) fn summary(table: &Table) -> String {
    let mut text = format!("\nOf {} lines,", table.rows.len());
    for (index, name) in FIGURES.iter().enumerate() {
        let count = |verdict| table.rows.iter().filter(|row| row.figures[index].verdict == verdict).count();
        let (same, higher, lower) = (count(Verdict::Same), count(Verdict::Higher), count(Verdict::Lower));
        let end = if index + 1 == FIGURES.len() { '.' } else { ';' };
        text += &format!(" {name}: {same} the same, {higher} higher, {lower} lower{end}");
    }
    text.push('\n');
    text
}

/// Everything, for other programs.
pub(super) fn json(tables: &[Table]) -> Value {
    let spread = |spread: &Spread| json!({ "median": spread.median, "min": spread.min, "max": spread.max });
    let row = |row: &Row| {
        let figures: serde_json::Map<String, Value> = FIGURES
            .iter()
            .zip(&row.figures)
            .map(|(name, figure)| {
                let Comparison { fio, iolab, ratio, verdict } = figure;
                let value = json!({
                    "fio": spread(fio), "iolab": spread(iolab), "ratio": spread(ratio), "verdict": verdict.word(),
                });
                ((*name).to_owned(), value)
            })
            .collect();
        json!({ "job": row.name, "figures": figures })
    };
    let table = |table: &Table| json!({ "area": table.area, "rows": table.rows.iter().map(row).collect::<Vec<_>>() });
    Value::Array(tables.iter().map(table).collect())
}

/// Three significant digits or all before the point.
fn digits(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::compare;
    use super::*;

    fn table() -> Table {
        let same = || compare(&[100.0, 101.0, 99.0], &[100.0, 99.0, 102.0]);
        let higher = compare(&[100.0, 100.0, 100.0], &[150.0, 160.0, 155.0]);
        let figures = vec![same(), same(), higher, same(), same()];
        Table { area: "a file".to_owned(), rows: vec![Row { name: "psync".to_owned(), figures }] }
    }

    #[test]
    fn every_form_shows_the_verdict() {
        let table = table();
        assert!(text_line(&table.rows[0]).contains("lat mean µs 100/155 x1.550 ▲"));
        let markdown = markdown(&table);
        assert!(markdown.contains("| 100 / 155 | **1.55 (1.50–1.60)** ▲ |"), "{markdown}");
        assert!(markdown.contains("lat mean µs: 0 the same, 1 higher, 0 lower"), "{markdown}");
        let columns: Vec<usize> =
            markdown.lines().filter(|line| line.starts_with('|')).map(|line| line.matches('|').count()).collect();
        assert_eq!(columns, [12, 12, 12]);
        let json = json(std::slice::from_ref(&table));
        assert_eq!(json[0]["rows"][0]["figures"]["lat mean µs"]["verdict"], "higher");
        assert_eq!(json[0]["rows"][0]["figures"]["IOPS"]["verdict"], "same");
    }
}
