//! The input of charts: estimates with their intervals and trials, headings, and which values can
//! be drawn.

use crate::{AxisUnit, Datum};

/// A measured number with what is known of its uncertainty. Any part may be missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Estimate {
    /// The best single value, usually the median of the trials; `None` with too few samples.
    pub value: Option<f64>,
    /// Lower and upper limit.
    pub interval: Option<(f64, f64)>,
    /// The value of each trial.
    pub trials: Vec<f64>,
}

impl Estimate {
    /// A value without an interval or trials.
    pub fn of(value: f64) -> Estimate {
        Estimate { value: Some(value), ..Estimate::default() }
    }

    /// A value between its limits.
    pub fn within(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value: Some(value), interval: Some((low, high)), trials: Vec::new() }
    }

    /// Adds the trials from which it was computed.
    #[must_use]
    pub fn from_trials(mut self, trials: &[f64]) -> Estimate {
        self.trials = trials.to_vec();
        self
    }

    /// A copy without numbers that cannot be drawn: infinite ones, NaN, and absurdly large ones.
    pub(crate) fn sound(&self) -> Estimate {
        let interval = self.interval.and_then(|(low, high)| Some((sound(low)?, sound(high)?)));
        Estimate {
            value: self.value.and_then(sound),
            interval: interval.map(|(low, high)| (low.min(high), low.max(high))),
            trials: self.trials.iter().copied().filter_map(sound).take(MOST_TRIALS).collect(),
        }
    }

    /// Mean and sample standard deviation of the trials; `None` with fewer than two.
    pub fn deviation(&self) -> Option<(f64, f64)> {
        let count = self.trials.len() as f64;
        let mean = self.trials.iter().sum::<f64>() / count;
        let squares: f64 = self.trials.iter().map(|value| (value - mean).powi(2)).sum();
        (self.trials.len() > 1).then(|| (mean, (squares / (count - 1.0)).sqrt()))
    }

    /// All of its numbers that can be drawn.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> {
        let sound = self.sound();
        let limits = sound.interval.map(|(low, high)| [low, high]).into_iter().flatten();
        sound.value.into_iter().chain(limits).chain(sound.trials)
    }
}

/// Most trials drawn one by one.
pub(crate) const MOST_TRIALS: usize = 60;

/// Returns `value` if it can be drawn; a limit on its size keeps sums and differences finite.
pub(crate) fn sound(value: f64) -> Option<f64> {
    (value.is_finite() && value.abs() < 1e24).then_some(value)
}

/// Title and note of a chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heading {
    /// Unique on its page; becomes a prefix of the XML ids inside the figure, and a file name.
    pub id: String,
    /// One line, in any script.
    pub title: String,
    /// What a reader must know besides the data: how it was measured, what to look at. May be
    /// empty. It becomes part of the description.
    pub note: String,
}

impl Heading {
    /// Without a note.
    pub fn new(id: &str, title: &str) -> Heading {
        Heading { id: id.to_owned(), title: title.to_owned(), note: String::new() }
    }
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Equal differences are equally far apart; starts at zero if the data allow.
    Linear,
    /// Equal ratios are equally far apart; zero and negative numbers cannot be shown.
    Log,
}

/// The quantity on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisMeasure {
    /// Name, e.g. `bandwidth`.
    pub name: String,
    /// Unit of its numbers.
    pub unit: AxisUnit,
    /// The scale of its axis.
    pub spacing: Spacing,
}

impl AxisMeasure {
    /// On a linear axis.
    pub fn linear(name: &str, unit: AxisUnit) -> AxisMeasure {
        AxisMeasure { name: name.to_owned(), unit, spacing: Spacing::Linear }
    }

    /// On a logarithmic axis.
    pub fn log(name: &str, unit: AxisUnit) -> AxisMeasure {
        AxisMeasure { name: name.to_owned(), unit, spacing: Spacing::Log }
    }

    /// Title of an axis: the name, and the unit unless the tick labels contain it.
    pub(crate) fn title(&self) -> String {
        match self.unit.per() {
            "" => self.name.clone(),
            per => format!("{}, {per}", self.name),
        }
    }
}

/// Value and limits as text, for tooltips.
pub(crate) fn say(estimate: &Estimate, unit: AxisUnit) -> String {
    let sound = estimate.sound();
    let value = sound.value.map_or("no value: too few samples".to_owned(), |value| unit.format(value));
    let limits = sound.interval.map(|(low, high)| format!(" [{} … {}]", unit.format(low), unit.format(high)));
    let deviation = sound.deviation().map(|(_, deviation)| format!(", standard deviation {}", unit.format(deviation)));
    value + &limits.unwrap_or_default() + &deviation.unwrap_or_default()
}

/// Value, lower and upper limit as table cells.
pub(crate) fn cells(estimate: &Estimate, unit: AxisUnit) -> [Datum; 3] {
    let sound = estimate.sound();
    [sound.value, sound.interval.map(|pair| pair.0), sound.interval.map(|pair| pair.1)]
        .map(|value| Datum::Number(value, unit))
}

/// Further cells for estimates with trials: standard deviation and number of trials.
pub(crate) fn trial_cells(estimate: &Estimate, unit: AxisUnit) -> [Datum; 2] {
    let deviation = estimate.sound().deviation().map(|(_, deviation)| deviation);
    [Datum::Number(deviation, unit), Datum::Number(Some(estimate.trials.len() as f64), AxisUnit::Count)]
}

/// Names of the columns of [`trial_cells`].
pub(crate) const TRIAL_COLUMNS: [&str; 2] = ["standard deviation", "trials"];
