//! The keys of a study file that say how trials are run: blocks, preconditioning, warm-up, ladder,
//! profile.

use iolab_order::Arrange;
use iolab_statistics::SniaRules;
use serde::Deserialize;
use toml::Spanned;

use super::{AutoBlocks, Scalar};
use crate::axis::expand;
use crate::{
    Figure, FigureDirection, JobSource, Ladder, Measure, PreconditionFrequency, PreconditionKind, Preconditioning, Slo,
    StudyError,
};

/// `blocks = 7` or `blocks = "auto"`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number of blocks, or \"auto\"")]
pub(super) enum Blocks {
    Number(u32),
    Word(String),
}

/// The default.
pub(super) const BLOCKS: u32 = 7;
/// The maximum with `blocks = "auto"`, whatever the intervals.
const MOST_BLOCKS: u32 = 30;
/// The first check with `blocks = "auto"`: fewer blocks show too little of how trials vary.
const FIRST_LOOK: u32 = 5;
/// Intervals should be no wider than this, as a share of the estimate.
const HALF_WIDTH: f64 = 0.10;

impl Blocks {
    /// The maximum number of blocks, and when fewer are enough.
    pub(super) fn read(
        blocks: Option<&Blocks>,
        half_width: Option<&Scalar>,
    ) -> Result<(u32, Option<AutoBlocks>), StudyError> {
        let half_width = half_width.map(share).transpose()?;
        match blocks {
            Some(Blocks::Word(word)) if word == "auto" => {
                Ok((MOST_BLOCKS, Some(AutoBlocks { start: FIRST_LOOK, half_width: half_width.unwrap_or(HALF_WIDTH) })))
            }
            Some(Blocks::Word(word)) => {
                Err(StudyError::meaning(format!("blocks = \"{word}\": expected a number of blocks, or \"auto\"")))
            }
            _ if half_width.is_some() => {
                Err(StudyError::meaning("half_width needs blocks = \"auto\", and ends it: use both or neither"))
            }
            Some(Blocks::Number(0)) => {
                Err(StudyError::meaning("blocks = 0: a study needs at least one block; the default is seven"))
            }
            Some(Blocks::Number(blocks)) => Ok((*blocks, None)),
            None => Ok((BLOCKS, None)),
        }
    }
}

fn share(value: &Scalar) -> Result<f64, StudyError> {
    let text = value.text();
    let refused = || StudyError::meaning(format!("half_width = \"{text}\": expected a percentage, as in \"3%\""));
    let percent: f64 = text.trim().strip_suffix('%').and_then(|word| word.trim().parse().ok()).ok_or_else(refused)?;
    if percent > 0.0 && percent < 100.0 { Ok(percent / 100.0) } else { Err(refused()) }
}

/// `precondition = "snia"` or a table.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "\"snia\", \"fill\", \"none\", a job file, or a table with kind, job, once, round, figure"
)]
pub(super) enum PreconditionKey {
    Word(String),
    Table(PreconditionTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PreconditionTable {
    kind: Option<String>,
    job: Option<String>,
    job_text: Option<String>,
    once: Option<String>,
    round: Option<Scalar>,
    figure: Option<String>,
    most_rounds: Option<usize>,
}

impl Default for Preconditioning {
    fn default() -> Preconditioning {
        Preconditioning {
            kind: PreconditionKind::Snia,
            job: None,
            once: PreconditionFrequency::Study,
            round: "60s".to_owned(),
            figure: Figure { side: FigureDirection::All, measure: Measure::Iops },
            rules: SniaRules::default(),
        }
    }
}

impl Preconditioning {
    /// Parses the short form: `snia`, `fill`, `none`, or the name of a job file.
    ///
    /// # Errors
    /// A word that is none of them.
    pub fn from_word(word: &str) -> Result<Option<Preconditioning>, StudyError> {
        let kind = match word {
            "none" => return Ok(None),
            "snia" => PreconditionKind::Snia,
            "fill" => PreconditionKind::Fill,
            file if file.contains(['.', '/']) => {
                let job = Some(JobSource::File(file.to_owned()));
                return Ok(Some(Preconditioning { kind: PreconditionKind::Job, job, ..Preconditioning::default() }));
            }
            other => {
                return Err(StudyError::meaning(format!(
                    "precondition = \"{other}\": expected \"snia\", \"fill\", \"none\", or a job file such as \
                    \"fill.fio\""
                )));
            }
        };
        Ok(Some(Preconditioning { kind, ..Preconditioning::default() }))
    }
}

impl PreconditionKey {
    pub(super) fn read(&self) -> Result<Option<Preconditioning>, StudyError> {
        match self {
            PreconditionKey::Word(word) => Preconditioning::from_word(word),
            PreconditionKey::Table(table) => table.read(),
        }
    }
}

impl PreconditionTable {
    fn read(&self) -> Result<Option<Preconditioning>, StudyError> {
        let job = match (&self.job, &self.job_text) {
            (Some(_), Some(_)) => return Err(StudyError::meaning("precondition: job or job_text, not both")),
            (Some(file), None) => Some(JobSource::File(file.clone())),
            (None, Some(text)) => Some(JobSource::Text(text.clone())),
            (None, None) => None,
        };
        let kind = match (self.kind.as_deref(), &job) {
            (Some("snia"), _) => PreconditionKind::Snia,
            (Some("fill"), None) => PreconditionKind::Fill,
            (Some("job") | None, Some(_)) => PreconditionKind::Job,
            (Some("none"), None) => return Ok(None),
            (kind, _) => {
                return Err(StudyError::meaning(format!(
                    "precondition: kind = \"{}\": \"snia\" (job, if given, is the load of the rounds), \"fill\", or \"job\" with job = \"FILE\"",
                    kind.unwrap_or_default()
                )));
            }
        };
        let once = match self.once.as_deref() {
            None | Some("study") => PreconditionFrequency::Study,
            Some("block") => PreconditionFrequency::Block,
            Some("trial") => PreconditionFrequency::Trial,
            Some(other) => {
                let message = format!("precondition: once = \"{other}\": expected \"study\", \"block\" or \"trial\"");
                return Err(StudyError::meaning(message));
            }
        };
        let usual = Preconditioning::default();
        let figure = self.figure.as_deref().map(Figure::from_name).transpose()?.unwrap_or(usual.figure);
        let round = self.round.as_ref().map_or(usual.round, Scalar::text);
        let most_rounds = self.most_rounds.unwrap_or(usual.rules.most_rounds);
        if most_rounds < usual.rules.window {
            let window = usual.rules.window;
            return Err(StudyError::meaning(format!(
                "precondition: most_rounds must be at least {window}, the size of \
                the window"
            )));
        }
        Ok(Some(Preconditioning { kind, job, once, round, figure, rules: SniaRules { most_rounds, ..usual.rules } }))
    }
}

/// `[ladder]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LadderTable {
    levels: Option<super::Values>,
    slo: Option<Spanned<String>>,
    process: Option<String>,
    maximum_iops: Option<f64>,
}

/// A level above this is treated as a mistake.
const MOST_PERCENT: f64 = 1000.0;

impl LadderTable {
    pub(super) fn read(&self) -> Result<Ladder, StudyError> {
        let usual = Ladder::default();
        let levels = match &self.levels {
            None => usual.levels,
            Some(super::Values::Range(range)) => numbers(&expand(range)?)?,
            Some(super::Values::List(list)) => numbers(&list.iter().map(Scalar::text).collect::<Vec<_>>())?,
            Some(super::Values::Rows(_)) => return Err(StudyError::meaning("ladder: levels must be percentages")),
        };
        let process = match self.process.as_deref() {
            None => usual.process,
            Some(word @ ("poisson" | "linear")) => word.to_owned(),
            Some(other) => {
                return Err(StudyError::meaning(format!(
                    "ladder: process = \"{other}\": expected \"poisson\" or \
                    \"linear\""
                )));
            }
        };
        if self.maximum_iops.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(StudyError::meaning("ladder: maximum_iops must be above 0"));
        }
        let slo = self.slo.as_ref().map(|text| Slo::from_text(text.get_ref())).transpose()?;
        Ok(Ladder { levels, process, slo, maximum_iops: self.maximum_iops })
    }
}

fn numbers(words: &[String]) -> Result<Vec<f64>, StudyError> {
    let number = |word: &String| {
        let percent: Option<f64> = word.trim().trim_end_matches('%').parse().ok();
        percent.filter(|percent| *percent > 0.0 && *percent <= MOST_PERCENT).ok_or_else(|| {
            StudyError::meaning(format!(
                "ladder: level '{word}': expected a percentage of the maximum, as in levels = \"10..110 +10\""
            ))
        })
    };
    let mut levels = words.iter().map(number).collect::<Result<Vec<f64>, _>>()?;
    levels.arrange_by(f64::total_cmp);
    levels.dedup();
    match levels.is_empty() {
        true => Err(StudyError::meaning("ladder: levels are missing")),
        false => Ok(levels),
    }
}
