//! Profiles, jobs, sequence, card and JSON, from results made by hand.

use iolab_histogram::Histogram;
use iolab_recording::{Finding, Severity};
use iolab_statistics::SteadyState;
use iolab_units::NS_PER_SECOND;

use crate::{
    AccessPattern, BenchProfile, BenchResults, Case, KnownDrive, Likeness, MeasuredTarget, PROFILES, PatternSample,
    Reading, RoundPlan, RunFindings, card, json, likeness, measure, words,
};

fn measured() -> MeasuredTarget {
    MeasuredTarget {
        target: "/data".to_owned(),
        what: "folder, with a temporary file".to_owned(),
        filename: "/data/a:b".to_owned(),
        size_bytes: 1 << 30,
        engine: "psync",
        direct: true,
        writable: true,
        is_new_each_time: false,
    }
}

fn sample(iops: f64, block_bytes: u64) -> PatternSample {
    let histogram = |ns| {
        let mut all = Histogram::new();
        (0..100).for_each(|_| all.add(ns));
        all.to_sparse()
    };
    let bytes_per_second = iops * block_bytes as f64;
    PatternSample { iops, bytes_per_second, latencies: histogram(100_000), syncs: histogram(2_000_000) }
}

/// The standard profile; `iops` of the patterns whose keys start like this.
fn results(iops: &[(&str, f64)]) -> BenchResults {
    let profile = BenchProfile::named("standard").unwrap();
    let cases = profile.patterns.iter().map(|pattern| {
        let given = iops.iter().find(|(key, _)| *key == pattern.key);
        let middle = given.map_or(1000.0, |(_, iops)| *iops);
        let samples = [0.99, 1.0, 1.01].map(|part| sample(part * middle, pattern.block_bytes));
        Case { pattern: *pattern, samples: samples.to_vec() }
    });
    BenchResults {
        measured: measured(),
        profile,
        pace: RoundPlan { rounds: 3, runtime_ms: 500 },
        cases: cases.collect(),
        seen: RunFindings::default(),
        drives: vec![drive("fast", 10_000), drive("slow", 1_000)],
        steady: None,
    }
}

fn drive(name: &'static str, mib_per_second: u64) -> KnownDrive {
    KnownDrive {
        name,
        summary: "a drive",
        read_bytes_per_second: mib_per_second << 20,
        write_bytes_per_second: mib_per_second << 20,
        read_iops: mib_per_second * 100,
        source: "a sheet",
    }
}

#[test]
fn profiles_have_names_keys_and_sources_and_begin_with_a_read() {
    for profile in PROFILES {
        assert_eq!(BenchProfile::named(profile.name).unwrap().summary, profile.summary);
        assert!(!profile.source.is_empty());
        assert!(!profile.patterns[0].access.writes(), "{}: the file is laid out for reads", profile.name);
        for (at, pattern) in profile.patterns.iter().enumerate() {
            assert!(pattern.depth > 0 && pattern.jobs > 0 && pattern.block_bytes.is_multiple_of(4096));
            assert!(profile.patterns[at + 1..].iter().all(|other| other.key != pattern.key), "{}", pattern.key);
        }
    }
    assert!(BenchProfile::named("none").is_none());
    assert_eq!(PROFILES[0].name, "standard");
}

#[test]
fn a_pattern_becomes_a_job() {
    let standard = PROFILES[0].patterns;
    let of = |access: AccessPattern| {
        let pattern = standard.iter().find(|pattern| pattern.access == access).unwrap();
        words(pattern, &measured(), 2, 750).join(" ")
    };
    let mix = of(AccessPattern::RandomMix { read_percent: 70 });
    for word in
        ["--rw=randrw", "--rwmixread=70", "--filename=/data/a\\:b", "--runtime=750ms", "--randseed=3", "--direct=1"]
    {
        assert!(mix.contains(word), "{word} in {mix}");
    }
    assert!(!mix.contains("fdatasync"));
    let commit = of(AccessPattern::Commit);
    assert!(commit.contains("--rw=write") && commit.contains("--fdatasync=1"), "{commit}");
}

#[test]
fn rounds_are_interleaved_and_writes_are_left_out_of_what_must_stay() {
    let profile = BenchProfile::named("standard").unwrap();
    let mut order = Vec::new();
    let done = measure(profile, false, 2, |pattern, round| {
        order.push((round, pattern.key));
        Ok::<_, ()>(Some(Reading::default()))
    });
    let cases = done.unwrap().unwrap().cases;
    let keys = ["sequential-read", "random-read", "random-read-deep"];
    assert_eq!(order, [0, 1].map(|round| keys.map(|key| (round, key))).concat());
    assert!(cases.iter().all(|case| case.samples.len() == 2));
    let results = BenchResults { cases, ..results(&[]) };
    assert_eq!(results.left_out().count(), 5);
    assert!(card(&results).contains("Not measured, because writing would destroy existing data: sequential write"));
}

/// Rounds of SNIA's profile whose watched pattern does this number of operations per second.
fn snia_rounds(speed: impl Fn(u32) -> f64) -> (Vec<u32>, crate::MeasuredRounds) {
    let profile = BenchProfile::named("snia-client").unwrap();
    let mut rounds = Vec::new();
    let done = measure(profile, true, 3, |pattern, round| {
        rounds.push(round);
        Ok::<_, ()>(Some(Reading { sample: sample(speed(round), pattern.block_bytes), ..Reading::default() }))
    });
    rounds.dedup();
    (rounds, done.unwrap().unwrap())
}

#[test]
fn rounds_go_on_until_they_are_steady_and_the_result_is_of_the_steady_ones() {
    let (rounds, done) = snia_rounds(|_| 1000.0);
    assert_eq!(rounds.len(), 5, "the window of the rule, though fewer were asked for");
    assert!(matches!(done.steady, Some(SteadyState::Reached { start: 0, end: 5, .. })), "{:?}", done.steady);
    // Fast in the beginning, as a fresh drive is.
    let (rounds, done) = snia_rounds(|round| if round < 3 { 9000.0 } else { 1000.0 });
    assert_eq!(rounds.len(), 8);
    let case = &done.cases[5];
    assert_eq!((case.samples.len(), case.iops().unwrap().estimate), (5, 1000.0));
    // Never: the rule gives up, and the card says so.
    let (rounds, done) = snia_rounds(|round| 1000.0 * 0.5_f64.powi(round as i32));
    assert_eq!(rounds.len(), 25);
    let profile = BenchProfile::named("snia-client").unwrap();
    let results = BenchResults { profile, cases: done.cases, steady: done.steady, ..results(&[]) };
    assert!(card(&results).contains("warning: not steady after 25 rounds"), "{}", card(&results));
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json(&results)).unwrap()["steady"], false);
}

#[test]
fn the_page_has_every_line_and_every_drive() {
    let made = results(&[("sequential-read", 900.0)]);
    let page = crate::page(&made, "iolab bench /data", "0.0.0");
    let read = iolab_testkit::html::read_html(&page.html);
    read.stands_alone();
    for case in &made.cases {
        assert!(read.text.contains(case.pattern.name), "{}", case.pattern.name);
    }
    for text in ["/data: reads 944 MB/s", "Known drives", "slow", "Be careful", "iolab bench /data"] {
        assert!(read.text.contains(text), "no {text}");
    }
    assert!(page.figures.iter().any(|figure| figure.id == "lines-0"));
}

#[test]
fn a_user_who_ends_it_gets_no_results() {
    let mut runs = 0;
    let done = measure(&PROFILES[0], true, 3, |_, _| {
        runs += 1;
        Ok::<_, ()>((runs < 4).then(Reading::default))
    });
    assert!(done.unwrap().is_none());
    assert_eq!(runs, 4);
}

#[test]
fn a_finding_is_told_once_at_its_gravest_and_a_limit_is_that_of_the_last_round() {
    let patterns = PROFILES[0].patterns;
    let finding = |rule: &str, severity| Finding {
        rule: rule.to_owned(),
        severity,
        evidence: format!("{severity:?}"),
        consequence: String::new(),
        advice: String::new(),
        jobs: Vec::new(),
    };
    let mut seen = RunFindings::default();
    let mut take = |at: usize, findings: Vec<Finding>, limit| {
        seen.take(&patterns[at], &Reading { sample: PatternSample::default(), findings, limit: Some(limit) });
    };
    take(0, vec![finding("a", Severity::Note), finding("b", Severity::Note)], "the device");
    take(1, vec![finding("b", Severity::Note)], "the processor");
    take(0, vec![finding("b", Severity::Invalid)], "the processor");
    let told: Vec<_> =
        seen.findings.iter().map(|(one, keys)| (one.rule.as_str(), one.evidence.as_str(), keys.len())).collect();
    assert_eq!(told, [("b", "Invalid", 2), ("a", "Note", 1)]);
    assert_eq!(seen.limits, [("the processor", vec![patterns[1].name, patterns[0].name])]);
}

#[test]
fn the_time_is_shared_out() {
    assert_eq!(RoundPlan::of(30 * NS_PER_SECOND, 5, 8), RoundPlan { rounds: 5, runtime_ms: 750 });
    assert_eq!(RoundPlan::of(NS_PER_SECOND, 100, 100).runtime_ms, 20, "less says nothing");
}

#[test]
fn the_card_has_a_line_for_each_pattern_and_fits_a_screen() {
    let mut results = results(&[("sequential-read", 3000.0), ("commit", 456.0)]);
    results.seen.limits.push(("the device", vec!["random read, 4 KiB, 1 deep"]));
    let finding = Finding {
        rule: "short-run".to_owned(),
        severity: Severity::Warning,
        evidence: "0.5 s".to_owned(),
        consequence: "Percentiles are weak.".to_owned(),
        advice: "Run longer".to_owned(),
        jobs: Vec::new(),
    };
    results.seen.findings.push((finding, vec!["commit", "mixed"]));
    let card = card(&results);
    for pattern in results.profile.patterns {
        assert_eq!(card.lines().filter(|line| line.starts_with(pattern.name)).count(), 1, "{}\n{card}", pattern.name);
    }
    for part in [
        "3146 MB/s",
        "3114 to 3177 MB/s",
        "456/s",
        "451 to 461/s",
        "1.00k IOPS",
        "75 % confidence intervals",
        "the device: random read, 4 KiB, 1 deep",
        "warning [short-run, 2 of 8]: Percentiles are weak.",
    ] {
        assert!(card.contains(part), "{part}\n{card}");
    }
    assert!(card.lines().count() <= 40, "{card}");
    assert!(card.lines().all(|line| line.chars().count() <= 112), "{card}");
    assert!(!card.contains("page cache was measured"));
}

#[test]
fn what_the_page_cache_answered_is_said_loudly_and_compared_with_nothing() {
    let mut results = results(&[]);
    results.measured.direct = false;
    let card = card(&results);
    assert!(card.contains("BUFFERED") && card.contains("INVALID: this measures the page cache"), "{card}");
    assert!(matches!(likeness(&results), Likeness::Unknown(_)));
}

#[test]
fn a_drive_is_like_another_only_when_every_figure_says_so() {
    let of = |read, write, iops| {
        likeness(&results(&[("sequential-read", read), ("sequential-write", write), ("random-read-deep", iops)]))
    };
    assert!(matches!(of(1_000.0, 1_100.0, 60_000.0), Likeness::Like(drive, _) if drive.name == "slow"));
    assert!(matches!(of(9_000.0, 9_000.0, 900_000.0), Likeness::Like(drive, _) if drive.name == "fast"));
    for (read, write, iops) in [(1_300.0, 1_000.0, 60_000.0), (1_000.0, 700.0, 60_000.0), (1_000.0, 1_000.0, 40_000.0)]
    {
        let Likeness::Unlike(drive, ratios) = of(read, write, iops) else { panic!("{read} {write} {iops}") };
        assert_eq!((drive.name, ratios.len()), ("slow", 3));
    }
    let mut few = results(&[]);
    few.cases.truncate(1);
    assert!(matches!(likeness(&few), Likeness::Unknown(_)), "one figure is not enough");
    let mut new = results(&[("sequential-read", 1_000.0), ("sequential-write", 1_000.0), ("random-read-deep", 1e5)]);
    new.measured.is_new_each_time = true;
    assert!(matches!(likeness(&new), Likeness::Unknown(_)), "nothing was written to it");
}

#[test]
fn json_has_base_units() {
    let results = results(&[("sequential-read", 3000.0)]);
    let object: serde_json::Value = serde_json::from_str(&json(&results)).unwrap();
    let patterns = object["patterns"].as_array().unwrap();
    assert_eq!(patterns.len(), 8);
    assert_eq!(patterns[0]["bytes_per_second"]["median"], 3000.0 * 1_048_576.0);
    assert_eq!(patterns[0]["iops"]["confidence"], 0.75);
    let near = |value: &serde_json::Value, expected: f64| (value.as_f64().unwrap() / expected - 1.0).abs() < 0.02;
    assert!(near(&patterns[0]["p99_seconds"], 1e-4), "{}", patterns[0]);
    assert_eq!(patterns[7]["latency_of"], "fdatasync");
    assert!(near(&patterns[7]["p99_seconds"], 2e-3), "{}", patterns[7]);
    assert_eq!(object["like"]["verdict"], "unlike");
    assert_eq!(object["direct"], true);
}
