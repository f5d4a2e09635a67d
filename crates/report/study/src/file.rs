//! Study files: parses TOML into a [`Study`].
//!
//! Unknown keys are refused with their place. Values of options are written as text, numbers or
//! booleans and mean what they mean in a job file.

mod axes;
mod place;
mod procedure;

use std::collections::BTreeMap;

use axes::{AxisTable, DeviceTable, Values, axis};
use procedure::{Blocks, LadderTable, PreconditionKey};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::job_text::JobSource;
use crate::{
    Axis, DeviceForm, Figure, FigureDirection, JobSetting, Ladder, Measure, Preconditioning, Reported, ServedDevice,
    StudyError, StudyHosts, TextPlace, profile,
};

pub use place::place_of;

/// A study as described by its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Its subject, in a line.
    pub title: String,
    /// The question it asks or the conclusion it tests, in a few sentences; may be empty.
    pub question: String,
    /// The job that every trial runs.
    pub job: JobSource,
    /// The number of trials of each configuration; with `auto_blocks`, the maximum.
    pub blocks: u32,
    /// When fewer blocks are enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_blocks: Option<AutoBlocks>,
    /// Determines the order of trials.
    pub seed: u64,
    /// Options of every trial.
    pub settings: Vec<JobSetting>,
    /// The varied settings.
    pub axes: Vec<Axis>,
    /// Combinations to leave out: each names points of some axes.
    pub excluded: Vec<BTreeMap<String, String>>,
    /// The axis along which configurations are compared, and the point that the others are compared
    /// with.
    pub baseline: Option<(String, String)>,
    /// The figures to compare, the most important first.
    pub figures: Vec<Figure>,
    /// Shell command run each time the study starts, before the first trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_all: Option<String>,
    /// Shell command run after the last trial of a start, however it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_all: Option<String>,
    /// Shell command before each trial.
    pub set_up: Option<String>,
    /// Shell command after each trial, however it ended.
    pub tear_down: Option<String>,
    /// The profile that it is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Preconditioning of the storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<Preconditioning>,
    /// Whether the warm-up of each trial is left out (`steady = "auto"`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trims_warm_up: bool,
    /// The rate ladder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Ladder>,
    /// Differences of its quick form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<Quick>,
    /// Whether the storage itself is varied, by options that do not name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub varies_storage: bool,
    /// Differences when a device is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_form: Option<DeviceForm>,
    /// The device that was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<ServedDevice>,
    /// The hosts that every trial runs on; without them, this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<StudyHosts>,
    /// What was left out because this machine does not have it, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// A shorter form of a study, to check that it works and what it roughly shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quick {
    /// Trials of each configuration.
    pub blocks: Option<u32>,
    /// Settings of every trial that replace those of the same option.
    pub settings: Vec<JobSetting>,
}

/// `blocks = "auto"`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AutoBlocks {
    /// The fewest blocks.
    pub start: u32,
    /// Enough blocks have run when no interval is wider than this, to either side and as a share of
    /// its estimate.
    pub half_width: f64,
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
    blocks: Option<Blocks>,
    half_width: Option<Scalar>,
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
    device: Option<DeviceTable>,
    #[serde(default)]
    varies_storage: bool,
    profile: Option<Spanned<String>>,
    precondition: Option<Spanned<PreconditionKey>>,
    steady: Option<Spanned<String>>,
    ladder: Option<Spanned<LadderTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuickTable {
    blocks: Option<u32>,
    #[serde(default)]
    settings: BTreeMap<String, Scalar>,
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

fn settings(table: &BTreeMap<String, Scalar>) -> Vec<JobSetting> {
    table.iter().map(|(option, value)| JobSetting { option: option.clone(), value: value.text() }).collect()
}

/// The parser's message, with the key that may have been meant.
pub(crate) fn in_plain_words(message: &str) -> String {
    let Some(rest) = message.strip_prefix("unknown field `") else { return message.to_owned() };
    let mut names = rest.split('`').step_by(2);
    let written = names.next().unwrap_or_default();
    let known: Vec<&str> = names.collect();
    let near = iolab_text::closest(written, known.iter().copied());
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    format!("unknown key `{written}`; {near}The keys here are {}", known.join(", "))
}

/// Reads a study file.
///
/// # Errors
/// The first error, with its place if it has one.
pub fn read(text: &str) -> Result<Study, StudyError> {
    let file: File = iolab_deserialize::toml(text).map_err(|error| StudyError::Shape {
        place: TextPlace::of(text, error.span().map_or(0, |span| span.start)),
        message: in_plain_words(error.message()),
    })?;
    file.study(text)
}

impl File {
    fn study(self, text: &str) -> Result<Study, StudyError> {
        let axes: Result<Vec<Axis>, StudyError> =
            self.axis.iter().map(|table| placed(text, table, axis(table.get_ref()))).collect();
        let (blocks, auto_blocks) = Blocks::read(self.blocks.as_ref(), self.half_width.as_ref())?;
        let excluded =
            self.exclude.iter().map(|row| row.iter().map(|(axis, point)| (axis.clone(), point.text())).collect());
        let mut study = Study {
            job: self.job_source()?,
            blocks,
            auto_blocks,
            seed: self.seed.unwrap_or(1),
            settings: settings(&self.settings),
            axes: axes?,
            excluded: excluded.collect(),
            baseline: self.baseline()?,
            figures: self.figures(text)?,
            profile: None,
            precondition: None,
            trims_warm_up: self.trims_warm_up(text)?,
            ladder: self.ladder.as_ref().map(|table| placed(text, table, table.get_ref().read())).transpose()?,
            quick: self.quick()?,
            device_form: self.device.as_ref().map(|table| table.read(text)).transpose()?,
            served: None,
            hosts: None,
            left_out: Vec::new(),
            varies_storage: self.varies_storage,
            before_all: self.before_all,
            after_all: self.after_all,
            title: self.title,
            question: self.question,
            set_up: self.set_up,
            tear_down: self.tear_down,
        };
        if let Some(name) = &self.profile {
            placed(text, name, study.begin_from(name.get_ref()))?;
        }
        if let Some(key) = &self.precondition {
            study.precondition = placed(text, key, key.get_ref().read())?;
        }
        Ok(study)
    }

    fn job_source(&self) -> Result<JobSource, StudyError> {
        let job = match (&self.job, &self.job_text, &self.command) {
            (Some(path), None, None) => JobSource::File(path.clone()),
            (None, Some(text), None) => JobSource::Text(text.clone()),
            (None, None, Some(command)) => JobSource::Command(command.clone()),
            _ => {
                return Err(StudyError::meaning(
                    "a study needs job = \"FILE\", job_text = \"\"\"…\"\"\", or command = \"…\" with [[value]] tables",
                ));
            }
        };
        let is_command = matches!(job, JobSource::Command(_));
        if is_command == self.value.is_empty() {
            return Err(StudyError::meaning(
                "[[value]] tables describe the numbers that a command prints: studies with a command need them, \
                studies with a job do not take them",
            ));
        }
        if is_command && (self.ladder.is_some() || self.precondition.is_some() || self.steady.is_some()) {
            return Err(StudyError::meaning(
                "ladder, precondition and steady need a job; a command has to do this itself",
            ));
        }
        Ok(job)
    }

    fn quick(&self) -> Result<Option<Quick>, StudyError> {
        let Some(quick) = &self.quick else { return Ok(None) };
        if quick.blocks == Some(0) {
            return Err(StudyError::meaning("quick: blocks = 0: a study needs at least one block"));
        }
        Ok(Some(Quick { blocks: quick.blocks, settings: settings(&quick.settings) }))
    }

    fn figures(&self, text: &str) -> Result<Vec<Figure>, StudyError> {
        if !self.value.is_empty() {
            self.value.iter().try_for_each(Reported::check)?;
            let reported =
                |value: &Reported| Figure { side: FigureDirection::All, measure: Measure::Reported(value.clone()) };
            return Ok(self.value.iter().map(reported).collect());
        }
        let Some(names) = &self.figures else { return Ok(Figure::usual()) };
        names.iter().map(|name| placed(text, name, Figure::from_name(name.get_ref()))).collect()
    }

    fn baseline(&self) -> Result<Option<(String, String)>, StudyError> {
        match self.baseline.iter().flatten().collect::<Vec<_>>()[..] {
            [] => Ok(None),
            [(axis, point)] => Ok(Some((axis.clone(), point.text()))),
            _ => Err(StudyError::meaning(
                "baseline must name one point of one axis, as in baseline = { ioengine = \"psync\" }",
            )),
        }
    }

    fn trims_warm_up(&self, text: &str) -> Result<bool, StudyError> {
        let Some(word) = &self.steady else { return Ok(false) };
        match word.get_ref().as_str() {
            "auto" => Ok(true),
            "none" => Ok(false),
            other => {
                let message = format!(
                    "steady = \"{other}\": expected \"auto\" (leave out the warm-up of each trial) or \"none\""
                );
                placed(text, word, Err(StudyError::meaning(message)))
            }
        }
    }
}

impl Default for Study {
    fn default() -> Study {
        Study {
            title: String::new(),
            question: String::new(),
            job: JobSource::Text(String::new()),
            blocks: procedure::BLOCKS,
            auto_blocks: None,
            seed: 1,
            settings: Vec::new(),
            axes: Vec::new(),
            excluded: Vec::new(),
            baseline: None,
            figures: Vec::new(),
            before_all: None,
            after_all: None,
            set_up: None,
            tear_down: None,
            profile: None,
            precondition: None,
            trims_warm_up: false,
            ladder: None,
            quick: None,
            device_form: None,
            served: None,
            hosts: None,
            left_out: Vec::new(),
            varies_storage: false,
        }
    }
}

impl Study {
    /// Sets the number of trials of each configuration, as given by `--blocks`: a number, `auto`,
    /// or the default.
    ///
    /// # Errors
    /// The word is neither a number nor `auto`.
    pub fn set_blocks(&mut self, word: Option<&str>) -> Result<(), StudyError> {
        let blocks = word.map(|word| word.parse().map_or_else(|_| Blocks::Word(word.to_owned()), Blocks::Number));
        (self.blocks, self.auto_blocks) = Blocks::read(blocks.as_ref(), None)?;
        Ok(())
    }

    /// Applies the settings of a profile that the study does not set itself.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn begin_from(&mut self, name: &str) -> Result<(), StudyError> {
        let profile = profile(name)?;
        let more = profile.settings_beside(|option| self.sets(option));
        self.settings.extend(more);
        self.precondition = profile.preconditioning();
        self.profile = Some(name.to_owned());
        Ok(())
    }

    /// Whether the study or one of its axes sets an option.
    pub fn sets(&self, option: &str) -> bool {
        let of_axes = self.axes.iter().flat_map(|axis| &axis.points).flat_map(|point| &point.settings);
        self.settings.iter().chain(of_axes).any(|setting| setting.option == option)
    }
}

/// Adds to an error the place of the value that it concerns.
fn placed<T, V>(text: &str, at: &Spanned<V>, result: Result<T, StudyError>) -> Result<T, StudyError> {
    result.map_err(|error| match error {
        StudyError::Meaning(message) => StudyError::Shape { place: TextPlace::of(text, at.span().start), message },
        placed => placed,
    })
}
