//! The results of a suite: rows of figures, targets with verdicts, and what could not be measured.
//!
//! Verdicts are always computed here, never written by hand.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::spread::{Spread, digits};

/// All that one suite found.
#[derive(Debug)]
pub(super) struct Sheet {
    pub(super) suite: &'static str,
    /// What each cell of a row is.
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Row>,
    pub(super) targets: Vec<Target>,
    /// What was not measured here, and why.
    pub(super) skipped: Vec<String>,
}

/// One program in one case.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) case: String,
    pub(super) program: String,
    /// In the order of the sheet's columns; `None` where the figure does not exist.
    pub(super) cells: Vec<Option<Spread>>,
}

/// A figure that has to be reached.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) what: String,
    pub(super) bound: Bound,
    /// `None` when it could not be measured here.
    pub(super) found: Option<Spread>,
    pub(super) judge: Judge,
}

/// The part of a figure that must be on the right side of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judge {
    /// The middle.
    Middle,
    /// Both ends of an interval of confidence or of the whole range. If the limit is between them,
    /// the result is undecided.
    Ends,
    /// As `Ends`, for a ratio: one that differs from 1 by less than [`EQUAL`] at both ends is
    /// decided, too.
    EndsOfRatio,
}

/// Two sides whose ratio is between 1 / `EQUAL` and `EQUAL` are called equal: no number of rounds
/// shows which of two equal sides is better.
const EQUAL: f64 = 1.05;

/// On which side of a limit a figure has to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    fn verdict(&self) -> &'static str {
        let Some(found) = self.found else { return "not measured" };
        let within = |value: f64| match self.bound {
            Bound::AtLeast(limit) => value >= limit,
            Bound::AtMost(limit) => value <= limit,
        };
        if self.judge == Judge::Middle {
            return if within(found.median) { "reached" } else { "missed" };
        }
        let is_equal = self.judge == Judge::EndsOfRatio && found.min >= 1.0 / EQUAL && found.max <= EQUAL;
        match (within(found.min), within(found.max)) {
            (true, true) => "reached",
            _ if is_equal => "equal",
            (false, false) => "missed",
            _ => "not shown",
        }
    }
}

impl Bound {
    fn text(self) -> String {
        match self {
            Bound::AtLeast(limit) => format!("≥ {}", digits(limit)),
            Bound::AtMost(limit) => format!("≤ {}", digits(limit)),
        }
    }
}

impl Sheet {
    /// Nothing found yet.
    pub(super) fn new(suite: &'static str, columns: &[&'static str]) -> Sheet {
        let columns = columns.to_vec();
        Sheet { suite, columns, rows: Vec::new(), targets: Vec::new(), skipped: Vec::new() }
    }

    /// Whether it has figures of iolab, and each row has figures, all of them numbers.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.rows.iter().any(|row| row.program.starts_with("iolab")) {
            return Err("no row has figures of iolab".to_owned());
        }
        for row in &self.rows {
            let mut figures = row.cells.iter().flatten().peekable();
            if figures.peek().is_none() {
                return Err(format!("{}, {}: the row has no figures", row.case, row.program));
            }
            if !figures.all(|figure| figure.median.is_finite()) {
                return Err(format!("{}, {}: not every figure is a number", row.case, row.program));
            }
        }
        Ok(())
    }

    pub(super) fn row(&mut self, case: &str, program: &str, cells: Vec<Option<Spread>>) {
        assert_eq!(cells.len(), self.columns.len(), "a row of {} has a cell for each column", self.suite);
        self.rows.push(Row { case: case.to_owned(), program: program.to_owned(), cells });
    }

    pub(super) fn target(&mut self, what: impl Into<String>, bound: Bound, found: Option<Spread>) {
        self.targets.push(Target { what: what.into(), bound, found, judge: Judge::Middle });
    }

    /// A target that is reached or missed only if both ends of the result agree.
    pub(super) fn target_of_ends(&mut self, what: impl Into<String>, bound: Bound, found: Option<Spread>) {
        self.targets.push(Target { what: what.into(), bound, found, judge: Judge::Ends });
    }

    /// A ratio that should not be above 1, and may be equal to it.
    pub(super) fn target_of_ratio(&mut self, what: impl Into<String>, found: Option<Spread>) {
        let bound = Bound::AtMost(1.0);
        self.targets.push(Target { what: what.into(), bound, found, judge: Judge::EndsOfRatio });
    }

    /// Reports at once, and in every form of the sheet, what is not measured.
    pub(super) fn skip(&mut self, what: impl Into<String>) {
        let what = what.into();
        println!("SKIPPED: {}: {what}", self.suite);
        self.skipped.push(what);
    }

    /// As Markdown, which is what a terminal gets too.
    pub(super) fn markdown(&self) -> String {
        let mut text = String::from("| case | program |");
        self.columns.iter().for_each(|column| text += &format!(" {column} |"));
        let _ = writeln!(text, "\n| --- | --- |{}", " ---: |".repeat(self.columns.len()));
        for row in &self.rows {
            let _ = write!(text, "| {} | {} |", row.case, row.program);
            row.cells.iter().for_each(|cell| text += &format!(" {} |", cell_text(*cell)));
            text.push('\n');
        }
        if !self.targets.is_empty() {
            text += "\n| target | wanted | found | verdict |\n| --- | ---: | ---: | --- |\n";
        }
        for target in &self.targets {
            let (bound, found, verdict) = (target.bound.text(), cell_text(target.found), target.verdict());
            let _ = writeln!(text, "| {} | {bound} | {found} | {verdict} |", target.what);
        }
        for skipped in &self.skipped {
            let _ = write!(text, "\nNot measured: {skipped}.\n");
        }
        text
    }

    /// Everything, for other programs.
    pub(super) fn json(&self) -> Value {
        let cell = |cell: &Option<Spread>| cell.map(|it| json!({ "median": it.median, "min": it.min, "max": it.max }));
        let row = |row: &Row| {
            let figures: serde_json::Map<String, Value> =
                self.columns.iter().zip(&row.cells).map(|(name, it)| ((*name).to_owned(), json!(cell(it)))).collect();
            json!({ "case": row.case, "program": row.program, "figures": figures })
        };
        let target = |target: &Target| {
            let found = cell(&target.found);
            let (wanted, verdict) = (target.bound.text(), target.verdict());
            json!({ "target": target.what, "wanted": wanted, "found": found, "verdict": verdict })
        };
        json!({
            "suite": self.suite,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "targets": self.targets.iter().map(target).collect::<Vec<_>>(),
            "skipped": self.skipped,
        })
    }
}

/// The middle, with the ends where they show.
fn cell_text(cell: Option<Spread>) -> String {
    let Some(Spread { median, min, max }) = cell else { return "–".to_owned() };
    let (middle, low, high) = (digits(median), digits(min), digits(max));
    if low == high { middle } else { format!("{middle} ({low}–{high})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let mut sheet = Sheet::new("engines", &["IOPS", "ns"]);
        sheet.row("depth 1", "iolab", vec![Some(Spread { median: 2.0, min: 1.0, max: 3.0 }), None]);
        let found = Some(Spread { median: 1.2, min: 1.0, max: 1.4 });
        sheet.target("times fio", Bound::AtLeast(1.15), found);
        sheet.target("calls", Bound::AtMost(1.0), found);
        sheet.target("memory", Bound::AtMost(1.0), None);
        sheet.skip("the RAM disk");
        sheet
    }

    #[test]
    fn verdicts_follow_from_the_figures() {
        let verdicts: Vec<&str> = sheet().targets.iter().map(Target::verdict).collect();
        assert_eq!(verdicts, ["reached", "missed", "not measured"]);
    }

    #[test]
    fn an_interval_across_the_limit_shows_nothing() {
        let mut sheet = Sheet::new("sampling", &[]);
        for (median, min, max) in [(0.1, -0.2, 0.4), (0.1, -0.2, 0.6), (0.6, 0.4, 0.8), (0.9, 0.6, 1.1)] {
            sheet.target_of_ends("loss", Bound::AtMost(0.5), Some(Spread { median, min, max }));
        }
        sheet.target_of_ends("ratio", Bound::AtLeast(0.995), Some(Spread { median: 1.0, min: 0.9, max: 1.1 }));
        sheet.target_of_ends("nothing", Bound::AtMost(0.5), None);
        let verdicts: Vec<&str> = sheet.targets.iter().map(Target::verdict).collect();
        assert_eq!(verdicts, ["reached", "not shown", "not shown", "missed", "not shown", "not measured"]);
    }

    #[test]
    fn sides_that_hardly_differ_are_equal() {
        let mut sheet = Sheet::new("logfs", &[]);
        for (min, max) in [(0.7, 0.99), (0.97, 1.04), (1.01, 1.04), (0.94, 1.04), (0.97, 1.06), (1.06, 1.2)] {
            sheet.target_of_ratio("ratio", Some(Spread { median: 1.0, min, max }));
        }
        let verdicts: Vec<&str> = sheet.targets.iter().map(Target::verdict).collect();
        assert_eq!(verdicts, ["reached", "equal", "equal", "not shown", "not shown", "missed"]);
    }

    #[test]
    fn a_sheet_must_have_figures_of_iolab_and_numbers_in_each_row() {
        assert_eq!(sheet().check(), Ok(()));
        let with = |program: &str, cells| {
            let mut sheet = sheet();
            sheet.row("depth 32", program, cells);
            sheet.check().unwrap_err()
        };
        let not_a_number = Spread { median: f64::NAN, min: 1.0, max: 1.0 };
        assert_eq!(with("fio", vec![Some(not_a_number), None]), "depth 32, fio: not every figure is a number");
        assert_eq!(with("iolab", vec![None, None]), "depth 32, iolab: the row has no figures");
        let mut others = sheet();
        others.rows[0].program = "fio".to_owned();
        assert_eq!(others.check().unwrap_err(), "no row has figures of iolab");
    }

    #[test]
    fn both_forms_show_everything() {
        let text = sheet().markdown();
        for line in [
            "| depth 1 | iolab | 2.00 (1.00–3.00) | – |",
            "| times fio | ≥ 1.15 | 1.20 (1.00–1.40) | reached |",
            "Not measured: the RAM disk.",
        ] {
            assert!(text.contains(line), "{text}");
        }
        let json = sheet().json();
        assert_eq!(json["rows"][0]["figures"]["IOPS"]["median"], 2.0);
        assert!(json["rows"][0]["figures"]["ns"].is_null());
        assert_eq!(json["targets"][1]["verdict"], "missed");
    }
}
