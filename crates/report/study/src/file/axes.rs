//! The `[[axis]]` tables of a study file, and its `[device]` table.

use std::collections::BTreeMap;

use iolab_text::counted;
use serde::Deserialize;
use toml::Spanned;

use super::{Scalar, placed, settings};
use crate::axis::expand;
use crate::{Axis, DeviceForm, JobSetting, Point, StudyError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AxisTable {
    name: Option<String>,
    option: Option<String>,
    options: Option<Vec<String>>,
    values: Option<Values>,
    #[serde(default)]
    point: Vec<PointTable>,
    #[serde(default)]
    given: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PointTable {
    name: String,
    set: BTreeMap<String, Scalar>,
    #[serde(default)]
    about: String,
    #[serde(default)]
    needs: String,
    #[serde(default)]
    later: bool,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a range such as \"1k..1M x2\", a list of values, or a list of lists for several options"
)]
pub(super) enum Values {
    Range(String),
    List(Vec<Scalar>),
    Rows(Vec<Vec<Scalar>>),
}

/// Converts a table to an axis.
pub(super) fn axis(table: &AxisTable) -> Result<Axis, StudyError> {
    let (options, points) = match (&table.option, &table.options, &table.values) {
        (Some(option), None, Some(Values::Range(range))) => (vec![option.clone()], single(option, expand(range)?)),
        (Some(option), None, Some(Values::List(list))) => {
            let values: Result<Vec<Vec<String>>, StudyError> = list.iter().map(|value| expand(&value.text())).collect();
            (vec![option.clone()], single(option, values?.concat()))
        }
        (None, Some(options), Some(Values::Rows(rows))) => (options.clone(), zipped(options, rows)?),
        (None, None, None) if !table.point.is_empty() => (Vec::new(), named(&table.point)),
        _ => {
            return Err(StudyError::meaning(
                "an axis needs option = \"bs\" with values, options = [\"bs\", \"iodepth\"] with a list of lists, or \
                [[axis.point]] tables with name and set",
            ));
        }
    };
    if !table.point.is_empty() && !options.is_empty() {
        return Err(StudyError::meaning("an axis takes values or points, not both"));
    }
    let name = match &table.name {
        Some(name) => name.clone(),
        None if options.is_empty() => return Err(StudyError::meaning("an axis with points needs a name")),
        None => options.join("/"),
    };
    let axis = Axis { name, points, given: table.given };
    let is_twice = |(place, point): (usize, &Point)| axis.points[..place].iter().any(|other| other.name == point.name);
    match axis.points.iter().enumerate().find(|entry| is_twice(*entry)) {
        Some((_, point)) => {
            Err(StudyError::meaning(format!("axis '{}' has the point '{}' twice", axis.name, point.name)))
        }
        None if axis.points.is_empty() => Err(StudyError::meaning(format!("axis '{}' has no values", axis.name))),
        None => Ok(axis),
    }
}

fn single(option: &str, values: Vec<String>) -> Vec<Point> {
    let point = |value: String| {
        let settings = vec![JobSetting { option: option.to_owned(), value: value.clone() }];
        Point { name: value, settings, about: String::new(), needs: String::new(), later: false }
    };
    values.into_iter().map(point).collect()
}

fn zipped(options: &[String], rows: &[Vec<Scalar>]) -> Result<Vec<Point>, StudyError> {
    let point = |row: &Vec<Scalar>| {
        if row.len() != options.len() {
            let message = format!(
                "a row of {} for {}",
                counted(row.len() as u64, "value"),
                counted(options.len() as u64, "option")
            );
            return Err(StudyError::meaning(message));
        }
        let values: Vec<String> = row.iter().map(Scalar::text).collect();
        let pairs = options.iter().zip(&values);
        let settings =
            pairs.map(|(option, value)| JobSetting { option: option.clone(), value: value.clone() }).collect();
        Ok(Point { name: values.join("/"), settings, about: String::new(), needs: String::new(), later: false })
    };
    rows.iter().map(point).collect()
}

fn named(points: &[PointTable]) -> Vec<Point> {
    let point = |point: &PointTable| Point {
        name: point.name.clone(),
        settings: settings(&point.set),
        about: point.about.trim().to_owned(),
        needs: point.needs.trim().to_owned(),
        later: point.later,
    };
    points.iter().map(point).collect()
}

/// The `[device]` table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceTable {
    question: Option<String>,
    #[serde(default)]
    settings: BTreeMap<String, Scalar>,
    #[serde(default)]
    axis: Vec<Spanned<AxisTable>>,
}

impl DeviceTable {
    /// The form, as far as it can be checked without a device.
    pub(super) fn read(&self, text: &str) -> Result<DeviceForm, StudyError> {
        let axes: Result<Vec<Axis>, StudyError> =
            self.axis.iter().map(|table| placed(text, table, axis(table.get_ref()))).collect();
        Ok(DeviceForm { question: self.question.clone(), settings: settings(&self.settings), axes: axes? })
    }
}
