//! Every figure of an analysis as one long list, for tables of other programs.
//!
//! A line is one number with what it is a number of. Which fields a line has depends on its kind;
//! the others are empty.

use iolab_statistics::{Comparison, Interval};
use serde::Serialize;

use crate::words::word;
use crate::{Analysis, Figure, LadderResult, LevelPercentile, LevelResult};

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// A figure of one trial.
    Value,
    /// The median over the trials of a configuration, with its interval.
    Median,
    /// A configuration over another one, with the verdict.
    Ratio,
    /// A point of an axis over the axis' baseline, over all other axes.
    Effect,
    /// The share that an axis has of the variance between configurations.
    Share,
    /// How an axis' effect changes with the point of another: a ratio of two ratios.
    Interaction,
    /// The typical deviation of a trial, as a share.
    Noise,
    /// Operations per second that a level of a ladder reached.
    LevelRate,
    /// A percentile of response times at a level of a ladder.
    LevelResponse,
    /// A percentile of service times at a level of a ladder.
    LevelService,
    /// The highest load that meets the target of a ladder.
    Capacity,
}

impl LineKind {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            LineKind::Value => "value",
            LineKind::Median => "median",
            LineKind::Ratio => "ratio",
            LineKind::Effect => "effect",
            LineKind::Share => "share",
            LineKind::Interaction => "interaction",
            LineKind::Noise => "noise",
            LineKind::LevelRate => "level_rate",
            LineKind::LevelResponse => "level_response",
            LineKind::LevelService => "level_service",
            LineKind::Capacity => "capacity",
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureLine {
    /// The entry of the study in the database.
    pub id: i64,
    /// The title of the study.
    pub study: String,
    /// What it is.
    pub kind: LineKind,
    /// The figure: `iops`, `p99`.
    pub figure: String,
    /// The unit of the number: `ns`, `B/s`, or empty.
    pub unit: String,
    /// The configuration: `bs=4k;iodepth=8`; of effects and shares, the axis and its point.
    pub points: String,
    /// What it is compared with, if it is a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The block, from 0, of a single trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// The load of a level, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_percent: Option<f64>,
    /// The number.
    pub estimate: f64,
    /// Lower limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The confidence of the limits that was reached, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The number of trials, or of pairs of trials, behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<usize>,
    /// The verdict of a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
}

/// The columns of a line as a table.
pub const FIGURE_COLUMNS: [&str; 15] = [
    "id",
    "study",
    "kind",
    "figure",
    "unit",
    "points",
    "baseline",
    "block",
    "load_percent",
    "estimate",
    "low",
    "high",
    "confidence",
    "repeats",
    "verdict",
];

impl FigureLine {
    fn new(kind: LineKind, figure: &Figure, points: String, estimate: f64) -> FigureLine {
        FigureLine::named(kind, figure.name(), figure.unit(), points, estimate)
    }

    /// A line without a unit: a share or a ratio.
    fn plain(kind: LineKind, figure: &Figure, points: String, estimate: f64) -> FigureLine {
        FigureLine::named(kind, figure.name(), "", points, estimate)
    }

    fn named(kind: LineKind, figure: String, unit: &str, points: String, estimate: f64) -> FigureLine {
        FigureLine {
            id: 0,
            study: String::new(),
            kind,
            figure,
            unit: unit.to_owned(),
            points,
            baseline: None,
            block: None,
            load_percent: None,
            estimate,
            low: None,
            high: None,
            confidence: None,
            repeats: None,
            verdict: None,
        }
    }

    fn within(self, interval: &Interval) -> FigureLine {
        // Without confidence, there are no limits.
        let limit = |value: f64| (interval.confidence > 0.0 && value.is_finite()).then_some(value);
        let confidence = Some(interval.confidence);
        FigureLine { low: limit(interval.low), high: limit(interval.high), confidence, ..self }
    }

    fn compared(kind: LineKind, figure: &Figure, sides: [String; 2], comparison: &Comparison) -> FigureLine {
        let [points, baseline] = sides;
        let line = FigureLine::plain(kind, figure, points, comparison.ratio.estimate).within(&comparison.ratio);
        FigureLine {
            baseline: Some(baseline),
            repeats: Some(comparison.blocks),
            verdict: Some(word(figure, comparison.verdict).to_owned()),
            ..line
        }
    }

    /// Its cells, in the order of [`FIGURE_COLUMNS`].
    pub fn cells(&self) -> [String; 15] {
        fn shown<T: ToString>(value: Option<T>) -> String {
            value.map(|value| value.to_string()).unwrap_or_default()
        }
        [
            self.id.to_string(),
            self.study.clone(),
            self.kind.word().to_owned(),
            self.figure.clone(),
            self.unit.clone(),
            self.points.clone(),
            self.baseline.clone().unwrap_or_default(),
            shown(self.block),
            shown(self.load_percent),
            self.estimate.to_string(),
            shown(self.low),
            shown(self.high),
            shown(self.confidence),
            shown(self.repeats),
            self.verdict.clone().unwrap_or_default(),
        ]
    }
}

/// All figures of an analysis; `id` and `title` are those of its study.
pub fn figure_lines(id: i64, title: &str, analysis: &Analysis) -> Vec<FigureLine> {
    let mut lines = Vec::new();
    for row in &analysis.rows {
        let (figure, points) = (&analysis.figures[row.figure], analysis.points_of(row.configuration));
        for (block, value) in row.values.iter().enumerate() {
            let line = value.map(|value| FigureLine::new(LineKind::Value, figure, points.clone(), value));
            lines.extend(line.map(|line| FigureLine { block: Some(block), ..line }));
        }
        lines.extend(row.median.map(|median| {
            let line = FigureLine::new(LineKind::Median, figure, points, median.estimate).within(&median);
            FigureLine { repeats: Some(row.values.iter().flatten().count()), ..line }
        }));
    }
    for contrast in &analysis.contrasts {
        let sides = [contrast.candidate, contrast.baseline].map(|side| analysis.points_of(side));
        let figure = &analysis.figures[contrast.figure];
        lines.push(FigureLine::compared(LineKind::Ratio, figure, sides, &contrast.comparison));
    }
    for standing in &analysis.standings {
        let figure = &analysis.figures[standing.figure];
        let axis = |number: usize| analysis.axes.get(number).map_or_else(|| number.to_string(), Clone::clone);
        for effect in &standing.axes {
            lines
                .extend(effect.share.map(|value| FigureLine::plain(LineKind::Share, figure, axis(effect.axis), value)));
            for point in &effect.points {
                let sides = [&point.point, &point.baseline].map(|point| format!("{}={point}", axis(effect.axis)));
                lines.push(FigureLine::compared(LineKind::Effect, figure, sides, &point.comparison));
            }
        }
        for one in &standing.interactions {
            let [first, second] = one.axes.map(axis);
            let side = |at: &String| format!("{first}={};{second}={at}", one.of[1]);
            let sides = [side(&one.at[1]), side(&one.at[0])];
            lines.push(FigureLine::compared(LineKind::Interaction, figure, sides, &one.comparison));
        }
        lines.extend(standing.noise.map(|value| FigureLine::plain(LineKind::Noise, figure, String::new(), value)));
    }
    analysis.ladders.iter().for_each(|ladder| of_ladder(analysis, ladder, &mut lines));
    for line in &mut lines {
        line.id = id;
        title.clone_into(&mut line.study);
    }
    lines
}

fn of_ladder(analysis: &Analysis, ladder: &LadderResult, lines: &mut Vec<FigureLine>) {
    let points = analysis.points_of(ladder.configuration);
    let level_line = |level: &LevelResult, kind, name: String, unit: &str, estimate: f64| FigureLine {
        load_percent: Some(level.percent),
        repeats: Some(level.trials),
        ..FigureLine::named(kind, name, unit, points.clone(), estimate)
    };
    for level in &ladder.levels {
        lines.extend(
            level
                .done_iops
                .map(|done| level_line(level, LineKind::LevelRate, "iops".to_owned(), "", done.estimate).within(&done)),
        );
        for (kind, all) in [(LineKind::LevelResponse, &level.response), (LineKind::LevelService, &level.service)] {
            for LevelPercentile { percent, median, .. } in all {
                lines.extend(median.map(|median| {
                    level_line(level, kind, format!("p{percent}"), "ns", median.estimate).within(&median)
                }));
            }
        }
    }
    if let Some(capacity) = &ladder.capacity {
        let level = &ladder.levels[capacity.level];
        lines.push(level_line(level, LineKind::Capacity, "iops".to_owned(), "", capacity.iops));
    }
}
