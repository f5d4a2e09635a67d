//! Trials that are typical of storage, without any difference between configurations, and noisy in
//! several ways.

use iolab_statistics::{Random, Weights};

/// Standard deviation of a trial's logarithm.
pub(crate) const NOISE: f64 = 0.05;

/// Changes normally distributed trials; by configuration and block.
pub(crate) type Strays = fn(&mut Random, &mut [Vec<f64>]);

/// By name.
pub(crate) const KINDS: [(&str, Strays); 9] = [
    ("normal", |_, _| {}),
    ("drift 3x", drift),
    ("heavy tails", |random, values| each(values, |value| *value = NOISE * student_of_three(random) / 3.0_f64.sqrt())),
    ("skewed", |random, values| each(values, |value| *value = NOISE * (random.normal().exp() - 1.649) / 2.161)),
    ("a stall 10x", |random, values| {
        let (row, block) = (random.below(values.len()), random.below(values[0].len()));
        values[row][block] -= 10.0_f64.ln();
    }),
    ("one 4x", |_, values| values[0].iter_mut().for_each(|value| *value *= 4.0)),
    ("half 3x", |_, values| values.iter_mut().step_by(2).flatten().for_each(|value| *value *= 3.0)),
    ("1x to 5x", |_, values| {
        let last = values.len() as f64 - 1.0;
        let rows = values.iter_mut().enumerate();
        rows.for_each(|(row, own)| own.iter_mut().for_each(|value| *value *= 1.0 + 4.0 * row as f64 / last));
    }),
    ("one block 6x", |_, values| values.iter_mut().for_each(|row| row[0] *= 6.0)),
];

fn each(values: &mut [Vec<f64>], change: impl FnMut(&mut f64)) {
    values.iter_mut().flatten().for_each(change);
}

fn student_of_three(random: &mut Random) -> f64 {
    let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
    random.normal() / (squares / 3.0).sqrt()
}

/// The machine is between one and three times as fast, in a random shape over the study; the trials
/// of a block run in random order.
fn drift(random: &mut Random, values: &mut [Vec<f64>]) {
    let (rows, blocks) = (values.len(), values[0].len());
    let phase = random.unit() * std::f64::consts::TAU;
    for block in 0..blocks {
        let mut order: Vec<usize> = (0..rows).collect();
        random.shuffle(&mut order);
        for (place, row) in order.into_iter().enumerate() {
            let part = (block * rows + place) as f64 / (rows * blocks) as f64;
            let speed = 2.0 + (phase + std::f64::consts::PI * part).sin();
            values[row].iter_mut().skip(block).take(1).for_each(|value| *value += speed.ln());
        }
    }
}

/// The trials of a study in which nothing differs, with the given kind of noise: logarithms by
/// configuration and block.
pub(crate) fn study(random: &mut Random, rows: usize, blocks: usize, strays: Strays) -> Vec<Vec<f64>> {
    let mut values: Vec<Vec<f64>> = (0..rows).map(|_| (0..blocks).map(|_| NOISE * random.normal()).collect()).collect();
    strays(random, &mut values);
    values
}

/// All pairs of configurations, as the second minus the first.
pub(crate) fn pairs(rows: usize) -> Vec<Weights> {
    (0..rows).flat_map(|one| (one + 1..rows).map(move |other| vec![(other, 1.0), (one, -1.0)])).collect()
}
