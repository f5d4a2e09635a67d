//! What an axis varies, and how configurations form lines along it.

use iolab_charts::{AxisUnit, SweepAxis};
use iolab_order::Arrange;
use iolab_study::{Axis, Study};
use iolab_units::{KbBase, parse_bytes};

use crate::standing::Outcome;

/// What an axis varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Size of operations, bytes.
    BlockSize,
    /// Operations in flight.
    Depth,
    /// Workers.
    Jobs,
    /// Percent of writes, or of reads.
    Share,
    /// Some other number.
    Number,
    /// How block sizes are mixed.
    Mix,
    /// Names.
    Names,
}

/// Options of the job language, with what they vary.
const OPTIONS: [(&str, Kind); 8] = [
    ("bs", Kind::BlockSize),
    ("blocksize", Kind::BlockSize),
    ("iodepth", Kind::Depth),
    ("numjobs", Kind::Jobs),
    ("rwmixwrite", Kind::Share),
    ("rwmixread", Kind::Share),
    ("bssplit", Kind::Mix),
    ("ioengine", Kind::Names),
];

/// What an axis of a study varies. Only an axis of a single option can be more than names; numeric
/// kinds require numeric points.
pub(super) fn kind(axis: &Axis) -> Kind {
    let mut options = axis.points.iter().map(|point| point.settings.as_slice());
    let first = match options.next() {
        Some([only]) => only.option.as_str(),
        _ => return Kind::Names,
    };
    if !options.all(|settings| matches!(settings, [only] if only.option == first)) {
        return Kind::Names;
    }
    let is_number = axis.points.iter().all(|point| number(&point.settings[0].value).is_some());
    match OPTIONS.iter().find(|entry| entry.0 == first) {
        Some((_, Kind::Mix)) => Kind::Mix,
        Some((_, kind)) if is_number => *kind,
        None if is_number => Kind::Number,
        _ => Kind::Names,
    }
}

/// A value of an option as a number; size suffixes are allowed.
fn number(text: &str) -> Option<f64> {
    match text.parse::<f64>() {
        Ok(number) => Some(number).filter(|number| number.is_finite()),
        Err(_) => parse_bytes(text, KbBase::K1024).ok().map(|bytes| bytes as f64),
    }
}

/// The axis of `study` that a design's axis is.
pub(super) fn axis<'a>(study: &'a Study, design_axis: &str) -> Option<&'a Axis> {
    study.axes.iter().find(|axis| axis.name == design_axis)
}

/// The position of a point on its axis.
pub(super) fn place(axis: &Axis, point: &str) -> Option<f64> {
    let settings = &axis.points.iter().find(|other| other.name == point)?.settings;
    let value = number(&settings.first()?.value)?;
    Some(if kind(axis) == Kind::Share { value / 100.0 } else { value })
}

/// The scale of an axis: doublings if each point is a multiple of the one before.
pub(super) fn scale(axis: &Axis) -> SweepAxis {
    let places: Vec<f64> = axis.points.iter().filter_map(|point| place(axis, &point.name)).collect();
    let doubles = places.len() > 2 && places.windows(2).all(|pair| pair[0] > 0.0 && pair[1] >= 1.9 * pair[0]);
    match (kind(axis), doubles) {
        (Kind::Mix | Kind::Names, _) => SweepAxis::Named(axis.points.iter().map(|point| point.name.clone()).collect()),
        (Kind::BlockSize, _) => SweepAxis::Doubling(AxisUnit::Bytes),
        (Kind::Share, _) => SweepAxis::Linear(AxisUnit::Share),
        (_, true) => SweepAxis::Doubling(AxisUnit::Count),
        (_, false) => SweepAxis::Linear(AxisUnit::Count),
    }
}

/// The title of an axis for readers.
pub(super) fn title(axis: &Axis) -> String {
    let option = axis.points.first().and_then(|point| point.settings.first()).map_or("", |one| one.option.as_str());
    match (kind(axis), option) {
        (Kind::BlockSize, _) => "block size".to_owned(),
        (Kind::Depth, _) => "queue depth (iodepth)".to_owned(),
        (Kind::Jobs, _) => "parallel jobs (numjobs)".to_owned(),
        (Kind::Share, "rwmixread") => "share of reads".to_owned(),
        (Kind::Share, _) => "share of writes".to_owned(),
        _ => axis.name.clone(),
    }
}

/// Lines shown in one picture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Panel {
    /// The setting that all of its lines share and other panels do not; empty when there is one
    /// panel.
    pub(super) name: String,
    pub(super) lines: Vec<Line>,
}

/// One line: configurations that differ only in the axis along which it runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) name: String,
    /// Numbers of the configurations, in the order of the axis.
    pub(super) configurations: Vec<usize>,
}

/// Most lines in one picture; more are hard to distinguish.
const MOST_LINES: usize = 6;
/// Most pictures of one kind; the tables contain everything.
pub(super) const MOST_PANELS: usize = 4;

/// The lines along an axis of the design, in panels. The compared axis stays within a panel if
/// possible, so that the compared lines are seen together.
pub(super) fn panels(outcome: &Outcome<'_>, along: &[usize]) -> Vec<Panel> {
    let mut within: Vec<usize> = outcome.varied_axes().into_iter().filter(|axis| !along.contains(axis)).collect();
    let mut across: Vec<usize> = Vec::new();
    let lines = |axes: &[usize]| axes.iter().map(|axis| outcome.points(*axis).len()).product::<usize>();
    while lines(&within) > MOST_LINES && !within.is_empty() {
        let widest = |axis: &usize| (Some(*axis) != outcome.compared_axis(), outcome.points(*axis).len());
        let Some(axis) = within.iter().copied().max_by_key(widest) else { break };
        within.retain(|other| *other != axis);
        across.push(axis);
    }
    across.arrange();
    let name = |configuration: usize, axes: &[usize]| -> String {
        let points = &outcome.design.configurations[configuration].points;
        let names = axes.iter().map(|axis| format!("{}={}", outcome.design.axes[*axis], points[*axis]));
        names.collect::<Vec<_>>().join(", ")
    };
    let mut panels: Vec<Panel> = Vec::new();
    for configuration in 0..outcome.design.configurations.len() {
        let (panel_name, line_name) = (name(configuration, &across), name(configuration, &within));
        let line_name = if line_name.is_empty() { "all".to_owned() } else { line_name };
        let panel = match panels.iter().position(|panel| panel.name == panel_name) {
            Some(place) => &mut panels[place],
            None => {
                panels.push(Panel { name: panel_name, lines: Vec::new() });
                let last = panels.len() - 1;
                &mut panels[last]
            }
        };
        match panel.lines.iter_mut().find(|line| line.name == line_name) {
            Some(line) => line.configurations.push(configuration),
            None => panel.lines.push(Line { name: line_name, configurations: vec![configuration] }),
        }
    }
    panels
}
