//! Every estimator is compared with results of scipy, statsmodels and ruptures.
//! `vectors/make_vectors.py` shows how they were made.

use iolab_statistics::{
    Better, Bootstrap, Comparison, DecisionRules, Family, Interval, Line, Method, Weights, change_points, compare,
    compare_unpaired, critical_bound, holm, quantile, rank_sum, rank_sum_interval, settle, signed_rank,
    signed_rank_interval,
};
use serde_json::Value;

fn vectors(of: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("vectors/vectors.json")).expect("the vectors are JSON");
    let those = all[of].as_array().expect("a list of vectors").clone();
    assert!(!those.is_empty(), "no vectors of {of}");
    those
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number")).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[track_caller]
fn close(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs().max(1e-3), "{ours} is not {theirs}");
}

#[track_caller]
fn same(ours: Option<Interval>, theirs: &Value) {
    let (ours, theirs) = (ours.expect("an interval"), numbers(theirs));
    close(ours.estimate, theirs[0]);
    close(ours.low, theirs[1]);
    close(ours.high, theirs[2]);
    close(ours.confidence, theirs[3]);
}

#[test]
fn signed_rank_is_that_of_scipy() {
    for vector in vectors("signed_rank") {
        let ours = signed_rank(&numbers(&vector["x"])).expect("an answer");
        close(ours.statistic, number(&vector["statistic"]));
        close(ours.p_value, number(&vector["p"]));
    }
    for vector in vectors("signed_rank_interval") {
        same(signed_rank_interval(&numbers(&vector["x"]), number(&vector["confidence"])), &vector["interval"]);
    }
}

#[test]
fn rank_sum_is_that_of_scipy() {
    for vector in vectors("rank_sum") {
        let ours = rank_sum(&numbers(&vector["a"]), &numbers(&vector["b"])).expect("an answer");
        close(ours.statistic, number(&vector["u"]));
        close(ours.p_value, number(&vector["p"]));
    }
    for vector in vectors("rank_sum_interval") {
        let (a, b) = (numbers(&vector["a"]), numbers(&vector["b"]));
        same(rank_sum_interval(&a, &b, number(&vector["confidence"])), &vector["interval"]);
    }
}

#[test]
fn quantiles_are_those_of_numpy() {
    for vector in vectors("quantile") {
        close(quantile(&numbers(&vector["x"]), number(&vector["share"])).expect("a value"), number(&vector["value"]));
    }
}

#[test]
fn bootstrap_intervals_are_those_of_scipy() {
    for vector in vectors("bootstrap") {
        let bootstrap = Bootstrap::from_values(
            number(&vector["estimate"]),
            numbers(&vector["resampled"]),
            numbers(&vector["left_out"]),
        );
        let (bca, percentile) = (bootstrap.bca_interval(0.95), bootstrap.percentile_interval(0.95));
        let theirs = [numbers(&vector["bca"]), numbers(&vector["percentile"])].concat();
        for (ours, theirs) in [bca.low, bca.high, percentile.low, percentile.high].into_iter().zip(theirs) {
            close(ours, theirs);
        }
    }
}

#[test]
fn holm_is_that_of_statsmodels() {
    for vector in vectors("holm") {
        for (ours, theirs) in holm(&numbers(&vector["p"])).into_iter().zip(numbers(&vector["adjusted"])) {
            close(ours, theirs);
        }
    }
}

#[test]
fn lines_are_those_of_scipy() {
    for vector in vectors("line") {
        let ours = Line::through(&numbers(&vector["x"])).expect("a line");
        close(ours.slope, number(&vector["slope"]));
        close(ours.start, number(&vector["start"]));
    }
}

#[test]
fn change_points_are_those_of_ruptures() {
    for vector in vectors("change_points") {
        let least = vector["least"].as_u64().expect("a number") as usize;
        let ours = change_points(&numbers(&vector["x"]), least, number(&vector["penalty"]));
        let ends: Vec<f64> = ours.iter().map(|segment| segment.end as f64).collect();
        assert_eq!(ends, numbers(&vector["ends"]), "least {least}");
    }
}

/// Cells of a design; 0 where there is no trial.
fn grid(vector: &Value) -> (Vec<Vec<bool>>, Vec<Vec<f64>>) {
    let rows = || vector.as_array().expect("rows").iter().map(|row| row.as_array().expect("cells"));
    let present = rows().map(|row| row.iter().map(|cell| !cell.is_null()).collect());
    let values = rows().map(|row| row.iter().map(|cell| cell.as_f64().unwrap_or(0.0)).collect());
    (present.collect(), values.collect())
}

#[test]
fn designs_with_and_without_missing_trials_are_fitted_as_by_statsmodels() {
    for vector in vectors("block_design") {
        let (present, values) = grid(&vector["values"]);
        let differences = vector["differences"].as_array().expect("differences");
        let pairs = differences.iter().map(numbers);
        let weights: Vec<Weights> = pairs.map(|pair| vec![(pair[1] as usize, 1.0), (pair[0] as usize, -1.0)]).collect();
        let family = Family::with(&present, &weights, Method::TEXTBOOK);
        assert_eq!(family.freedom(), number(&vector["freedom"]) as usize);
        let statements = family.state(&values);
        close(statements.spread, number(&vector["spread"]));
        let spreads = numbers(&vector["spreads"]);
        for (stated, difference) in statements.stated.iter().zip(differences) {
            let (stated, difference) = (stated.expect("all are connected"), numbers(difference));
            close(stated.estimate, difference[2]);
            close(stated.error, difference[3]);
        }
        // With their own spreads, errors are those of the sandwich estimator.
        for (number, difference) in differences.iter().enumerate() {
            close(family.variance(number, &spreads).expect("connected"), numbers(difference)[4]);
        }
        for (ours, theirs) in family.own_freedom().iter().zip(numbers(&vector["own_freedom"])) {
            close(*ours, theirs);
        }
    }
}

/// They come from a simulation, and are never too narrow.
#[test]
fn joint_limits_are_those_of_tukey_and_dunnett() {
    for vector in vectors("joint") {
        let count = |key: &str| number(&vector[key]) as usize;
        let (rows, blocks) = (count("configurations"), count("blocks"));
        let present = vec![vec![true; blocks]; rows];
        let against = |one: usize| (one + 1..rows).map(move |other| vec![(other, 1.0), (one, -1.0)]);
        let pairs: Vec<Weights> = (0..rows).flat_map(against).collect();
        let with_first: Vec<Weights> = against(0).collect();
        for (weights, theirs) in [(pairs, "tukey"), (with_first, "dunnett")] {
            let ours = Family::with(&present, &weights, Method::TEXTBOOK).critical(0.95).expect("a spread");
            let theirs = number(&vector[theirs]);
            assert!((0.985..1.04).contains(&(ours / theirs)), "{rows} x {blocks}: {ours} is not {theirs}");
        }
    }
}

#[test]
fn two_sides_are_compared_as_by_student_welch_and_sidak() {
    let rules = DecisionRules::default();
    let logs = |comparison: &Comparison| comparison.ratio.map(f64::ln);
    let check = |ours: &Comparison, theirs: &[f64]| {
        let ratio = logs(ours);
        for (ours, theirs) in [ratio.estimate, ratio.low, ratio.high].into_iter().zip(theirs) {
            close(ours, *theirs);
        }
        close(ours.adjusted_p, (theirs[3] / 0.75).min(1.0));
    };
    let mut apart = Vec::new();
    for vector in vectors("students") {
        let (a, b) = (numbers(&vector["a"]), numbers(&vector["b"]));
        if !vector["paired"].is_null() {
            check(&compare(&a, &b, Better::Higher, &rules).expect("sound"), &numbers(&vector["paired"]));
        }
        let ours = compare_unpaired(&a, &b, Better::Higher, &rules).expect("sound");
        check(&ours, &numbers(&vector["apart"]));
        close(ours.freedom, number(&vector["freedom"]));
        apart.push(ours);
    }
    settle(&mut apart, &rules);
    for (ours, theirs) in apart.iter().zip(numbers(&vectors("sidak")[0]["adjusted"])) {
        close(ours.adjusted_p, (theirs / 0.75).min(1.0));
    }
    for vector in vectors("critical_bound") {
        let statements = number(&vector["statements"]) as usize;
        close(critical_bound(statements, number(&vector["freedom"]), 0.95), number(&vector["critical"]));
    }
}
