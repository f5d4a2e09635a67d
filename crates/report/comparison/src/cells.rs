//! The cells of a comparison's table, as every form of text shows them.

use iolab_statistics::{DecisionRules, Interval, Magnitude};
use iolab_study::{shown, word, would_decide};

use crate::row::{Basis, ComparisonRow};

/// A table.
pub(crate) struct Grid {
    /// The head, then a line for each row.
    pub(crate) lines: Vec<Vec<String>>,
    /// Indices of the columns that hold numbers.
    pub(crate) numbers: Vec<usize>,
}

/// The rows as cells of a table, its head first.
pub(crate) fn grid(rows: &[ComparisonRow], rules: &DecisionRules) -> Grid {
    let axes: Vec<&String> =
        rows.first().map(|row| row.points.iter().map(|(axis, _)| axis).collect()).unwrap_or_default();
    let is_uniform = rows.iter().all(|row| row.points.iter().map(|(axis, _)| axis).eq(axes.iter().copied()));
    let is_named = |row: &ComparisonRow| row.job.as_deref() != Some("");
    let has_jobs = rows.iter().any(|row| row.job != rows[0].job) || (axes.is_empty() && rows.iter().any(is_named));
    let mut lines = Vec::new();
    let mut head: Vec<String> = vec!["figure".to_owned()];
    match is_uniform {
        true => head.extend(axes.iter().map(|axis| (*axis).clone())),
        false => head.push("configuration".to_owned()),
    }
    if has_jobs {
        head.push("job".to_owned());
    }
    let names = head.len();
    head.extend(["baseline", "candidate", "change", "interval", "size", "verdict"].map(str::to_owned));
    lines.push(head);
    for row in rows {
        let mut line = vec![row.figure.clone()];
        match is_uniform {
            true => line.extend(row.points.iter().map(|(_, point)| point.clone())),
            false => line.push(crate::pairing::name(&row.points, Some(""))),
        }
        if has_jobs {
            line.push(
                row.job.clone().map_or("all jobs".to_owned(), |job| if job.is_empty() { "-".to_owned() } else { job }),
            );
        }
        line.extend(cells(row, rules));
        lines.push(line);
    }
    Grid { lines, numbers: (names..names + 4).collect() }
}

fn cells(row: &ComparisonRow, rules: &DecisionRules) -> [String; 6] {
    let median = |value: Option<f64>, of: &[f64]| match value {
        None => "-".to_owned(),
        Some(value) if of.len() == 1 => shown(&row.of, value),
        Some(value) => format!("{} ({})", shown(&row.of, value), of.len()),
    };
    let effect = row.effect.map_or("-", Magnitude::word);
    [
        median(row.baseline_median, &row.baseline),
        median(row.candidate_median, &row.candidate),
        row.ratio.map_or("-".to_owned(), |ratio| change(ratio.estimate)),
        row.ratio.filter(|_| row.basis != Basis::Nothing).map_or("-".to_owned(), |ratio| limits(&ratio)),
        effect.to_owned(),
        verdict(row, rules),
    ]
}

/// A ratio as a change in percent.
pub(crate) fn change(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// The limits, with their confidence where it is lower than requested.
pub(crate) fn limits(ratio: &Interval) -> String {
    let worth = if ratio.confidence < 0.945 { format!(" ({:.0} %)", ratio.confidence * 100.0) } else { String::new() };
    format!("[{}, {}]{worth}", change(ratio.low), change(ratio.high))
}

fn verdict(row: &ComparisonRow, rules: &DecisionRules) -> String {
    let Some(comparison) = &row.comparison else {
        return row.remark.clone().unwrap_or_else(|| "-".to_owned());
    };
    let word = word(&row.of, comparison.verdict);
    would_decide(comparison, rules).map_or(word.to_owned(), |decide| format!("{word} ({decide})"))
}

/// A list shortened to fit on a line.
pub(crate) fn few(values: &[String]) -> String {
    const MOST: usize = 4;
    match values {
        [] => "none".to_owned(),
        values if values.len() > MOST => format!("{}, … ({} values)", values[..MOST].join(", "), values.len()),
        values => values.join(", "),
    }
}
