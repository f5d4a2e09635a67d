//! Finds where a study file sets an option to a value, so that a message about the value names its
//! line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::TextPlace;

/// The place of `option`'s `value` in the text of a study file: of the value itself if it is
/// written out, of the range that it comes from, or, with `at_option`, of the option's name. `None`
/// when the study does not set it.
pub fn place_of(text: &str, option: &str, value: &str, at_option: bool) -> Option<TextPlace> {
    let file = DeTable::parse(text).ok()?;
    let file = file.get_ref();
    let quick = table_of(file, "quick").and_then(|quick| table_of(quick, "settings"));
    let axes: Vec<&DeTable<'_>> = list_of(file, "axis").filter_map(|axis| table(axis.get_ref())).collect();
    let points = axes.iter().flat_map(|axis| list_of(axis, "point"));
    let sets = points.filter_map(|point| table_of(table(point.get_ref())?, "set"));
    let mut tables = quick.into_iter().chain(table_of(file, "settings")).chain(sets);
    let at = tables
        .find_map(|table| in_table(table, option, value, at_option))
        .or_else(|| axes.iter().find_map(|axis| in_axis(axis, option, value, at_option)))?;
    Some(TextPlace::of(text, at))
}

fn in_table(table: &DeTable<'_>, option: &str, value: &str, at_option: bool) -> Option<usize> {
    let (name, set) = table.iter().find(|(name, set)| *name.get_ref() == option && is_text(set, value))?;
    Some(if at_option { name.span().start } else { set.span().start })
}

fn in_axis(axis: &DeTable<'_>, option: &str, value: &str, at_option: bool) -> Option<usize> {
    let names = field(axis, "option").into_iter().chain(list_of(axis, "options"));
    let (column, name) = names.enumerate().find(|(_, name)| is_text(name, option))?;
    let values = field(axis, "values")?;
    if at_option {
        return Some(name.span().start);
    }
    let rows = list_of(axis, "values").filter_map(|row| match row.get_ref() {
        DeValue::Array(row) => row.get(column),
        _ => Some(row),
    });
    let exact = rows.into_iter().find(|one| is_text(one, value));
    Some(exact.unwrap_or(values).span().start)
}

fn field<'t, 'i>(table: &'t DeTable<'i>, name: &str) -> Option<&'t Spanned<DeValue<'i>>> {
    table.iter().find(|(key, _)| *key.get_ref() == name).map(|(_, value)| value)
}

fn table<'t, 'i>(value: &'t DeValue<'i>) -> Option<&'t DeTable<'i>> {
    match value {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn table_of<'t, 'i>(parent: &'t DeTable<'i>, name: &str) -> Option<&'t DeTable<'i>> {
    table(field(parent, name)?.get_ref())
}

fn list_of<'t, 'i>(table: &'t DeTable<'i>, name: &str) -> impl Iterator<Item = &'t Spanned<DeValue<'i>>> {
    let list = match field(table, name).map(Spanned::get_ref) {
        Some(DeValue::Array(list)) => Some(list),
        _ => None,
    };
    list.into_iter().flat_map(|list| list.iter())
}

/// Whether a value means `text` in a job file.
fn is_text(value: &Spanned<DeValue<'_>>, text: &str) -> bool {
    match value.get_ref() {
        DeValue::String(word) => *word == text,
        DeValue::Integer(number) => number.as_str() == text,
        DeValue::Float(number) => number.as_str() == text,
        DeValue::Boolean(truth) => text == if *truth { "1" } else { "0" },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"title = "t"
[settings]
direct = 1
[[axis]]
option = "bs"
values = ["4k", "8kx"]
[[axis]]
options = ["ioengine", "iodepth"]
values = [["psync", 1], ["uring", 16]]
[[axis]]
option = "size"
values = "1k..1M x2"
[[axis]]
name = "cache"
[[axis.point]]
name = "none"
set = { buffered = 2 }
"#;

    #[test]
    fn every_way_of_setting_an_option_has_its_line() {
        let cases = [
            ("bs", "8kx", false, (6, 17)),
            ("bs", "8kx", true, (5, 10)),
            ("ioengine", "uring", false, (9, 26)),
            ("iodepth", "1", false, (9, 21)),
            ("direct", "1", false, (3, 10)),
            ("direct", "1", true, (3, 1)),
            ("size", "64k", false, (12, 10)),
            ("buffered", "2", false, (17, 20)),
        ];
        for (option, value, at_option, (line, column)) in cases {
            let place = place_of(STUDY, option, value, at_option);
            assert_eq!(place, Some(TextPlace { line, column }), "{option}={value}");
        }
        assert_eq!(place_of(STUDY, "rw", "read", false), None);
    }
}
