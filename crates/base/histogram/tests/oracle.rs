//! The histogram against two oracles: the sorted values themselves, and HdrHistogram at three
//! significant digits.
//!
//! The streams are recorded latencies of real engines, and adversarial ones: values at the limits
//! of every bucket and beside them, constants, two values, heavy tails up to hours, the extremes of
//! `u64`.

use hdrhistogram::Histogram as Hdr;
use iolab_histogram::{BUCKETS, Histogram, SparseHistogram, bucket_low};
use iolab_random::SplitMix64;
use proptest::prelude::*;

const HOUR: u64 = 3_600_000_000_000;
/// From here on, everything is counted in the last bucket: 2^46 ns, 19.5 hours.
const RANGE: u64 = 1 << 46;
const PERCENTILES: [f64; 14] = [0.0, 0.1, 1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];

/// Latencies of reads of 4 KiB: from memory, from a disk, and from a disk with a deep queue.
const RECORDED: &str = include_str!("recorded.txt");

fn histogram_of(values: &[u64]) -> SparseHistogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.add(*value));
    histogram.to_sparse()
}

/// The error that the format allows: half a bucket, 1/128 of the value; none below 128.
fn allowed(truth: u64) -> u64 {
    if truth < 128 { 0 } else { truth / 128 }
}

/// Every percentile is within the allowed error of that of the sorted values; minimum, maximum, and
/// mean are exact.
fn check_against_values(what: &str, values: &[u64]) {
    let sparse = histogram_of(values);
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
    assert_eq!((sparse.count, sparse.min, sparse.max), (values.len() as u64, least, most), "{what}");
    for percent in PERCENTILES {
        let rank = ((percent / 100.0 * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
        let (truth, found) = (sorted[rank - 1], sparse.percentile(percent));
        assert!(found.abs_diff(truth) <= allowed(truth), "{what}, p{percent}: {found} for {truth}");
        assert!((least..=most).contains(&found), "{what}, p{percent}: {found} is outside of what was counted");
    }
    let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
    assert_eq!(sparse.sum, sum, "{what}");
}

/// HdrHistogram gives the same percentiles, within the errors of both.
fn check_against_hdr(what: &str, values: &[u64]) {
    let mut hdr = Hdr::<u64>::new_with_bounds(1, RANGE, 3).unwrap();
    values.iter().for_each(|value| hdr.record((*value).max(1)).unwrap());
    let sparse = histogram_of(values);
    for percent in PERCENTILES {
        let (theirs, ours) = (hdr.value_at_percentile(percent), sparse.percentile(percent));
        let both = allowed(theirs) + theirs / 1000 + 1;
        assert!(ours.abs_diff(theirs) <= both, "{what}, p{percent}: {ours}, HdrHistogram {theirs}");
    }
}

fn adversarial() -> Vec<(&'static str, Vec<u64>)> {
    let mut random = SplitMix64::new(7);
    let mut drawn =
        |draw: fn(&mut SplitMix64) -> f64| (0..50_000).map(|_| draw(&mut random) as u64).collect::<Vec<u64>>();
    let edges: Vec<u64> = (1..BUCKETS).flat_map(|index| [bucket_low(index) - 1, bucket_low(index)]).collect();
    let powers: Vec<u64> = (0..46).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).collect();
    let mut rare = vec![50; 99_999];
    rare.push(17 * HOUR);
    vec![
        ("edges of all buckets", edges),
        ("around powers of two", powers),
        ("a constant", vec![123_457; 1000]),
        ("one value", vec![19 * HOUR]),
        ("nothing but zero", vec![0; 10]),
        ("two points, half each", [vec![100; 500], vec![HOUR; 500]].concat()),
        ("two points, 99 to 1", [vec![1_000; 990], vec![1_000_000_000; 10]].concat()),
        ("one in a hundred thousand", rare),
        ("consecutive", (0..100_000).collect()),
        ("uniform to an hour", drawn(|random| random.unit() * HOUR as f64)),
        ("exponential", drawn(|random| -random.unit().ln() * 1e5)),
        ("Pareto, to hours", drawn(|random| (1_000.0 * random.unit().powf(-1.0 / 0.4)).min(RANGE as f64 - 1.0))),
        ("log-uniform", drawn(|random| 2_f64.powf(random.unit() * 45.9))),
    ]
}

fn recorded() -> Vec<(String, Vec<u64>)> {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    let streams = lines.filter_map(|line| line.split_once(':'));
    streams
        .map(|(name, values)| (name.to_owned(), values.split_whitespace().map(|v| v.parse().unwrap()).collect()))
        .collect()
}

#[test]
fn recorded_streams() {
    let streams = recorded();
    assert!(streams.len() >= 3);
    for (name, values) in streams {
        assert!(values.len() >= 500, "{name}");
        check_against_values(&name, &values);
        check_against_hdr(&name, &values);
    }
}

#[test]
fn adversarial_streams() {
    for (name, values) in adversarial() {
        check_against_values(name, &values);
        check_against_hdr(name, &values);
    }
}

#[test]
fn what_is_too_slow_for_the_buckets_keeps_its_maximum() {
    let values = [1, RANGE - 1, RANGE, 1 << 50, u64::MAX];
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.add(*value));
    let sparse = histogram.to_sparse();
    assert_eq!((sparse.count, sparse.min, sparse.max), (5, 1, u64::MAX));
    assert!(sparse.percentile(100.0) >= bucket_low(BUCKETS - 1), "the last bucket is open at its upper end");
    assert_eq!(histogram_of(&[u64::MAX]).percentile(50.0), u64::MAX, "what alone was counted is known exactly");
}

#[test]
fn many_at_once_are_as_many_one_by_one() {
    let (mut together, mut apart) = (Histogram::new(), Histogram::new());
    for (value, times) in [(5, 3), (70_000, 1), (HOUR, 12)] {
        together.add_many(value, times);
        (0..times).for_each(|_| apart.add(value));
    }
    let (together, apart) = (together.to_sparse(), apart.to_sparse());
    assert_eq!((&together.buckets, together.sum, together.max), (&apart.buckets, apart.sum, apart.max));
    assert!((together.sum_of_squares / apart.sum_of_squares - 1.0).abs() < 1e-12);
}

/// Everything but the sum of squares, which is a float and depends on the order of additions.
fn exact(sparse: &SparseHistogram) -> (u64, u64, u64, u128, &[(u32, u64)]) {
    (sparse.count, sparse.min, sparse.max, sparse.sum, &sparse.buckets)
}

fn merged(one: &SparseHistogram, other: &SparseHistogram) -> SparseHistogram {
    let mut sum = one.clone();
    sum.merge(other);
    sum
}

/// Values of every magnitude, with limits of buckets more often than by chance.
fn latency() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..RANGE,
        (0..46_u32, any::<u64>()).prop_map(|(bits, value)| value & ((1 << bits) - 1)),
        (1..BUCKETS).prop_map(bucket_low),
        (1..BUCKETS).prop_map(|index| bucket_low(index) - 1),
    ]
}

fn latencies() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(latency(), 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_stream_is_within_the_error(values in prop::collection::vec(latency(), 1..300)) {
        check_against_values("any", &values);
        check_against_hdr("any", &values);
    }

    #[test]
    fn any_percentile_is_within_the_error(values in prop::collection::vec(latency(), 1..300), percent in 0.0..=100.0_f64) {
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let rank = ((percent / 100.0 * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
        let (truth, found) = (sorted[rank - 1], histogram_of(&values).percentile(percent));
        prop_assert!(found.abs_diff(truth) <= allowed(truth), "p{}: {} for {}", percent, found, truth);
    }

    #[test]
    fn percentiles_ascend(values in prop::collection::vec(any::<u64>(), 1..100), one in 0.0..=100.0, other in 0.0..=100.0) {
        let sparse = histogram_of(&values);
        let (low, high) = if one < other { (one, other) } else { (other, one) };
        prop_assert!(sparse.percentile(low) <= sparse.percentile(high));
        prop_assert!(sparse.percentile(high) <= sparse.max && sparse.percentile(low) >= sparse.min);
    }

    #[test]
    fn merging_is_associative_and_commutative_and_loses_nothing(a in latencies(), b in latencies(), c in latencies()) {
        let all = histogram_of(&[a.as_slice(), &b, &c].concat());
        let (a, b, c) = (histogram_of(&a), histogram_of(&b), histogram_of(&c));
        let left = merged(&merged(&a, &b), &c);
        let right = merged(&a, &merged(&b, &c));
        let backwards = merged(&merged(&c, &b), &a);
        let with_nothing = merged(&a, &SparseHistogram::default());
        prop_assert_eq!(exact(&left), exact(&right));
        prop_assert_eq!(exact(&left), exact(&backwards));
        prop_assert_eq!(exact(&left), exact(&all));
        prop_assert!((left.sum_of_squares - all.sum_of_squares).abs() <= all.sum_of_squares * 1e-9);
        prop_assert_eq!(exact(&with_nothing), exact(&a));
    }

    #[test]
    fn live_and_recorded_histograms_merge_alike(a in latencies(), b in latencies()) {
        let (mut live, mut other) = (Histogram::new(), Histogram::new());
        a.iter().for_each(|value| live.add(*value));
        b.iter().for_each(|value| other.add(*value));
        live.merge(&other);
        let (live, recorded) = (live.to_sparse(), merged(&histogram_of(&a), &histogram_of(&b)));
        prop_assert_eq!(exact(&live), exact(&recorded));
    }
}
