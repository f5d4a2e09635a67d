//! Every estimator against answers of scipy, statsmodels and ruptures. `vectors/make_vectors.py` says how they came about.

use iolab_statistics::{
    Bootstrap, Interval, Line, change_points, holm, quantile, rank_sum, rank_sum_interval, signed_rank,
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
