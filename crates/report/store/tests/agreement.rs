//! Every output agrees on the figures of one recording, even if workers ran for different times, in
//! several stages, or are hidden.
//!
//! ```text
//! worker 0  ██████████████████ 10 s   1,000,000 reads
//! worker 1  █████████           5 s     800,000 reads     together 180,000 reads per second
//! ```

use iolab_comparison::{ComparedRun, ComparisonRequest, LatencyKind, RunSummary, Side, hold_against};
use iolab_html::{Digest, recording_page};
use iolab_plan::Direction;
use iolab_recording::Recording;
use iolab_report::{JsonStyle, PerfDetail, Style, TerseVersion};
use iolab_store::{Database, EntryKind, NewEntry};
use iolab_study::{Figure, Trial, TrialId};

/// A run of two workers of one job, which are reported as one.
fn unequal() -> Recording {
    let text = include_str!("../../findings/tests/recordings/shared-core.json");
    let mut recording: Recording = serde_json::from_str(text).expect("a recording");
    let done = [(1_000_000, 10), (800_000, 5)];
    for ((plan, worker), (ios, seconds)) in recording.plan.workers.iter_mut().zip(&mut recording.workers).zip(done) {
        (plan.group_reporting, plan.group, plan.stage) = (true, 0, 0);
        worker.runtime_ns = seconds * 1_000_000_000;
        let reads = &mut worker.directions[Direction::Read.index()];
        (reads.ios, reads.bytes, reads.runtime_ns) = (ios, ios * 4096, worker.runtime_ns);
    }
    recording
}

/// An output and the rate that it states.
type Said = (&'static str, f64);

/// Operations per second of all workers, from every place where a program reads it.
fn as_data(recording: &Recording) -> Vec<Said> {
    let iops = Figure::from_name("iops").expect("a figure");
    let study = iolab_study::read("title = \"t\"\njob_text = \"[j]\"\nfigures = [\"iops\"]\n").expect("a study");
    let planned = TrialId { block: 0, configuration: 0, level: None };
    let trial = Trial::new(planned, &study, recording);
    let summary = RunSummary::of_recording("r", recording, true);
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Database::open(&folder.path().join("runs.db")).expect("a database");
    let id = store.add(&NewEntry::of_run(EntryKind::Run, "/r.iolab".to_owned(), summary.clone())).expect("an entry");
    let run = ComparedRun { summary, ..ComparedRun::default() };
    let side = Side { runs: vec![run], ..Side::default() };
    let mut request = request();
    request.figures.push(iops.clone());
    let outcome = hold_against(&side, &side, &request);
    let whole = iolab_aggregate::WholeRun::new(recording).throughput(&Direction::ALL);
    let database = store.entry(id).expect("the entry").figure("iops").map(|figure| figure.value);
    let mut said = vec![
        ("aggregate", whole.ios_per_second()),
        ("study", iops.of(recording).expect("a rate")),
        ("trial", trial.values[0].expect("a rate")),
        ("trial, by direction", trial.rates.iter().sum()),
        ("digest of a page", Digest::of(planned, recording).done.ios_per_second()),
        ("comparison", outcome.rows[0].baseline[0]),
    ];
    said.extend(database.map(|rate| ("database", rate)));
    said
}

fn request() -> ComparisonRequest {
    ComparisonRequest {
        figures: Vec::new(),
        pairing: Default::default(),
        intervals: Default::default(),
        rules: Default::default(),
        conditions: Vec::new(),
    }
}

fn check(said: &[Said], expected: f64) {
    for (who, rate) in said {
        assert!((rate / expected - 1.0).abs() < 1e-9, "{who} says {rate}, not {expected}: {said:?}");
    }
}

#[test]
fn one_rate_for_workers_of_unequal_length() {
    let recording = unequal();
    let said = as_data(&recording);
    assert!(said.iter().any(|(who, _)| *who == "database"));
    check(&said, 180_000.0);
    let json: serde_json::Value =
        serde_json::from_str(&iolab_report::json(&recording, JsonStyle::default())).expect("JSON");
    let terse = iolab_report::terse(&recording, TerseVersion::V3);
    let fields: Vec<&str> = terse.split(';').collect();
    check(
        &[
            ("json", json["jobs"][0]["read"]["iops"].as_f64().expect("a number")),
            ("terse", fields[7].parse().expect("a number")),
        ],
        180_000.0,
    );
}

#[test]
fn one_rate_in_every_text() {
    let recording = unequal();
    let limits = iolab_findings::limits(&recording);
    for (who, text, expected) in [
        ("normal", iolab_report::normal_body(&recording, &Style::default()), "read: IOPS=180k, BW=703MiB/s"),
        (
            "group",
            iolab_report::normal_body(&recording, &Style::default()),
            "READ: bw=703MiB/s (737MB/s), 391MiB/s-625MiB/s",
        ),
        ("perf", iolab_report::perf(&recording, PerfDetail::Table), " 180000.00      703.12 "),
        ("summary", iolab_report::summary(&[("case", std::slice::from_ref(&recording))]), "case  180k"),
        ("page", recording_page(&recording, "r.iolab", &[], "0").html, "180 k/s"),
        ("what limited it", iolab_findings::limits_text(&limits, 100), "180,000 IOPS"),
    ] {
        assert!(text.contains(expected), "{who} does not say '{expected}': {text}");
    }
}

#[test]
fn stages_run_one_after_the_other() {
    let mut recording = unequal();
    (recording.plan.workers[1].stage, recording.plan.workers[1].group) = (1, 1);
    recording.plan.workers[1].job = "second".to_owned();
    let of_all = 1_800_000.0 / 15.0;
    let said = as_data(&recording);
    // A comparison keeps jobs of different stages separate, and so does the database.
    let whole: Vec<Said> = said.into_iter().filter(|(who, _)| *who != "comparison").collect();
    assert!(whole.iter().all(|(who, _)| *who != "database"));
    check(&whole, of_all);
}

#[test]
fn hidden_workers_count_nowhere() {
    let mut recording = unequal();
    recording.plan.workers[1].measurement.stats = false;
    check(&as_data(&recording), 100_000.0);
}

#[test]
fn latencies_and_flaws_are_one_too() {
    let mut recording = unequal();
    let json: serde_json::Value =
        serde_json::from_str(&iolab_report::json(&recording, JsonStyle::default())).expect("JSON");
    let mean = Figure::from_name("mean").expect("a figure").of(&recording).expect("latencies");
    let summary = RunSummary::of_recording("r", &recording, false);
    let figures = iolab_comparison::overview(&summary);
    let of_mean = |figure: &&iolab_comparison::RunFigure| {
        figure.figure.name() == "mean" && figure.latency == Some(LatencyKind::Total)
    };
    let overview = figures.iter().find(of_mean).expect("latencies").value;
    check(
        &[("json", json["jobs"][0]["read"]["lat_ns"]["mean"].as_f64().expect("a number")), ("overview", overview)],
        mean,
    );
    recording.interrupted = true;
    let study = iolab_study::read("title = \"t\"\njob_text = \"[j]\"\n").expect("a study");
    let trial = Trial::new(TrialId { block: 0, configuration: 0, level: None }, &study, &recording);
    let flaw = iolab_aggregate::flaw(&recording);
    assert!(flaw.is_some());
    assert_eq!((&trial.flaw, &RunSummary::of_recording("r", &recording, false).flaw), (&flaw, &flaw));
}
