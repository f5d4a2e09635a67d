//! What a study varies and measures, which determines its figures.

use iolab_study::{Axis, Measure};

use crate::charts::axes;
use crate::charts::axes::Kind;
use crate::charts::values::Material;

/// What a study varies, and what it measured.
pub(crate) struct Shape<'a> {
    pub(super) material: Material<'a>,
}

impl<'a> Shape<'a> {
    /// Axes with more than one point, with their numbers in the design.
    pub(super) fn axes(&self) -> Vec<(usize, &'a Axis)> {
        let outcome = self.material.outcome;
        let named = |axis: usize| Some((axis, axes::axis(outcome.study, &outcome.design.axes[axis])?));
        outcome.varied_axes().into_iter().filter_map(named).collect()
    }

    /// The axis of a kind.
    pub(super) fn of(&self, kind: Kind) -> Option<(usize, &'a Axis)> {
        self.axes().into_iter().find(|(_, axis)| axes::kind(axis) == kind)
    }

    /// Axes of numbers.
    pub(super) fn numeric(&self) -> impl Iterator<Item = (usize, &'a Axis)> {
        let is_number = |axis: &Axis| !matches!(axes::kind(axis), Kind::Mix | Kind::Names);
        self.axes().into_iter().filter(move |(_, axis)| is_number(axis))
    }

    pub(crate) fn has_latencies(&self) -> bool {
        let directions = self.material.digests.iter().flat_map(|digest| &digest.directions);
        directions.into_iter().any(|direction| !direction.lat.is_empty())
    }

    /// How many percentiles the study asks for.
    pub(crate) fn percentiles(&self) -> usize {
        let figures = self.material.outcome.analysis.figures.iter();
        figures.filter(|figure| matches!(figure.measure, Measure::Latency(_))).count()
    }
}
