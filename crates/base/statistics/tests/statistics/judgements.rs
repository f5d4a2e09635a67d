//! Verdicts, steady states, change points and knees on worked examples.

use iolab_statistics::{
    Better, DecisionRules, Family, Magnitude, SniaRules, SteadyState, Verdict, change_points, cliffs_delta, compare,
    compare_unpaired, fio_deviation, fio_slope, knee, magnitude, median_interval, mser5, noise_variance,
    samples_needed, settle, size_of_ratio, snia, steady_segment,
};

#[test]
fn verdicts_follow_from_interval_and_zone() {
    let rules = DecisionRules::default();
    let base = [100.0, 150.0, 300.0, 120.0, 90.0, 200.0, 180.0];
    let times =
        |factors: [f64; 7]| -> Vec<f64> { base.iter().zip(factors).map(|(base, factor)| base * factor).collect() };
    let check = |factors: [f64; 7], better: Better, expected: Verdict| {
        let comparison = compare(&base, &times(factors), better, &rules).expect("sound values");
        assert_eq!(comparison.verdict, expected, "{factors:?}: {comparison:?}");
    };
    let larger = [1.10, 1.12, 1.08, 1.11, 1.09, 1.13, 1.10];
    check(larger, Better::Higher, Verdict::Better);
    check(larger, Better::Lower, Verdict::Worse);
    check([1.0; 7], Better::Higher, Verdict::Equivalent);
    check([1.005, 0.995, 1.01, 1.0, 0.99, 1.002, 0.998], Better::Lower, Verdict::Equivalent);
    // Significant, but too small to matter.
    check([1.010, 1.011, 1.009, 1.012, 1.010, 1.011, 1.009], Better::Higher, Verdict::Equivalent);
    check([1.5, 0.7, 1.2, 0.9, 1.1, 1.3, 0.8], Better::Higher, Verdict::Undecided { more_repeats: None });
    check([1.14, 1.02, 1.09, 0.98, 1.06, 0.99, 1.11], Better::Higher, Verdict::Undecided { more_repeats: Some(6) });
}

#[test]
fn too_few_blocks_give_a_size_and_no_verdict() {
    let rules = DecisionRules::default();
    let of = |baseline: &[f64], candidate: &[f64]| compare(baseline, candidate, Better::Higher, &rules);
    let two = of(&[1.0, 1.0], &[7.3, 7.7]).expect("sound values");
    assert_eq!(two.verdict, Verdict::Undecided { more_repeats: Some(1) });
    assert!(
        two.ratio.low < 7.3 && two.ratio.confidence == 0.95 && size_of_ratio(two.ratio.estimate) == Magnitude::Large
    );
    let one = of(&[1.0], &[7.5]).expect("sound values");
    assert_eq!(one.verdict, Verdict::Undecided { more_repeats: Some(2) });
    assert_eq!((one.ratio.low, one.ratio.confidence), (one.ratio.high, 0.0));
    // Three are enough for a large difference.
    assert_eq!(of(&[1.0, 1.0, 1.0], &[7.3, 7.5, 7.7]).expect("sound values").verdict, Verdict::Better);
    for (baseline, candidate) in
        [(&[1.0][..], &[][..]), (&[], &[]), (&[0.0], &[1.0]), (&[1.0], &[f64::NAN]), (&[1.0], &[-1.0])]
    {
        assert_eq!(compare(baseline, candidate, Better::Lower, &rules), None);
    }
}

#[test]
fn the_exact_test_stands_beside_and_decides_nothing() {
    let rules = DecisionRules::default();
    let of =
        |theirs: &[f64], ours: &[f64]| compare_unpaired(theirs, ours, Better::Lower, &rules).expect("sound values");
    let four = of(&[100.0, 101.0, 102.0, 103.0], &[120.0, 121.0, 122.0, 123.0]);
    assert_eq!((four.verdict, four.blocks, four.delta), (Verdict::Worse, 4, Some(1.0)));
    // Two of the 70 ways to choose four from eight.
    let exact = four.exact_p.expect("an exact test");
    assert!((exact - 2.0 / 70.0).abs() < 1e-12 && four.ratio.holds(1.2), "{four:?}");
    let alike = of(&[100.0, 100.1, 99.9, 100.2, 99.8], &[100.05, 100.15, 99.95, 100.0, 99.85]);
    assert_eq!(alike.verdict, Verdict::Equivalent);
    let two = of(&[100.0, 101.0], &[120.0, 121.0, 122.0]);
    assert_eq!(two.verdict, Verdict::Undecided { more_repeats: Some(1) });
    assert_eq!(compare_unpaired(&[], &[1.0], Better::Lower, &rules), None);
    assert_eq!(compare_unpaired(&[1.0, 0.0], &[1.0], Better::Lower, &rules), None);
}

#[test]
fn a_large_matrix_decides_with_few_blocks_too() {
    let rules = DecisionRules::default();
    let one = compare(&[1.0; 5], &[1.1, 1.12, 1.09, 1.11, 1.08], Better::Higher, &rules).expect("sound values");
    let mut matrix = vec![one.clone(); 27];
    settle(&mut matrix, &rules);
    assert_eq!(matrix[0].verdict, Verdict::Better);
    assert!(matrix[0].ratio.low < one.ratio.low && matrix[0].adjusted_p > one.adjusted_p);
    assert!(matrix[0].adjusted_p < 0.05 && one.exact_p == Some(0.0625), "the exact test of five blocks cannot say it");
}

#[test]
fn a_family_that_cannot_know_says_nothing() {
    let pair = vec![vec![(1, 1.0), (0, -1.0)]];
    let one = Family::new(&[vec![true], vec![true]], &pair);
    assert_eq!((one.freedom(), one.critical(0.95)), (0, None));
    let apart = Family::new(&[vec![true, false], vec![false, true]], &pair);
    assert_eq!(apart.state(&[vec![1.0, 0.0], vec![0.0, 2.0]]).stated, [None]);
    // Values that never differ have no spread, and no distance.
    let flat = Family::new(&vec![vec![true; 4]; 2], &pair);
    let stated = flat.state(&[vec![1.0, 2.0, 3.0, 4.0], vec![1.0, 2.0, 3.0, 4.0]]).stated[0].expect("connected");
    assert_eq!((stated.estimate, stated.error, stated.adjusted_p), (0.0, 0.0, 1.0));
}

#[test]
fn snia_judges_the_first_window_that_fits() {
    let rules = SniaRules::default();
    // A write cliff: fresh, then falling, then steady from the sixth round on.
    let cliff = [900.0, 850.0, 700.0, 450.0, 330.0, 300.0, 310.0, 295.0, 305.0, 300.0, 302.0];
    let SteadyState::Reached { start, end, mean, range, slope, line } = snia(&cliff, &rules) else {
        panic!("it settles: {:?}", snia(&cliff, &rules))
    };
    assert_eq!((start, end), (4, 9));
    assert!((mean - 308.0).abs() < 1e-9, "{mean}");
    assert!((range - 35.0 / 308.0).abs() < 1e-12, "{range}");
    // Products about the middle: -2·330 - 300 + 295 + 2·305 = -55; divided by 10: -5.5 per round.
    assert!((line.slope + 5.5).abs() < 1e-9 && (slope - 22.0 / 308.0).abs() < 1e-12, "{line:?}");
    assert_eq!(snia(&cliff[..4], &rules), SteadyState::NotYet { range: None, slope: None });
    assert!(matches!(snia(&cliff[..7], &rules), SteadyState::NotYet { range: Some(range), .. } if range > 0.2));
}

#[test]
fn snia_tells_excursion_of_data_from_excursion_of_the_line() {
    let rules = SniaRules::default();
    let check = |rounds: [f64; 5], is_steady: bool| {
        assert_eq!(matches!(snia(&rounds, &rules), SteadyState::Reached { .. }), is_steady, "{rounds:?}");
    };
    check([95.0, 105.0, 100.0, 95.0, 105.0], true);
    // Within 20 %, but rising by 12 % over the window.
    check([94.0, 97.0, 100.0, 103.0, 106.0], false);
    // Flat, but 24 % apart.
    check([100.0, 112.0, 100.0, 88.0, 100.0], false);
    // Exactly at both limits.
    check([95.0, 97.5, 100.0, 102.5, 105.0], true);
}

#[test]
fn snia_gives_up_at_round_25() {
    let rules = SniaRules::default();
    let sawtooth: Vec<f64> = (0..40).map(|round| 100.0 + 15.0 * f64::from(round % 2)).chain([100.0; 9]).collect();
    let sawtooth: Vec<f64> = sawtooth.iter().map(|value| if *value > 110.0 { 140.0 } else { *value }).collect();
    assert!(matches!(snia(&sawtooth[..24], &rules), SteadyState::NotYet { .. }));
    let SteadyState::GivenUp { range, .. } = snia(&sawtooth[..25], &rules) else { panic!("25 rounds are the end") };
    assert!(range > 0.2);
    // It would settle later, but that does not count.
    assert!(matches!(snia(&sawtooth, &rules), SteadyState::GivenUp { .. }));
}

#[test]
fn fio_judges_by_one_measure() {
    assert_eq!(fio_deviation(&[90.0, 100.0, 110.0]), Some(0.1));
    assert_eq!(fio_slope(&[90.0, 100.0, 110.0]), Some(0.1));
    assert_eq!(fio_slope(&[110.0, 100.0, 90.0]), Some(0.1));
    assert_eq!(fio_deviation(&[]), None);
    assert_eq!(fio_deviation(&[0.0, 0.0]), None);
}

#[test]
fn a_series_settles_where_its_last_level_begins() {
    let noise = [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1, 0.4, -0.3, 0.15];
    let series = |levels: &[(f64, usize)]| -> Vec<f64> {
        let flat = levels.iter().flat_map(|(level, count)| std::iter::repeat_n(*level, *count));
        flat.enumerate().map(|(place, level)| level + noise[place % noise.len()]).collect()
    };
    let start = |values: &[f64]| steady_segment(values, 0.05).map(|segment| segment.start);
    assert_eq!(start(&series(&[(50.0, 12), (20.0, 40)])), Some(12));
    assert_eq!(start(&series(&[(20.0, 30)])), Some(0));
    // A dip in the middle that ends again: only what follows it counts, and that is less than half.
    assert_eq!(start(&series(&[(20.0, 20), (5.0, 10), (20.0, 20)])), None);
    // Two levels within the tolerance count as one.
    assert_eq!(start(&series(&[(40.0, 10), (20.0, 20), (20.8, 20)])), Some(10));
    assert_eq!(start(&[]), None);
    assert_eq!(change_points(&[5.0; 8], 2, 1.0).len(), 1);
    assert!(noise_variance(&series(&[(50.0, 12), (20.0, 40)])) < 1.0, "a jump is not noise");
}

#[test]
fn mser_leaves_out_the_warm_up() {
    let values: Vec<f64> =
        (0..100).map(|place| if place < 20 { 100.0 - place as f64 * 4.0 } else { 20.0 + (place % 3) as f64 }).collect();
    assert_eq!(mser5(&values), 20);
    assert_eq!(mser5(&[1.0; 4]), 0);
    assert_eq!(mser5(&[1.0; 50]), 0);
}

#[test]
fn the_knee_is_where_waiting_begins() {
    // The M/M/1 queue: latency 1 / (1 - load).
    let queue: Vec<(f64, f64)> =
        (1..20).map(|step| (f64::from(step) * 0.05, 1.0 / (1.0 - f64::from(step) * 0.05))).collect();
    // Scaled, its slope is 1 where 1 / (1 - load)^2 = (20 - 1.0526) / 0.9: load 0.782.
    let place = knee(&queue).expect("it has a knee");
    assert!((queue[place].0 - 0.8).abs() < 0.051, "{:?}", queue[place]);
    let line: Vec<(f64, f64)> = (0..10).map(|step| (f64::from(step), f64::from(step))).collect();
    assert_eq!(knee(&line), None);
    assert_eq!(knee(&queue[..2]), None);
    assert_eq!(knee(&[(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)]), None);
}

#[test]
fn percentiles_need_ten_samples_beyond_them() {
    for (percent, needed) in [(50.0, 20), (99.0, 1000), (99.9, 10_000), (99.99, 100_000)] {
        assert_eq!(samples_needed(percent), needed, "{percent}");
    }
}

#[test]
fn effects_have_no_unit() {
    assert_eq!(cliffs_delta(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]), Some(1.0));
    assert_eq!(cliffs_delta(&[1.0, 2.0], &[1.0, 2.0]), Some(0.0));
    assert_eq!(cliffs_delta(&[1.0, 2.0, 3.0], &[2.0, 4.0]), Some(-0.5));
    assert_eq!(cliffs_delta(&[], &[1.0]), None);
    for (delta, word) in
        [(0.1, Magnitude::Negligible), (-0.2, Magnitude::Small), (0.4, Magnitude::Medium), (-1.0, Magnitude::Large)]
    {
        assert_eq!(magnitude(delta), word);
    }
}

#[test]
fn intervals_of_few_values_say_what_they_are_worth() {
    let interval = median_interval(&[3.0, 1.0, 2.0], 0.95).expect("there are values");
    assert_eq!((interval.low, interval.high), (1.0, 3.0));
    assert_eq!(interval.confidence, 0.75);
    assert_eq!(median_interval(&[], 0.95), None);
    assert_eq!(median_interval(&[f64::NAN], 0.95), None);
}
