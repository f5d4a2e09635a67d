//! What a column is: value, width, and what it teaches; how to find one, and the page of all.

use std::fmt::Write;

use crate::{Activity, EXTENDED, PLAIN, SHORT};

/// In what amounts of data are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// 1024 bytes (`-k`).
    #[default]
    Kilobytes,
    /// 1024 × 1024 bytes (`-m`).
    Megabytes,
}

impl Unit {
    /// Sectors of 512 bytes in this unit.
    pub(crate) fn of_sectors(self, sectors: f64) -> f64 {
        sectors / self.sectors() as f64
    }

    pub(crate) fn sectors(self) -> u64 {
        match self {
            Unit::Kilobytes => 2,
            Unit::Megabytes => 2048,
        }
    }
}

/// What kind of figure a column shows; sizes and shares are written differently for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// A rate, a time, a length of a queue.
    Number,
    /// An amount of data.
    Amount,
    /// Percent.
    Share,
}

/// One column.
pub struct Column {
    /// Its name, in kilobytes where there is a choice.
    pub name: &'static str,
    /// Its name in megabytes; empty where there is no choice.
    pub mega: &'static str,
    /// Its key in iostat's JSON; empty: the name.
    pub key: &'static str,
    /// Other spellings.
    pub aliases: &'static [&'static str],
    /// Least characters of its values.
    pub width: usize,
    /// What kind of figure it is.
    pub figure: Figure,
    /// The figure.
    pub value: fn(&Activity, Unit) -> f64,
    /// What it is, with its unit.
    pub meaning: &'static str,
    /// From counters to figure.
    pub formula: &'static str,
    /// Which fields of `/sys/block/*/stat` it comes from.
    pub source: &'static str,
    /// What it does not say.
    pub misleads: &'static str,
}

impl Column {
    /// Its name in this unit.
    pub fn name_in(&self, unit: Unit) -> &'static str {
        if unit == Unit::Megabytes && !self.mega.is_empty() { self.mega } else { self.name }
    }

    /// Its key in JSON in this unit.
    pub(crate) fn key_in(&self, unit: Unit) -> &'static str {
        if self.key.is_empty() { self.name_in(unit) } else { self.key }
    }
}

/// The column of this name, in either unit, or alias; upper and lower case alike.
pub fn find(word: &str) -> Option<&'static Column> {
    let same = |name: &&str| !name.is_empty() && name.eq_ignore_ascii_case(word);
    let has = |column: &&Column| [column.name, column.mega].iter().chain(column.aliases).any(same);
    EXTENDED.iter().chain(PLAIN).chain(SHORT).find(has)
}

/// The column's explanation for a terminal.
pub fn text(column: &Column) -> String {
    let name =
        if column.mega.is_empty() { column.name.to_owned() } else { format!("{}, {}", column.name, column.mega) };
    format!(
        "{name} (block device, as iostat)\n  {}\n  formula:  {}\n  source:   /sys/block/DEVICE/{}\n  misleads: {}\n",
        column.meaning, column.formula, column.source, column.misleads
    )
}

/// The columns as a page of Markdown.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Columns of block devices\n\nGenerated from the table in the crate of these columns; do not edit. Names and numbers are \
         those of `iostat`(1) of sysstat; fields are those of `/sys/block/DEVICE/stat`.\n\n",
    );
    page += "| column | what it is | formula | source | how it misleads |\n| --- | --- | --- | --- | --- |\n";
    for column in EXTENDED.iter().chain(PLAIN).chain(SHORT) {
        let mega = if column.mega.is_empty() { String::new() } else { format!(", {}", column.mega) };
        let (name, meaning, formula) = (column.name, column.meaning, column.formula);
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| {name}{mega} | {meaning} | {formula} | {} | {} |", column.source, column.misleads);
    }
    page
}
