//! Simulated data whose truth is known: intervals contain it as often as they claim, and equal
//! configurations are rarely called different, even while the machine drifts. Seeds are fixed, so
//! the counts are always the same.

use iolab_histogram::{Histogram, SparseHistogram};
use iolab_statistics::{
    Better, Bootstrap, DecisionRules, Random, Verdict, compare, mean_interval, median_interval, percentile_intervals,
    quantile, rank_sum, rank_sum_interval, ratio_interval, settle, signed_rank_interval,
};

const STUDIES: usize = 8000;
/// The number of studies for tests that resample each one.
const RESAMPLED: usize = 600;

/// The percentage of simulated studies for which `holds` says that the interval contains the truth.
fn coverage(studies: usize, seed: u64, holds: impl Fn(&mut Random) -> bool) -> f64 {
    let mut random = Random::new(seed);
    100.0 * (0..studies).filter(|_| holds(&mut random)).count() as f64 / studies as f64
}

fn normals(random: &mut Random, count: usize, mean: f64) -> Vec<f64> {
    (0..count).map(|_| mean + random.normal()).collect()
}

/// Skewed, median 1, as latencies are.
fn log_normals(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| random.normal().exp()).collect()
}

fn assert_covers(name: &str, percent: f64) {
    assert!((94.0..=96.0).contains(&percent), "{name}: the intervals hold the truth in {percent} % of studies");
}

#[test]
fn paired_intervals_hold_the_truth() {
    for blocks in [7, 10, 20] {
        let holds = |random: &mut Random| {
            signed_rank_interval(&normals(random, blocks, 0.3), 0.95).is_some_and(|interval| interval.holds(0.3))
        };
        assert_covers(&format!("signed rank, {blocks} blocks"), coverage(STUDIES, blocks as u64, holds));
    }
}

#[test]
fn unpaired_intervals_hold_the_truth() {
    let holds = |random: &mut Random| {
        let (first, second) = (normals(random, 10, 2.0), normals(random, 9, 1.0));
        rank_sum_interval(&first, &second, 0.95).is_some_and(|interval| interval.holds(1.0))
    };
    assert_covers("rank sum", coverage(STUDIES, 1, holds));
}

#[test]
fn median_intervals_hold_the_truth_of_skewed_data() {
    for trials in [7, 12, 25] {
        let holds = |random: &mut Random| {
            median_interval(&log_normals(random, trials), 0.95).is_some_and(|interval| interval.holds(1.0))
        };
        assert_covers(&format!("median, {trials} trials"), coverage(STUDIES, trials as u64, holds));
    }
}

/// Why the comparison does not bootstrap seven blocks: with so few, the intervals of resampling
/// contain the truth less often than they claim.
#[test]
fn resampling_few_blocks_promises_too_much() {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let percent = |blocks: usize, seed: u64| {
        coverage(RESAMPLED, seed, |random| {
            let values = normals(random, blocks, 0.3);
            Bootstrap::new(&values, mean, 500, 7).is_some_and(|bootstrap| bootstrap.bca_interval(0.95).holds(0.3))
        })
    };
    assert!(percent(7, 1) < 93.0);
    assert!((93.0..=97.0).contains(&percent(60, 5)));
}

/// One run of two minutes, second by second, whose level varies slowly: the latencies of each
/// second are exponential about it.
fn latencies(random: &mut Random) -> Vec<Vec<f64>> {
    let mut level = 0.0;
    let mut second = |random: &mut Random| -> Vec<f64> {
        level = 0.3 * level + 0.05 * random.normal();
        (0..200).map(|_| -1e6 * f64::exp(level) * (1.0 - random.unit()).ln()).collect()
    };
    (0..120).map(|_| second(random)).collect()
}

fn wandering_run(random: &mut Random) -> Vec<SparseHistogram> {
    let histogram = |values: Vec<f64>| {
        let mut second = Histogram::new();
        values.iter().for_each(|value| second.add(*value as u64));
        second.to_sparse()
    };
    latencies(random).into_iter().map(histogram).collect()
}

#[test]
fn percentile_intervals_hold_the_truth_of_dependent_latencies() {
    // The truth is taken from many runs of the same kind.
    let mut random = Random::new(99);
    let all: Vec<f64> = (0..200).flat_map(|_| latencies(&mut random)).flatten().collect();
    let truth = [0.5, 0.99].map(|share| quantile(&all, share).expect("there are values"));
    let mut held = [0, 0];
    for study in 0..RESAMPLED {
        let run = wandering_run(&mut random);
        let intervals = percentile_intervals(&run, &[50.0, 99.0], 0.95, 200, study as u64);
        for ((interval, truth), held) in intervals.iter().zip(truth).zip(&mut held) {
            *held += i32::from(interval.expect("there are enough samples").holds(truth));
        }
    }
    for held in held {
        let percent = 100.0 * f64::from(held) / RESAMPLED as f64;
        assert!((93.0..=97.0).contains(&percent), "the intervals hold the truth in {percent} % of runs");
    }
    let few = percentile_intervals(&wandering_run(&mut random), &[99.9, 99.99], 0.95, 50, 1);
    assert!(few[0].is_some() && few[1].is_none(), "24,000 samples are enough for p99.9, not for p99.99");
}

/// Two minutes of a rate that varies slowly around 1000.
fn wandering_rate(random: &mut Random) -> Vec<f64> {
    let mut level = 0.0;
    let mut second = |random: &mut Random| {
        level = 0.3 * level + 50.0 * random.normal();
        1000.0 + level
    };
    (0..120).map(|_| second(random)).collect()
}

#[test]
fn intervals_of_mean_rates_and_of_their_ratio_hold_the_truth() {
    let (mut rates, mut ratios) = (0, 0);
    let mut random = Random::new(17);
    for study in 0..RESAMPLED {
        let mut interval = |factor: f64| {
            let values: Vec<f64> = wandering_rate(&mut random).iter().map(|value| value * factor).collect();
            mean_interval(&values, 0.95, 500, study as u64).expect("there are enough intervals")
        };
        let (baseline, candidate) = (interval(1.0), interval(1.1));
        rates += i32::from(baseline.holds(1000.0));
        ratios += i32::from(ratio_interval(&baseline, &candidate).expect("rates are positive").holds(1.1));
    }
    for (held, of) in [(rates, "rates"), (ratios, "ratios")] {
        let percent = 100.0 * f64::from(held) / RESAMPLED as f64;
        assert!((92.5..=97.5).contains(&percent), "the intervals of {of} hold the truth in {percent} % of runs");
    }
    assert_eq!(mean_interval(&[1.0; 9], 0.95, 200, 1), None, "nine stretches are too few");
}

/// The speed of the machine, from 1 to 3 over the study, in a random shape.
fn drift(random: &mut Random, steps: usize) -> Vec<f64> {
    let phase = random.unit() * std::f64::consts::TAU;
    let level = |step: usize| 2.0 + (phase + std::f64::consts::PI * step as f64 / steps as f64).sin();
    (0..steps).map(level).collect()
}

/// Two equal configurations on the same drifting machine, measured in blocks in random order, and
/// one after the other.
fn equal_configurations(random: &mut Random, blocks: usize) -> ([Vec<f64>; 2], [Vec<f64>; 2]) {
    let speeds = drift(random, 2 * blocks);
    let measure = |random: &mut Random, step: usize| speeds[step] * (0.03 * random.normal()).exp() * 1e5;
    let after: [Vec<f64>; 2] =
        [0, 1].map(|which| (0..blocks).map(|trial| measure(random, which * blocks + trial)).collect());
    let mut interleaved: [Vec<f64>; 2] = Default::default();
    for block in 0..blocks {
        let values = [measure(random, 2 * block), measure(random, 2 * block + 1)];
        let first = random.below(2);
        interleaved[0].push(values[first]);
        interleaved[1].push(values[1 - first]);
    }
    (interleaved, after)
}

#[test]
fn equal_configurations_are_seldom_called_different_while_the_machine_drifts() {
    let rules = DecisionRules::default();
    let mut random = Random::new(3);
    let (mut in_blocks, mut in_turn) = (0, 0);
    for _ in 0..STUDIES {
        let (blocks, after) = equal_configurations(&mut random, 7);
        let comparison = compare(&blocks[0], &blocks[1], Better::Higher, &rules).expect("sound values");
        in_blocks += i32::from(matches!(comparison.verdict, Verdict::Better | Verdict::Worse));
        in_turn += i32::from(rank_sum(&after[0], &after[1]).expect("an answer").p_value < 0.05);
    }
    let percent = |count: i32| 100.0 * f64::from(count) / STUDIES as f64;
    assert!(percent(in_blocks) <= 5.0, "in blocks: {} % false alarms", percent(in_blocks));
    assert!(percent(in_turn) > 30.0, "run after run: {} % false alarms", percent(in_turn));
}

#[test]
fn a_matrix_of_equal_configurations_has_no_more_false_alarms_than_one() {
    let rules = DecisionRules::default();
    let mut random = Random::new(4);
    let mut alarms = 0;
    for _ in 0..STUDIES {
        let mut matrix: Vec<_> = (0..6)
            .map(|_| {
                let (blocks, _) = equal_configurations(&mut random, 12);
                compare(&blocks[0], &blocks[1], Better::Lower, &rules).expect("sound values")
            })
            .collect();
        settle(&mut matrix, &rules);
        let is_alarm = |verdict| matches!(verdict, Verdict::Better | Verdict::Worse);
        alarms += i32::from(matrix.iter().any(|comparison| is_alarm(comparison.verdict)));
    }
    let percent = 100.0 * f64::from(alarms) / STUDIES as f64;
    assert!(percent <= 5.0, "{percent} % of matrices have a false alarm");
}
