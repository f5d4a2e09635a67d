//! Tests of the judge, on workers that publish the test's figures.

use super::*;

const S: u64 = 1_000_000_000;

fn plan(samples: u32, slope: bool, limit: f64, percent: bool) -> SteadyPlan {
    SteadyPlan { measure: SteadyMeasure::Iops, slope, limit, percent, samples, interval_ns: S, ramp_ns: 0 }
}

fn judge<'a>(control: &'a Control, plan: SteadyPlan, workers: usize) -> Steady<'a> {
    Steady::new(&Peers { control, plan, places: (0..workers).collect() })
}

/// Publishes this number of further operations of 512 bytes in each second, and samples. Returns
/// the seconds after which it was steady.
fn seconds_until_steady(plan: SteadyPlan, rates: &[u64]) -> (Option<usize>, SteadyRecording) {
    let control = Control::new(1).unwrap();
    let mut steady = judge(&control, plan, 1);
    steady.begin(0);
    assert!(!steady.look(0), "nothing is judged at the start");
    let mut ios = 0;
    for (second, rate) in rates.iter().enumerate() {
        ios += rate;
        let now_ns = (second as u64 + 1) * S;
        control.worker_control(0).publish(&[ios, 0, 0], &[ios * 512, 0, 0], now_ns);
        assert_eq!(steady.next_ns(), now_ns);
        if steady.look(now_ns) {
            return (Some(second + 1), steady.recording());
        }
    }
    (None, steady.recording())
}

#[test]
fn the_window_ends_the_job_when_it_is_below_the_limit() {
    let falling = [1000, 400, 120, 100, 110, 105];
    for (plan, rates, expected) in [
        // 120 100 110: 10 of 110 from the mean.
        (plan(3, false, 9.1, true), &falling[..], Some(5)),
        (plan(3, false, 9.0, true), &falling, Some(6)),
        (plan(3, false, 10.0, false), &falling, Some(6)),
        (plan(3, false, 10.1, false), &falling, Some(5)),
        // 120 100 110: -5 per second.
        (plan(3, true, 5.1, false), &falling, Some(5)),
        (plan(3, true, 4.6, true), &falling, Some(5)),
        (plan(3, true, 4.5, true), &falling, Some(6)),
        (plan(7, false, 100.0, true), &falling, None),
        // Nothing is below a limit of 0, and no operations are not steady.
        (plan(2, false, 0.0, true), &[100; 6], None),
        (plan(2, false, 50.0, true), &[0; 6], None),
    ] {
        let (attained, seen) = seconds_until_steady(plan, rates);
        assert_eq!(attained, expected, "{plan:?}");
        assert_eq!(seen.attained, expected.is_some());
    }
}

#[test]
fn the_figures_are_fios() {
    // A run of fio 3.33 with ss=iops:50% and ss_dur=3, and its result.
    let (attained, seen) = seconds_until_steady(plan(3, false, 50.0, true), &[1_766_017, 1_473_893, 1_705_054]);
    assert_eq!(attained, Some(3));
    let [criterion, excursion] = [seen.criterion, seen.excursion].map(|value| format!("{:.6}", value.unwrap()));
    assert_eq!((criterion.as_str(), excursion.as_str()), ("10.582180", "174428.333333"));
}

#[test]
fn what_was_seen_is_recorded_with_its_sign() {
    let (_, seen) = seconds_until_steady(plan(3, true, 4.6, true), &[1000, 400, 120, 100, 110]);
    assert_eq!(seen.iops, [120.0, 100.0, 110.0]);
    assert_eq!(seen.bytes_per_s, [61_440.0, 51_200.0, 56_320.0]);
    assert_eq!(seen.excursion, Some(-5.0));
    assert!(seen.criterion.is_some_and(|percent| (percent + 500.0 / 110.0).abs() < 1e-9), "{seen:?}");
    let (_, short) = seconds_until_steady(plan(3, true, 4.6, true), &[1000, 400]);
    assert_eq!((short.iops, short.criterion), (vec![1000.0, 400.0], None));
}

#[test]
fn bandwidth_may_be_steady_while_operations_are_not() {
    let control = Control::new(1).unwrap();
    let of_bandwidth = SteadyPlan { measure: SteadyMeasure::Bandwidth, ..plan(2, false, 1.0, true) };
    let mut steady = judge(&control, of_bandwidth, 1);
    steady.begin(0);
    steady.look(0);
    control.worker_control(0).publish(&[10, 0, 0], &[4096, 0, 0], S);
    assert!(!steady.look(S));
    control.worker_control(0).publish(&[10, 5, 0], &[4096, 4096, 0], 2 * S);
    assert!(steady.look(2 * S));
}

#[test]
fn nothing_before_the_ramp_counts_and_a_line_slept_through_is_skipped() {
    let control = Control::new(1).unwrap();
    let mut steady = judge(&control, SteadyPlan { ramp_ns: 3 * S, ..plan(4, false, 1.0, true) }, 1);
    assert!(!steady.look(9 * S), "it has not begun");
    steady.begin(10 * S);
    assert_eq!(steady.next_ns(), 13 * S);
    control.worker_control(0).publish(&[500, 0, 0], &[0; 3], 3 * S);
    assert!(!steady.look(13 * S));
    control.worker_control(0).publish(&[530, 0, 0], &[0; 3], 6 * S + S / 2);
    assert!(!steady.look(16 * S + S / 2));
    assert_eq!(steady.next_ns(), 17 * S);
    let seen = steady.recording();
    assert_eq!(seen.iops.len(), 1);
    assert!((seen.iops[0] - 30.0 / 3.5).abs() < 1e-9, "each over its own time: {seen:?}");
}

#[test]
fn a_group_is_judged_by_its_sum_and_ends_together() {
    let control = Control::new(3).unwrap();
    let mut steady = judge(&control, plan(2, false, 1.0, true), 2);
    steady.begin(0);
    steady.look(0);
    // Each rate changes but their sum does not. One worker publishes on a clock that began later.
    control.worker_control(0).publish(&[100, 0, 0], &[0; 3], S / 2);
    control.worker_control(1).publish(&[300, 0, 0], &[0; 3], S);
    assert!(!steady.look(S));
    control.worker_control(0).publish(&[400, 0, 0], &[0; 3], 3 * S / 2);
    control.worker_control(1).publish(&[500, 0, 0], &[0; 3], 2 * S);
    assert!(steady.look(2 * S));
    assert_eq!(steady.recording().iops, [500.0, 500.0]);
    let orders = [0, 1, 2].map(|worker| control.worker_control(worker).order());
    assert_eq!(orders, [Order::Finish, Order::None, Order::None], "the judge ends itself, strangers go on");
}
