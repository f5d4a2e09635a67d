//! The database as seen by its users: round trips, concurrent writers, old and damaged files,
//! filters, exports.

use std::path::{Path, PathBuf};

use iolab_comparison::{DirectionSummary, JobSummary, Latencies, OperationType, RunSummary};
use iolab_store::{Database, DatabaseError, EntryKind, Filter, NewEntry, VERSION, csv, history, json_lines};
use tempfile::TempDir;

/// A run of one job, started at second `start`.
fn run(start: u64, bs: &str, engine: &str, host: &str) -> NewEntry {
    let percentiles = vec![(50.0, 100_000.0), (99.0, 250_000.0)];
    let lat = Latencies { count: 5000, mean_ns: Some(120_000.5), histogram: None, percentiles };
    let read = DirectionSummary {
        operations: OperationType::Read,
        ios: 5000,
        bytes: 5000 * 4096,
        ios_per_second: 1000.0 + start as f64,
        bytes_per_second: 4_096_000.0,
        lat: lat.clone(),
        clat: lat,
        response: Latencies::default(),
    };
    let job = JobSummary {
        name: "read, \"fast\"".to_owned(),
        workers: 1,
        options: [("bs", bs), ("ioengine", engine)].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        directions: vec![read],
        ..JobSummary::default()
    };
    let summary = RunSummary {
        name: "it".to_owned(),
        tool: "iolab 0.1.0".to_owned(),
        hostname: Some(host.to_owned()),
        started_unix_ns: Some(start * 1_000_000_000),
        elapsed_ns: Some(5_000_000_000),
        jobs: vec![job],
        ..RunSummary::default()
    };
    let path = format!("/recordings/{start}.iolab");
    NewEntry { job_text: format!("[read]\nbs={bs}\n# 100_% sure"), ..NewEntry::of_run(EntryKind::Run, path, summary) }
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    (folder, path)
}

fn filled() -> (TempDir, Database) {
    let (folder, path) = place();
    let mut store = Database::open(&path).unwrap();
    for (start, bs, engine, host) in
        [(100, "4k", "psync", "a"), (200, "8k", "psync", "b"), (300, "4k", "io_uring", "a"), (400, "4k", "psync", "a")]
    {
        store.add(&run(start, bs, engine, host)).unwrap();
    }
    (folder, store)
}

fn ids(store: &Database, filter: &Filter) -> Vec<i64> {
    store.list(filter).unwrap().iter().map(|entry| entry.id).collect()
}

#[test]
fn what_is_kept_comes_back() {
    let (_folder, path) = place();
    let id = Database::open(&path).unwrap().add(&run(100, "4k", "psync", "a")).unwrap();
    // Another process, another day.
    let entry = Database::open(&path).unwrap().entry(id).unwrap();
    assert_eq!(
        (entry.kind, entry.title.as_str(), entry.path.as_str()),
        (EntryKind::Run, "read, \"fast\"", "/recordings/100.iolab")
    );
    assert_eq!((entry.started_unix_ns, entry.elapsed_ns), (Some(100_000_000_000), Some(5_000_000_000)));
    assert_eq!((entry.option_values("bs"), entry.hostname.as_deref()), (vec!["4k"], Some("a")));
    assert!(entry.job_text.contains("bs=4k"));
    let iops = entry.figure("iops").unwrap();
    assert_eq!((iops.value, iops.unit.as_str()), (1100.0, ""));
    let p99 = entry.figure("p99").unwrap();
    assert_eq!((p99.value, p99.latency.as_deref(), p99.unit.as_str()), (250_000.0, Some("lat"), "ns"));
    assert_eq!(entry.figure("p99.9"), None, "it has too few samples");
    assert!(matches!(Database::open(&path).unwrap().entry(99), Err(DatabaseError::NoEntry { id: 99 })));
    assert!(Database::open(&path).unwrap().check().unwrap().is_empty());
}

#[test]
fn a_file_that_is_added_again_keeps_its_number_tags_and_note() {
    let (_folder, mut store) = filled();
    let id = ids(&store, &Filter::default())[0];
    store.tag(id, &["good".to_owned(), "x".to_owned()], &[]).unwrap();
    store.tag(id, &["good".to_owned()], &["x".to_owned()]).unwrap();
    store.note(id, "after the firmware").unwrap();
    let mut again = run(400, "16k", "psync", "a");
    again.summary.jobs[0].directions[0].ios_per_second = 7.0;
    assert_eq!(store.add(&again).unwrap(), id);
    let entry = store.entry(id).unwrap();
    assert_eq!((entry.tags, entry.note.as_str()), (vec!["good".to_owned()], "after the firmware"));
    assert_eq!(entry.options["read, \"fast\""]["bs"], "16k");
    assert_eq!(entry.figures.iter().find(|figure| figure.name == "iops").unwrap().value, 7.0);
    assert_eq!(ids(&store, &Filter::default()).len(), 4);
}

#[test]
fn filters_let_through_what_has_everything_they_ask_for() {
    let (_folder, mut store) = filled();
    store.tag(2, &["base".to_owned()], &[]).unwrap();
    store.tag(3, &["base".to_owned(), "new".to_owned()], &[]).unwrap();
    store.note(1, "Before the move").unwrap();
    let check = |filter: Filter, expected: &[i64]| assert_eq!(ids(&store, &filter), expected, "{filter:?}");
    let some = |text: &str| Some(text.to_owned());
    let any = Filter::default;
    check(any(), &[4, 3, 2, 1]);
    check(Filter { limit: Some(2), ..any() }, &[4, 3]);
    check(Filter { since_unix_ns: Some(200_000_000_000), ..any() }, &[4, 3, 2]);
    check(Filter { engine: some("psync"), ..any() }, &[4, 2, 1]);
    check(Filter { host: some("a"), ..any() }, &[4, 3, 1]);
    check(Filter { tags: vec!["base".to_owned()], ..any() }, &[3, 2]);
    check(Filter { tags: vec!["base".to_owned(), "new".to_owned()], ..any() }, &[3]);
    check(Filter { text: some("BEFORE"), ..any() }, &[1]);
    check(Filter { text: some("bs=8k"), ..any() }, &[2]);
    check(Filter { text: some("100_%"), ..any() }, &[4, 3, 2, 1]);
    check(Filter { text: some("100%"), ..any() }, &[]);
    check(Filter { options: vec![("bs".to_owned(), "4k".to_owned())], engine: some("psync"), ..any() }, &[4, 1]);
    check(Filter { host: some("'; DROP TABLE entry; --"), ..any() }, &[]);
}

#[test]
fn trials_belong_to_their_study_and_go_with_it() {
    let (_folder, mut store) = filled();
    let study = NewEntry {
        title: "Sizes".to_owned(),
        analysis: Some("{}".to_owned()),
        ..NewEntry::of_run(EntryKind::Study, "/studies/sizes".to_owned(), RunSummary::default())
    };
    let parent = store.add(&study).unwrap();
    for block in 0..2 {
        let points = vec![("bs".to_owned(), "4k".to_owned())];
        let trial = NewEntry {
            parent: Some(parent),
            block: Some(block),
            points,
            ..run(500 + u64::from(block), "32k", "psync", "a")
        };
        store.add(&trial).unwrap();
    }
    assert_eq!(ids(&store, &Filter { with_trials: true, ..Filter::default() }).len(), 7);
    assert_eq!(ids(&store, &Filter::default()).len(), 5, "a study is one line");
    assert_eq!(
        ids(&store, &Filter { options: vec![("bs".to_owned(), "32k".to_owned())], ..Filter::default() }),
        [parent]
    );
    let trials = store.list(&Filter { parent: Some(parent), ..Filter::default() }).unwrap();
    assert_eq!(trials.iter().map(|trial| trial.block).collect::<Vec<_>>(), [Some(1), Some(0)]);
    assert_eq!(trials[0].points, [("bs".to_owned(), "4k".to_owned())]);
    // Added again without its study, it remains a trial of the study.
    store.add(&run(500, "32k", "psync", "a")).unwrap();
    assert_eq!(store.list(&Filter { parent: Some(parent), ..Filter::default() }).unwrap().len(), 2);
    store.remove(parent).unwrap();
    assert_eq!(ids(&store, &Filter { with_trials: true, ..Filter::default() }).len(), 4);
    assert!(store.check().unwrap().is_empty());
    assert!(matches!(store.remove(parent), Err(DatabaseError::NoEntry { .. })));
}

#[test]
fn many_writers_lose_nothing() {
    let (_folder, path) = place();
    std::thread::scope(|scope| {
        for writer in 0..8_u64 {
            let path = &path;
            scope.spawn(move || {
                for number in 0..10 {
                    // Each opens the database again, as concurrent programs do.
                    let mut store = Database::open(path).unwrap();
                    store.add(&run(writer * 100 + number, "4k", "psync", "a")).unwrap();
                }
            });
        }
    });
    let store = Database::open(&path).unwrap();
    assert_eq!(ids(&store, &Filter::default()).len(), 80);
    assert!(store.check().unwrap().is_empty());
}

/// A version 1 database with one run.
fn of_version_1(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(include_str!("version-1.sql")).unwrap();
}

#[test]
fn a_database_of_version_1_is_brought_up_to_date() {
    let (_folder, path) = place();
    of_version_1(&path);
    let mut store = Database::open(&path).unwrap();
    let entry = store.entry(7).unwrap();
    assert_eq!((entry.title.as_str(), entry.note.as_str(), entry.tags.join(" ")), ("old", "", "kept".to_owned()));
    assert_eq!((entry.figure("iops").map(|figure| figure.value), entry.option_values("bs")), (Some(123.5), vec!["4k"]));
    store.note(7, "still here").unwrap();
    assert_eq!(store.add(&run(100, "4k", "psync", "a")).unwrap(), 8);
    drop(store);
    assert_eq!(Database::open(&path).unwrap().entry(7).unwrap().note, "still here");
    let version: u32 =
        rusqlite::Connection::open(&path).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, VERSION);
}

#[test]
fn what_is_not_ours_is_refused_and_left_alone() {
    let (folder, path) = place();
    drop(Database::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(connection);
    assert!(matches!(Database::open(&path), Err(DatabaseError::Newer { found: 99, known: VERSION, .. })));
    let foreign = folder.path().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    assert!(matches!(Database::open(&foreign), Err(DatabaseError::Foreign { .. })));
    let text = folder.path().join("text.db");
    std::fs::write(&text, "this is a letter, and a long one at that: ".repeat(200)).unwrap();
    let error = Database::open(&text).unwrap_err();
    assert!(matches!(error, DatabaseError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("iolab db import"), "{error}");
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("this is a letter"));
    assert!(Database::open_existing(&folder.path().join("none.db")).unwrap().is_none());
    assert!(!folder.path().join("none.db").exists());
}

#[test]
fn a_damaged_page_is_found() {
    let (folder, mut store) = filled();
    for start in 1000..1200 {
        store.add(&run(start, "4k", "psync", "a")).unwrap();
    }
    let path = store.path().to_owned();
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() > 40_960);
    bytes[8192..32_768].fill(0xa5);
    let damaged = folder.path().join("damaged.db");
    std::fs::write(&damaged, bytes).unwrap();
    let said = match Database::open(&damaged) {
        Err(error) => error.to_string(),
        Ok(store) => match store.check() {
            Err(error) => error.to_string(),
            Ok(lines) => {
                assert!(!lines.is_empty());
                return;
            }
        },
    };
    assert!(said.contains("damaged"), "{said}");
}

#[test]
fn exports_are_these() {
    let (_folder, path) = place();
    let mut store = Database::open(&path).unwrap();
    store.add(&run(100, "4k", "psync", "a")).unwrap();
    store.tag(1, &["x".to_owned(), "y".to_owned()], &[]).unwrap();
    let entries = store.list(&Filter::default()).unwrap();
    let told = csv(&entries);
    let lines: Vec<&str> = told.split("\r\n").collect();
    assert_eq!(
        lines[..3],
        [
            "id,kind,title,parent,block,points,started_unix_ns,elapsed_ns,tool,hostname,tags,job,figure,latency,unit,value",
            "1,run,\"read, \"\"fast\"\"\",,,,100000000000,5000000000,iolab 0.1.0,a,x;y,\"read, \"\"fast\"\"\",bandwidth,,B/s,4096000",
            "1,run,\"read, \"\"fast\"\"\",,,,100000000000,5000000000,iolab 0.1.0,a,x;y,\"read, \"\"fast\"\"\",iops,,,1100",
        ]
    );
    let figures: Vec<&str> = lines[1..lines.len() - 1].iter().map(|line| line.rsplit(',').nth(3).unwrap()).collect();
    assert_eq!(figures, ["bandwidth", "iops", "mean", "p50", "p99"]);
    let line = json_lines(&entries);
    assert_eq!(line.matches('\n').count(), 1);
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["options"]["read, \"fast\""]["bs"], "4k");
    assert_eq!(value["tags"], serde_json::json!(["x", "y"]));
    assert_eq!(
        value["figures"][2],
        serde_json::json!({"job": "read, \"fast\"", "name": "mean", "latency": "lat", "unit": "ns", "value": 120000.5})
    );
    assert_eq!(json_lines(&[]), "");
}

#[test]
fn a_history_has_a_column_for_each_figure_that_all_entries_have() {
    let (_folder, mut store) = filled();
    let mut without_reads = run(250, "4k", "psync", "a");
    without_reads.summary.jobs[0].directions[0].lat = Latencies::default();
    without_reads.summary.jobs[0].directions[0].clat = Latencies::default();
    store.add(&without_reads).unwrap();
    let mut without_start = run(500, "4k", "psync", "a");
    without_start.summary.started_unix_ns = None;
    store.add(&without_start).unwrap();
    store.note(1, "first, \"best\"").unwrap();
    let told = history(&store.list(&Filter::default()).unwrap());
    let lines: Vec<&str> = told.csv.lines().collect();
    let job = "\"read, \"\"fast\"\"\"";
    assert_eq!(lines[0], "time,id,title,hostname,kernel,tags,note,bandwidth,iops");
    assert_eq!(lines[1], format!("100,1,{job},a,,,\"first, \"\"best\"\"\",4096000,1100"));
    let times: Vec<&str> = lines[1..].iter().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(times, ["100", "200", "250", "300", "400"], "oldest first");
    assert_eq!((told.left_out, told.without_time), (["mean", "p50", "p99"].map(str::to_owned).to_vec(), 1));
    assert_eq!(history(&[]).csv.lines().count(), 1);
}
