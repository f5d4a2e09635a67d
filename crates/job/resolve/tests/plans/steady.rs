//! `steadystate`: criteria, windows, and groups that must agree.

use iolab_plan::{SteadyMeasure, SteadyPlan};
use iolab_resolve::Mode;

use crate::support::{plan, refusals, resolved, section, worker};

const SECOND: u64 = 1_000_000_000;

fn steady(options: &str) -> SteadyPlan {
    worker(&format!("size=1m {options}")).limits.steady.unwrap_or_else(|| panic!("{options}: nothing is judged"))
}

#[test]
fn criteria_and_windows() {
    let usual = SteadyPlan {
        measure: SteadyMeasure::Iops,
        slope: true,
        limit: 0.01,
        percent: true,
        samples: 10,
        interval_ns: SECOND,
        ramp_ns: 0,
    };
    let bandwidth = SteadyPlan { measure: SteadyMeasure::Bandwidth, ..usual };
    for (options, expected) in [
        ("ss_dur=10", usual),
        ("ss=iops:0.3% steadystate_duration=10", SteadyPlan { slope: false, limit: 0.3, ..usual }),
        (
            "ss=iops_slope:5 ss_dur=10 ss_ramp=1m",
            SteadyPlan { limit: 5.0, percent: false, ramp_ns: 60 * SECOND, ..usual },
        ),
        ("ss=bw:1m ss_dur=10", SteadyPlan { slope: false, limit: 1_048_576.0, percent: false, ..bandwidth }),
        ("ss=bw_slope:2% ss_dur=5 ss_interval=500ms", SteadyPlan { limit: 2.0, interval_ns: SECOND / 2, ..bandwidth }),
    ] {
        assert_eq!(steady(options), expected, "{options}");
    }
    assert_eq!(worker("size=1m").limits.steady, None);
    assert_eq!(worker("size=1m ss_dur=0").limits.steady, None);
}

#[test]
fn windows_that_cannot_be_judged_are_refused_where_they_stand() {
    for (options, option, reason) in [
        ("ss=iops:1%", "ss=", "without steadystate_duration"),
        ("ss_ramp=5", "ss_ramp=", "without steadystate_duration"),
        ("ss_dur=500ms", "ss_dur=", "before its first sample"),
        ("ss_dur=1", "ss_dur=", "no slope"),
        ("ss=bw:1% ss_dur=1", "ss_dur=", "never deviates"),
        ("ss_dur=10 ss_interval=1ms", "ss_interval=", "10ms"),
        ("ss_dur=10 ss_interval=20", "ss_dur=", "before its first sample"),
        ("ss_dur=100000h", "ss_dur=", "samples"),
    ] {
        let text = section(&format!("size=1m {options}"));
        let found = refusals(&text, |_| {});
        assert_eq!(found.len(), 1, "{options}: {found:?}");
        assert!(found[0].reason.contains(reason), "{options}: {found:?}");
        assert!(found[0].suggestion.is_some(), "{options}");
        let at = text.find(option).unwrap_or_default();
        assert!((at..=at + options.len()).contains(&found[0].span.0), "{options}: {:?} in {text}", found[0].span);
    }
}

#[test]
fn as_fio_what_it_takes_is_taken() {
    let judged = |options: &str| {
        let found = resolved(&section(&format!("size=1m {options}")), |request| request.mode = Mode::Fio);
        (found.plan.workers[0].limits.steady.map(|steady| steady.samples), found.warnings.len())
    };
    assert_eq!(judged("ss=iops:1%"), (None, 1));
    assert_eq!(judged("ss_dur=500ms"), (None, 1));
    assert_eq!(judged("ss=iops:1% ss_dur=1"), (Some(1), 1));
    assert_eq!(judged("ss_dur=2500ms"), (Some(2), 1));
}

#[test]
fn the_jobs_of_a_group_have_one_criterion() {
    let found = refusals("[global]\nsize=1m\n[a]\nss=iops:1%\nss_dur=5\n[b]\nss=iops:2%\nss_dur=5\n", |_| {});
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].reason.contains("jobs a and b"), "{found:?}");
    assert!(found[0].suggestion.as_deref().is_some_and(|suggestion| suggestion.contains("new_group")));
    assert!(refusals("[global]\nsize=1m\n[a]\nss_dur=5\n[b]\n", |request| request.mode = Mode::Fio).len() == 1);
    let apart = plan("[global]\nsize=1m\n[a]\nss_dur=5\n[b]\nnew_group\n");
    assert!(apart.workers[0].limits.steady.is_some() && apart.workers[1].limits.steady.is_none());
    let alike = plan("[global]\nsize=1m\nss_dur=5\n[a]\nnumjobs=2\n[b]\n");
    assert!(alike.workers.iter().all(|worker| worker.limits.steady.is_some()));
}
