//! Columns by name, and their text in `iolab explain` and on the reference page.

use std::fmt::Write;

use crate::columns::DeviceColumn;
use crate::{EXTENDED, PLAIN, SHORT};

/// The column with this name, in either unit, or alias, ignoring case.
pub fn find(word: &str) -> Option<&'static DeviceColumn> {
    let same = |name: &&str| !name.is_empty() && name.eq_ignore_ascii_case(word);
    let has = |column: &&DeviceColumn| [column.name, column.mega].iter().chain(column.aliases).any(same);
    EXTENDED.iter().chain(PLAIN).chain(SHORT).find(has)
}

/// The column's explanation for a terminal.
pub fn text(column: &DeviceColumn) -> String {
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
