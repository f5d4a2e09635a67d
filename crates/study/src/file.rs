//! Study files: TOML to a [`Study`].
//!
//! Every key is known or refused with its place. Values of options are written as text, numbers or truth values and mean what they mean in a job file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::axis::expand;
use crate::{Axis, Figure, Measure, Place, Point, Reported, Setting, Side, StudyError};

/// A study, as its author means it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// What it is about, in a line.
    pub title: String,
    /// The question it asks or the conclusion it tests, in a few sentences; may be empty.
    pub question: String,
    /// The job that every trial runs.
    pub job: JobSource,
    /// How often each configuration is tried.
    pub blocks: u32,
    /// From which the order follows.
    pub seed: u64,
    /// Options of every trial.
    pub settings: Vec<Setting>,
    /// What is varied.
    pub axes: Vec<Axis>,
    /// Combinations that are left out: each names points of some axes.
    pub excluded: Vec<BTreeMap<String, String>>,
    /// The axis along which configurations are compared, and the point the others are held against.
    pub baseline: Option<(String, String)>,
    /// What is compared, the most important first.
    pub figures: Vec<Figure>,
    /// Shell command before the first trial of every start of the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_all: Option<String>,
    /// Shell command after its last, however it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_all: Option<String>,
    /// Shell command before each trial.
    pub set_up: Option<String>,
    /// Shell command after each trial, however it ended.
    pub tear_down: Option<String>,
    /// What is different in its quick form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<Quick>,
}

/// A shorter form of a study, to see whether it works and roughly what it says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quick {
    /// Trials of each configuration.
    pub blocks: Option<u32>,
    /// Settings of every trial, instead of those of the same option.
    pub settings: Vec<Setting>,
}

impl Study {
    /// The study in its quick form: fewer blocks, other settings.
    ///
    /// # Errors
    /// It has no quick form.
    pub fn quickened(mut self) -> Result<Study, StudyError> {
        let quick = self.quick.take().ok_or_else(|| {
            StudyError::meaning("this study has no quick form: give it a [quick] table with blocks and settings")
        })?;
        self.blocks = quick.blocks.unwrap_or(self.blocks);
        self.settings.retain(|setting| quick.settings.iter().all(|own| own.option != setting.option));
        self.settings.extend(quick.settings);
        Ok(self)
    }
}

/// Where the job comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobSource {
    /// A job file, relative to the study file.
    File(String),
    /// Its text.
    Text(String),
    /// Not a job but a shell command, with `{option}` where settings stand, which prints JSON.
    Command(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    #[serde(default)]
    question: String,
    job: Option<String>,
    job_text: Option<String>,
    command: Option<String>,
    #[serde(default)]
    value: Vec<Reported>,
    blocks: Option<u32>,
    seed: Option<u64>,
    #[serde(default)]
    settings: BTreeMap<String, Scalar>,
    #[serde(default)]
    axis: Vec<Spanned<AxisTable>>,
    #[serde(default)]
    exclude: Vec<BTreeMap<String, Scalar>>,
    baseline: Option<BTreeMap<String, Scalar>>,
    figures: Option<Vec<Spanned<String>>>,
    before_all: Option<String>,
    after_all: Option<String>,
    set_up: Option<String>,
    tear_down: Option<String>,
    quick: Option<QuickTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuickTable {
    blocks: Option<u32>,
    #[serde(default)]
    settings: BTreeMap<String, Scalar>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AxisTable {
    name: Option<String>,
    option: Option<String>,
    options: Option<Vec<String>>,
    values: Option<Values>,
    #[serde(default)]
    point: Vec<PointTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PointTable {
    name: String,
    set: BTreeMap<String, Scalar>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a range such as \"1k..1M x2\", a list of values, or a list of lists for several options"
)]
enum Values {
    Range(String),
    List(Vec<Scalar>),
    Rows(Vec<Vec<Scalar>>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a text, a number, or true or false")]
enum Scalar {
    Text(String),
    Whole(i64),
    Fraction(f64),
    Truth(bool),
}

impl Scalar {
    fn text(&self) -> String {
        match self {
            Scalar::Text(text) => text.clone(),
            Scalar::Whole(number) => number.to_string(),
            Scalar::Fraction(number) => number.to_string(),
            Scalar::Truth(truth) => u8::from(*truth).to_string(),
        }
    }
}

fn settings(table: &BTreeMap<String, Scalar>) -> Vec<Setting> {
    table.iter().map(|(option, value)| Setting { option: option.clone(), value: value.text() }).collect()
}

/// Reads a study file.
///
/// # Errors
/// The first thing that is wrong, with its place where it has one.
pub fn read(text: &str) -> Result<Study, StudyError> {
    let file: File = toml::from_str(text).map_err(|error| StudyError::Shape {
        place: Place::of(text, error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })?;
    let shape = |at: usize, error: StudyError| match error {
        StudyError::Meaning(message) => StudyError::Shape { place: Place::of(text, at), message },
        placed => placed,
    };
    let job = match (file.job, file.job_text, file.command) {
        (Some(path), None, None) => JobSource::File(path),
        (None, Some(text), None) => JobSource::Text(text),
        (None, None, Some(command)) => JobSource::Command(command),
        _ => {
            return Err(StudyError::meaning(
                "a study has job = \"FILE\", or job_text = \"\"\"…\"\"\", or command = \"…\" with [[value]] tables",
            ));
        }
    };
    if matches!(job, JobSource::Command(_)) == file.value.is_empty() {
        return Err(StudyError::meaning(
            "[[value]] tables say which numbers the command of a study prints: a command needs them, a job has none",
        ));
    }
    let axes: Result<Vec<Axis>, StudyError> =
        file.axis.iter().map(|table| axis(table.get_ref()).map_err(|error| shape(table.span().start, error))).collect();
    let reported = |value: &Reported| Figure { side: Side::All, measure: Measure::Reported(value.clone()) };
    let figures: Result<Vec<Figure>, StudyError> = match &file.figures {
        _ if !file.value.is_empty() => Ok(file.value.iter().map(reported).collect()),
        None => Ok(Figure::usual()),
        Some(names) => names
            .iter()
            .map(|name| Figure::from_name(name.get_ref()).map_err(|error| shape(name.span().start, error)))
            .collect(),
    };
    let baseline = match file.baseline.iter().flatten().collect::<Vec<_>>()[..] {
        [] => None,
        [(axis, point)] => Some((axis.clone(), point.text())),
        _ => {
            return Err(StudyError::meaning(
                "baseline names one point of one axis, as in baseline = { ioengine = \"psync\" }",
            ));
        }
    };
    let blocks = file.blocks.unwrap_or(7);
    if blocks == 0 || file.quick.as_ref().is_some_and(|quick| quick.blocks == Some(0)) {
        return Err(StudyError::meaning("blocks = 0: a study has one block at least, and seven unless told"));
    }
    let excluded =
        file.exclude.iter().map(|row| row.iter().map(|(axis, point)| (axis.clone(), point.text())).collect());
    Ok(Study {
        title: file.title,
        question: file.question,
        job,
        blocks,
        seed: file.seed.unwrap_or(1),
        settings: settings(&file.settings),
        axes: axes?,
        excluded: excluded.collect(),
        baseline,
        figures: figures?,
        before_all: file.before_all,
        after_all: file.after_all,
        set_up: file.set_up,
        tear_down: file.tear_down,
        quick: file.quick.map(|quick| Quick { blocks: quick.blocks, settings: settings(&quick.settings) }),
    })
}

fn axis(table: &AxisTable) -> Result<Axis, StudyError> {
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
                "an axis has option = \"bs\" with values, options = [\"bs\", \"iodepth\"] with a list of lists, or [[axis.point]] tables with name and set",
            ));
        }
    };
    if !table.point.is_empty() && !options.is_empty() {
        return Err(StudyError::meaning("an axis has values or points, not both"));
    }
    let name = match &table.name {
        Some(name) => name.clone(),
        None if options.is_empty() => return Err(StudyError::meaning("an axis made of points needs a name")),
        None => options.join("/"),
    };
    let axis = Axis { name, points };
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
        let settings = vec![Setting { option: option.to_owned(), value: value.clone() }];
        Point { name: value, settings }
    };
    values.into_iter().map(point).collect()
}

fn zipped(options: &[String], rows: &[Vec<Scalar>]) -> Result<Vec<Point>, StudyError> {
    let point = |row: &Vec<Scalar>| {
        if row.len() != options.len() {
            let message = format!("a row of {} values for {} options", row.len(), options.len());
            return Err(StudyError::meaning(message));
        }
        let values: Vec<String> = row.iter().map(Scalar::text).collect();
        let pairs = options.iter().zip(&values);
        let settings = pairs.map(|(option, value)| Setting { option: option.clone(), value: value.clone() }).collect();
        Ok(Point { name: values.join("/"), settings })
    };
    rows.iter().map(point).collect()
}

fn named(points: &[PointTable]) -> Vec<Point> {
    points.iter().map(|point| Point { name: point.name.clone(), settings: settings(&point.set) }).collect()
}
