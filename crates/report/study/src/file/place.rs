//! Where a study file sets an option to a value, so that a message about the value names its line.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::Scalar;
use crate::Place;

#[derive(Deserialize)]
struct Places {
    #[serde(default)]
    settings: Settings,
    #[serde(default)]
    axis: Vec<AxisPlaces>,
    #[serde(default)]
    quick: QuickPlaces,
}

#[derive(Default, Deserialize)]
struct QuickPlaces {
    #[serde(default)]
    settings: Settings,
}

#[derive(Deserialize)]
struct AxisPlaces {
    option: Option<Spanned<String>>,
    #[serde(default)]
    options: Vec<Spanned<String>>,
    values: Option<Spanned<ValuePlaces>>,
    #[serde(default)]
    point: Vec<PointPlaces>,
}

#[derive(Deserialize)]
struct PointPlaces {
    set: Settings,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ValuePlaces {
    Rows(Vec<Vec<Spanned<Scalar>>>),
    List(Vec<Spanned<Scalar>>),
    Range(String),
}

type Settings = BTreeMap<Spanned<String>, Spanned<Scalar>>;

/// The place of `option`'s `value` in the text of a study file: of the value itself where it is
/// written out, of the range that it comes from, or, with `at_option`, of the option's name. `None`
/// when the study does not set it.
pub fn place_of(text: &str, option: &str, value: &str, at_option: bool) -> Option<Place> {
    let places: Places = toml::from_str(text).ok()?;
    let points = places.axis.iter().flat_map(|axis| axis.point.iter().map(|point| &point.set));
    let tables = [&places.quick.settings, &places.settings].into_iter().chain(points);
    let mut found: Vec<usize> = tables.filter_map(|table| in_table(table, option, value, at_option)).collect();
    found.extend(places.axis.iter().filter_map(|axis| in_axis(axis, option, value, at_option)));
    found.first().map(|at| Place::of(text, *at))
}

fn in_table(table: &Settings, option: &str, value: &str, at_option: bool) -> Option<usize> {
    let (name, set) = table.iter().find(|(name, set)| name.get_ref() == option && set.get_ref().text() == value)?;
    Some(if at_option { name.span().start } else { set.span().start })
}

fn in_axis(axis: &AxisPlaces, option: &str, value: &str, at_option: bool) -> Option<usize> {
    let names = axis.option.iter().chain(&axis.options);
    let (column, name) = names.enumerate().find(|(_, name)| name.get_ref() == option)?;
    let values = axis.values.as_ref()?;
    if at_option {
        return Some(name.span().start);
    }
    let is_it = |one: &&Spanned<Scalar>| one.get_ref().text() == value;
    let exact = match values.get_ref() {
        ValuePlaces::List(list) => list.iter().find(is_it),
        ValuePlaces::Rows(rows) => rows.iter().filter_map(|row| row.get(column)).find(is_it),
        ValuePlaces::Range(_) => None,
    };
    Some(exact.map_or(values.span().start, |one| one.span().start))
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
            ("bs", "8kx", false, (6, 18)),
            ("bs", "8kx", true, (5, 10)),
            ("ioengine", "uring", false, (9, 25)),
            ("iodepth", "1", false, (9, 21)),
            ("direct", "1", false, (3, 10)),
            ("direct", "1", true, (3, 1)),
            ("size", "64k", false, (12, 10)),
            ("buffered", "2", false, (17, 20)),
        ];
        for (option, value, at_option, (line, column)) in cases {
            let place = place_of(STUDY, option, value, at_option);
            assert_eq!(place, Some(Place { line, column }), "{option}={value}");
        }
        assert_eq!(place_of(STUDY, "rw", "read", false), None);
    }
}
