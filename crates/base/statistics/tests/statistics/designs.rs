//! Block designs whose truth is known: intervals of all pairs contain it simultaneously as often as
//! they claim, equal configurations are rarely called different however trials vary, and
//! differences of common size are found. Seeds are fixed, so the counts are always the same.

use iolab_statistics::{
    Better, Comparison, DecisionRules, Evidence, Family, Pairing, Random, VERY_FAR, Verdict, decidable, more_repeats,
};

use crate::strays::{KINDS, NOISE, Strays, pairs, study};

const STUDIES: usize = 20_000;

/// A complete design, with the family of all its pairs.
struct Plan {
    rows: usize,
    blocks: usize,
    family: Family,
    critical: f64,
}

impl Plan {
    fn new(rows: usize, blocks: usize) -> Plan {
        let family = Family::new(&vec![vec![true; blocks]; rows], &pairs(rows));
        let critical = family.critical(0.95).expect("a spread is known");
        Plan { rows, blocks, family, critical }
    }

    /// The percentage of studies, moved by `effects`, in which all intervals contain the truth.
    fn coverage(&self, seed: u64, strays: Strays, effects: fn(usize) -> f64) -> f64 {
        let mut random = Random::new(seed);
        let mut held = 0;
        for _ in 0..STUDIES {
            let mut values = study(&mut random, self.rows, self.blocks, strays);
            let rows = values.iter_mut().enumerate();
            rows.for_each(|(row, own)| own.iter_mut().for_each(|value| *value += effects(row)));
            let stated = self.family.state(&values).stated;
            let holds = |(stated, weights): (&Option<iolab_statistics::Stated>, Vec<(usize, f64)>)| {
                let stated = stated.expect("the design is complete");
                let truth: f64 = weights.iter().map(|(row, weight)| weight * effects(*row)).sum();
                (stated.estimate - truth).abs() <= self.critical * stated.error
            };
            held += usize::from(stated.iter().zip(pairs(self.rows)).all(holds));
        }
        100.0 * held as f64 / STUDIES as f64
    }

    /// The percentage of studies in which the verdict calls the last configuration better than the
    /// first.
    fn power(&self, seed: u64, strays: Strays, ratio: f64) -> f64 {
        let mut random = Random::new(seed);
        let mut found = 0;
        for _ in 0..STUDIES {
            let mut values = study(&mut random, self.rows, self.blocks, strays);
            values[self.rows - 1].iter_mut().for_each(|value| *value += ratio.ln());
            found += usize::from(self.last_against_first(&values).verdict == Verdict::Better);
        }
        100.0 * found as f64 / STUDIES as f64
    }

    fn last_against_first(&self, values: &[Vec<f64>]) -> Comparison {
        let stated = self.family.state(values).stated[self.rows - 2].expect("the design is complete");
        let evidence = Evidence {
            repeats: self.blocks,
            pairing: Pairing::Blocks,
            estimate: stated.estimate,
            error: stated.error,
            freedom: self.family.freedom() as f64,
            critical: Some(self.critical),
            adjusted_p: stated.adjusted_p,
        };
        Comparison::new(&evidence, Better::Higher, &DecisionRules::default())
    }
}

fn strays(name: &str) -> Strays {
    KINDS.iter().find(|kind| kind.0 == name).expect("a kind of strays").1
}

#[test]
fn all_intervals_together_hold_the_truth() {
    for (rows, blocks) in [(9, 5), (4, 5), (2, 7), (3, 10)] {
        let plan = Plan::new(rows, blocks);
        for kind in ["normal", "drift 3x"] {
            let percent = plan.coverage(rows as u64, strays(kind), |row| 0.4 * row as f64);
            assert!((94.0..=96.0).contains(&percent), "{rows} x {blocks}, {kind}: {percent} % of studies");
        }
    }
}

#[test]
fn equal_configurations_are_seldom_called_different_however_trials_stray() {
    for (rows, blocks) in [(9, 5), (4, 7), (2, 7)] {
        let plan = Plan::new(rows, blocks);
        for (seed, (name, strays)) in KINDS.iter().enumerate() {
            let alarms = 100.0 - plan.coverage(seed as u64, *strays, |_| 0.0);
            assert!(alarms <= 5.0, "{rows} x {blocks}, {name}: {alarms} % of studies have a false alarm");
        }
    }
}

#[test]
fn differences_of_everyday_size_are_found() {
    for (rows, blocks, ratio, least) in [(9, 5, 1.25, 95.0), (2, 3, 2.0, 99.0), (9, 3, 2.0, 99.0), (2, 7, 1.12, 90.0)] {
        let percent = Plan::new(rows, blocks).power(5, strays("normal"), ratio);
        assert!(percent >= least, "{rows} x {blocks}: {ratio} is found in {percent} % of studies");
    }
    // A stall in one of 45 trials does not hide it, nor do heavy tails.
    let plan = Plan::new(9, 5);
    for (kind, least) in [("a stall 10x", 80.0), ("heavy tails", 95.0)] {
        let percent = plan.power(6, strays(kind), 1.25);
        assert!(percent >= least, "{kind}: found in {percent} % of studies");
    }
}

#[test]
fn a_stall_is_told() {
    let plan = Plan::new(9, 5);
    let mut random = Random::new(8);
    let (mut told, mut others) = (0, 0);
    for _ in 0..1000 {
        let mut values = study(&mut random, 9, 5, strays("normal"));
        values[3][2] -= 10.0_f64.ln();
        let mut far = plan.family.state(&values).far;
        far.retain(|one| one.spreads >= VERY_FAR);
        told += usize::from(far.iter().any(|one| (one.configuration, one.block) == (3, 2) && one.distance < -2.0));
        others += far.len() - 1;
    }
    assert_eq!(told, 1000);
    assert!(others < 50, "{others} ordinary trials of 44,000 were called far");
}

/// Missing trials lose only their own information: the intervals still contain the truth.
#[test]
fn missing_trials_leave_the_rest_sound() {
    let mut present = vec![vec![true; 6]; 5];
    for (row, block) in [(0, 1), (2, 3), (2, 4), (4, 0)] {
        present[row][block] = false;
    }
    let family = Family::new(&present, &pairs(5));
    let critical = family.critical(0.95).expect("a spread is known");
    let mut random = Random::new(9);
    let mut held = 0;
    for _ in 0..STUDIES {
        let mut values = study(&mut random, 5, 6, strays("normal"));
        // The value of a trial that does not exist makes no difference.
        values[2][3] = 1e6;
        let stated = family.state(&values).stated;
        held += usize::from(stated.iter().flatten().all(|one| one.estimate.abs() <= critical * one.error));
    }
    let percent = 100.0 * held as f64 / STUDIES as f64;
    assert!((94.0..=97.0).contains(&percent), "{percent} % of studies");
}

#[test]
fn as_many_more_repeats_as_are_named_decide_four_times_of_five() {
    let rules = DecisionRules::default();
    // 6 % between two of four configurations: three blocks cannot decide.
    let (few, ratio) = (Plan::new(4, 3), 1.06_f64);
    let error = NOISE * (2.0 / 3.0_f64).sqrt();
    let evidence = Evidence {
        repeats: 3,
        pairing: Pairing::Blocks,
        estimate: ratio.ln(),
        error,
        freedom: few.family.freedom() as f64,
        critical: Some(few.critical),
        adjusted_p: 1.0,
    };
    let comparison = Comparison::new(&evidence, Better::Higher, &rules);
    let more = more_repeats(&comparison, &rules).expect("it can be decided");
    assert_eq!(comparison.verdict, Verdict::Undecided { more_repeats: Some(more) });
    let percent = Plan::new(4, 3 + more).power(10, strays("normal"), ratio);
    assert!((72.0..=92.0).contains(&percent), "{more} more: found in {percent} % of studies");
    // What a plan predicts before anything is measured is true, too.
    let plan = Plan::new(9, 5);
    let promised = decidable(&plan.family, 0, NOISE, &rules).expect("five blocks");
    let percent = plan.power(11, strays("normal"), 1.0 + promised);
    assert!((70.0..=92.0).contains(&percent), "{promised}: found in {percent} % of studies");
}

#[test]
fn a_plan_knows_the_limits_to_a_few_percent() {
    for (rows, blocks) in [(2, 10), (3, 5), (12, 7), (40, 9)] {
        let present = vec![vec![true; blocks]; rows];
        let exact = Family::new(&present, &pairs(rows)).critical(0.95).expect("a spread is known");
        let planned = Family::for_plan(&present, &pairs(rows)).critical(0.95).expect("a spread is known");
        assert!((0.93..1.10).contains(&(planned / exact)), "{rows} x {blocks}: {planned} for {exact}");
    }
}
