//! A randomised block design with possibly missing trials: effects of configurations, without the
//! levels of the blocks.
//!
//! ```text
//! value of configuration c in block b  =  level of b + effect of c + error          (all of them logarithms)
//! ```
//!
//! Least squares (Fisher 1935; for missing trials Yates 1933, here by the reduced normal
//! equations): eliminating the blocks leaves one equation per configuration. A missing trial loses
//! only its own information. Configurations cannot be compared unless a chain of common blocks
//! connects them.

/// Which trials exist, and what follows from that.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// By configuration, then block.
    present: Vec<Vec<bool>>,
    /// How many trials each block has.
    in_block: Vec<usize>,
    /// A generalised inverse of the reduced normal equations; `None` for a complete design, which
    /// has a closed form.
    inverse: Option<Vec<Vec<f64>>>,
    /// The number of each configuration's group; configurations with the same number can be
    /// compared.
    connected: Vec<Option<usize>>,
    /// Degrees of freedom of the residuals.
    freedom: usize,
    /// Each configuration's share of them.
    own_freedom: Vec<f64>,
}

/// The fit of one set of values.
#[derive(Debug, Clone)]
pub(crate) struct Fit {
    /// By configuration; they sum to zero within each connected group.
    pub(crate) effects: Vec<f64>,
    /// By configuration, then block; 0 where there is no trial.
    pub(crate) residuals: Vec<Vec<f64>>,
}

impl Layout {
    pub(crate) fn new(present: Vec<Vec<bool>>) -> Layout {
        let blocks = present.first().map_or(0, Vec::len);
        let in_block: Vec<usize> = (0..blocks).map(|block| present.iter().filter(|row| row[block]).count()).collect();
        let connected = connected(&present);
        let groups = connected.iter().flatten().max().map_or(0, |last| last + 1);
        let trials: usize = in_block.iter().sum();
        let known = connected.iter().flatten().count();
        let used = in_block.iter().filter(|count| **count > 0).count();
        let is_complete = in_block.iter().all(|count| *count == present.len());
        let inverse = (!is_complete).then(|| inverse(&present, &in_block, &connected));
        let mut layout = Layout {
            freedom: (trials + groups).saturating_sub(used + known),
            own_freedom: Vec::new(),
            present,
            in_block,
            inverse,
            connected,
        };
        layout.own_freedom = (0..layout.present.len()).map(|own| layout.own_freedom_of(own)).collect();
        layout
    }

    pub(crate) fn present(&self) -> &[Vec<bool>] {
        &self.present
    }

    /// Whether each configuration has a trial in each block.
    pub(crate) fn is_complete(&self) -> bool {
        self.inverse.is_none()
    }

    pub(crate) fn freedom(&self) -> usize {
        self.freedom
    }

    pub(crate) fn own_freedom(&self) -> &[f64] {
        &self.own_freedom
    }

    /// Whether the weights sum to zero within each connected group of configurations. Only then is
    /// the weighted sum known.
    pub(crate) fn can_know(&self, weights: &[(usize, f64)]) -> bool {
        let groups = self.connected.iter().flatten().max().map_or(0, |last| last + 1);
        let mut sums = vec![0.0; groups];
        for (configuration, weight) in weights {
            match self.connected[*configuration] {
                Some(group) => sums[group] += weight,
                None => return false,
            }
        }
        sums.iter().all(|sum| sum.abs() < 1e-9)
    }

    pub(crate) fn fit(&self, values: &[Vec<f64>]) -> Fit {
        let (rows, blocks) = (values.len(), self.in_block.len());
        let mut levels = vec![0.0; blocks];
        for (row, own) in values.iter().zip(&self.present) {
            (0..blocks).filter(|block| own[*block]).for_each(|block| levels[block] += row[block]);
        }
        levels.iter_mut().zip(&self.in_block).for_each(|(level, count)| *level /= (*count).max(1) as f64);
        let mut totals = vec![0.0; rows];
        for (row, own) in (0..rows).zip(&self.present) {
            totals[row] = (0..blocks).filter(|block| own[*block]).map(|block| values[row][block] - levels[block]).sum();
        }
        let effects = self.solved(&totals);
        let mut shifts = vec![0.0; blocks];
        for (effect, own) in effects.iter().zip(&self.present) {
            (0..blocks).filter(|block| own[*block]).for_each(|block| shifts[block] += effect);
        }
        shifts.iter_mut().zip(&self.in_block).for_each(|(shift, count)| *shift /= (*count).max(1) as f64);
        let residual = |row: usize, block: usize| match self.present[row][block] {
            true => values[row][block] - levels[block] - effects[row] + shifts[block],
            false => 0.0,
        };
        let residuals = (0..rows).map(|row| (0..blocks).map(|block| residual(row, block)).collect()).collect();
        Fit { effects, residuals }
    }

    fn solved(&self, totals: &[f64]) -> Vec<f64> {
        match &self.inverse {
            None => totals.iter().map(|total| total / self.in_block.len() as f64).collect(),
            Some(inverse) => {
                inverse.iter().map(|row| row.iter().zip(totals).map(|(one, other)| one * other).sum()).collect()
            }
        }
    }

    /// The weight of each configuration's variance in the variance of a weighted sum of effects.
    pub(crate) fn variance_weights(&self, weights: &[(usize, f64)]) -> Vec<(usize, f64)> {
        let mut dense = vec![0.0; self.present.len()];
        weights.iter().for_each(|(configuration, weight)| dense[*configuration] += weight);
        let solved = self.solved(&dense);
        let blocks = self.in_block.len();
        let mean = |block: usize| {
            let own = solved.iter().zip(&self.present).filter(|(_, row)| row[block]).map(|(value, _)| value);
            own.sum::<f64>() / self.in_block[block].max(1) as f64
        };
        let means: Vec<f64> = (0..blocks).map(mean).collect();
        let weight = |row: usize| {
            let own = (0..blocks).filter(|block| self.present[row][*block]);
            own.map(|block| (solved[row] - means[block]).powi(2)).sum::<f64>()
        };
        (0..solved.len()).map(|row| (row, weight(row))).filter(|(_, weight)| *weight > 1e-15).collect()
    }

    /// The trials of a configuration minus the degrees of freedom that the fit uses (the sum of 1 -
    /// leverage).
    fn own_freedom_of(&self, row: usize) -> f64 {
        let blocks = self.in_block.len();
        let Some(inverse) = &self.inverse else {
            let (rows, blocks) = (self.present.len() as f64, blocks as f64);
            return (blocks - 1.0) * (rows - 1.0) / rows;
        };
        let left = |block: usize| {
            let count = self.in_block[block] as f64;
            let members: Vec<usize> = (0..self.present.len()).filter(|other| self.present[*other][block]).collect();
            let own: f64 = members.iter().map(|other| inverse[row][*other]).sum();
            let all: f64 =
                members.iter().map(|one| members.iter().map(|other| inverse[*one][*other]).sum::<f64>()).sum();
            1.0 - (1.0 / count + inverse[row][row] - 2.0 * own / count + all / (count * count))
        };
        let own = (0..blocks).filter(|block| self.present[row][*block]);
        own.map(left).sum::<f64>().max(0.0)
    }
}

/// A number for each configuration, the same for those that a chain of common blocks connects;
/// `None` without trials.
fn connected(present: &[Vec<bool>]) -> Vec<Option<usize>> {
    let mut groups: Vec<Option<usize>> = vec![None; present.len()];
    let mut next = 0;
    for first in 0..present.len() {
        if groups[first].is_some() || !present[first].contains(&true) {
            continue;
        }
        let mut to_visit = vec![first];
        groups[first] = Some(next);
        while let Some(one) = to_visit.pop() {
            for other in 0..present.len() {
                let meet = groups[other].is_none()
                    && present[one].iter().zip(&present[other]).any(|(one, other)| *one && *other);
                if meet {
                    groups[other] = Some(next);
                    to_visit.push(other);
                }
            }
        }
        next += 1;
    }
    groups
}

/// The inverse of the reduced normal equations, which also contain the condition that the effects
/// of each group of connected configurations sum to zero.
fn inverse(present: &[Vec<bool>], in_block: &[usize], connected: &[Option<usize>]) -> Vec<Vec<f64>> {
    let rows = present.len();
    let mut matrix = vec![vec![0.0; rows]; rows];
    for (one, own) in present.iter().enumerate() {
        for (other, others) in present.iter().enumerate() {
            let shared = own.iter().zip(others).zip(in_block).filter(|((one, other), _)| **one && **other);
            matrix[one][other] -= shared.map(|(_, count)| 1.0 / *count as f64).sum::<f64>();
            if connected[one].is_some() && connected[one] == connected[other] {
                let size = connected.iter().filter(|group| **group == connected[one]).count();
                matrix[one][other] += 1.0 / size as f64;
            }
        }
        // A configuration without trials has no equation.
        matrix[one][one] += if own.contains(&true) { own.iter().filter(|is| **is).count() as f64 } else { 1.0 };
    }
    inverted(matrix)
}

/// Inverts by Gauss and Jordan; the matrix is symmetric and positive definite, so no pivoting is
/// needed.
fn inverted(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let size = matrix.len();
    let mut inverse: Vec<Vec<f64>> =
        (0..size).map(|row| (0..size).map(|column| f64::from(u8::from(row == column))).collect()).collect();
    for pivot in 0..size {
        let scale = 1.0 / matrix[pivot][pivot];
        matrix[pivot].iter_mut().chain(&mut inverse[pivot]).for_each(|value| *value *= scale);
        let (own, own_inverse) = (matrix[pivot].clone(), inverse[pivot].clone());
        for row in (0..size).filter(|row| *row != pivot) {
            let factor = matrix[row][pivot];
            if factor == 0.0 {
                continue;
            }
            matrix[row].iter_mut().zip(&own).for_each(|(value, pivot)| *value -= factor * pivot);
            inverse[row].iter_mut().zip(&own_inverse).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_design_in_two_parts_compares_within_each() {
        let layout = Layout::new(vec![
            vec![true, true, false, false],
            vec![true, true, false, false],
            vec![false, false, true, true],
            vec![false, false, true, true],
            vec![false; 4],
        ]);
        assert!(layout.can_know(&[(0, 1.0), (1, -1.0)]) && layout.can_know(&[(2, 1.0), (3, -1.0)]));
        assert!(!layout.can_know(&[(0, 1.0), (2, -1.0)]) && !layout.can_know(&[(0, 1.0), (4, -1.0)]));
        assert_eq!(layout.freedom(), 2);
    }

    #[test]
    fn closed_form_and_equations_agree() {
        let complete = Layout::new(vec![vec![true; 4]; 3]);
        let mut solved = complete.clone();
        solved.inverse = Some(inverse(&complete.present, &complete.in_block, &complete.connected));
        let values = [vec![1.0, 2.0, 4.0, 3.0], vec![0.5, 2.5, 3.0, 3.5], vec![2.0, 2.0, 1.0, 7.0]];
        let (one, other) = (complete.fit(&values), solved.fit(&values));
        for (one, other) in one.effects.iter().zip(&other.effects) {
            assert!((one - other).abs() < 1e-12, "{one} {other}");
        }
        let freedom: Vec<f64> = (0..3).map(|row| solved.own_freedom_of(row)).collect();
        assert!(
            freedom.iter().zip(&complete.own_freedom).all(|(one, other)| (one - other).abs() < 1e-12),
            "{freedom:?}"
        );
    }
}
