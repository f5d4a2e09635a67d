//! What follows a run, a watch or a study while it goes on: metrics in a file, events, the page of
//! a study.

use std::collections::BTreeMap;

use crate::pages::{get, printed_address};
use crate::support::{Lab, Running};

/// A job that lasts until it is told to end.
const LONG: &str =
    "[paced]\nioengine=null\nsize=1g\ntime_based\nruntime=600\nrate_iops=1000\ncalibrate=0\ninterval=10ms\n";

/// The samples of a text of OpenMetrics, by name and labels. Panics where the text is not as the
/// specification says: each family has type and help before its samples, whose names fit the type;
/// no sample is there twice; the text ends with `# EOF`.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let (body, rest) = text.split_once("# EOF\n").unwrap_or_else(|| panic!("cut off: {text}"));
    assert_eq!(rest, "", "text behind the end");
    let (mut family, mut kind, mut has_help) = ("", "", false);
    let mut seen: Vec<&str> = Vec::new();
    let mut all = BTreeMap::new();
    for line in body.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "TYPE", name, type_name] => {
                assert!(!seen.contains(&name), "{name} twice");
                seen.push(name);
                (family, kind, has_help) = (name, type_name, false);
            }
            ["#", "HELP", name, _] => {
                assert_eq!(name, family, "help of another family");
                has_help = true;
            }
            _ => {
                let (name, value) = line.rsplit_once(' ').expect("a value");
                let bare = name.split('{').next().expect("a name");
                let ending = bare.strip_prefix(family).unwrap_or_else(|| panic!("{bare} in the family {family}"));
                let fitting: &[&str] = match kind {
                    "counter" => &["_total"],
                    "info" => &["_info"],
                    "gauge" => &[""],
                    "histogram" => &["_bucket", "_count", "_sum"],
                    other => panic!("the type {other}"),
                };
                assert!(has_help && fitting.contains(&ending), "{line} in the {kind} {family}");
                assert!(name.len() == bare.len() || name.ends_with("\"}"), "{line}");
                assert!(all.insert(name.to_owned(), value.parse().expect("a number")).is_none(), "{name} twice");
            }
        }
    }
    all
}

/// The sum of the samples of a name.
fn total(all: &BTreeMap<String, f64>, name: &str) -> f64 {
    all.iter().filter(|(sample, _)| sample.split('{').next() == Some(name)).map(|(_, value)| value).sum()
}

/// Reads the file again and again while `running` goes on, until `is_enough` of the operations.
/// Every text is whole.
fn operations_in(lab: &Lab, running: &Running, is_enough: impl Fn(f64) -> bool) -> f64 {
    let last = std::cell::Cell::new(0.0);
    running.until(|_| {
        let Ok(text) = std::fs::read_to_string(lab.path("it.prom")) else { return false };
        last.set(total(&samples(&text), "iolab_operations_total"));
        is_enough(last.get())
    });
    last.get()
}

#[test]
fn the_metrics_of_a_run_grow_while_it_goes_on_and_are_its_report_in_the_end() {
    let lab = Lab::new();
    lab.file("job.fio", LONG);
    let run = lab.start(["run", "job.fio", "--metrics=it.prom", "--record=it.iolab"]);
    let first = operations_in(&lab, &run, |ios| ios > 0.0);
    let second = operations_in(&lab, &run, |ios| ios > first);
    run.signal(2);
    run.finish().ended(128, "");
    let last = std::fs::read_to_string(lab.path("it.prom")).unwrap();
    assert!(total(&samples(&last), "iolab_operations_total") >= second);
    assert_eq!(samples(&last)["iolab_interrupted"], 1.0);
    let report = lab.run(["report", "--output-format=openmetrics", "it.iolab"]);
    assert_eq!(report.printed(), last);
    // The next run replaces it, and not what somebody else wrote.
    lab.file("job.fio", "[a]\nioengine=null\nsize=64k\n");
    lab.run(["run", "job.fio", "--metrics=it.prom"]).ended(0, "");
    lab.file("mine.prom", "mine\n");
    lab.run(["run", "job.fio", "--metrics=mine.prom"]).ended(3, "mine.prom");
    assert_eq!(std::fs::read_to_string(lab.path("mine.prom")).unwrap(), "mine\n");
    lab.run(["run", "job.fio", "--metrics=x.prom", "--record=/dev/null"])
        .ended(2, "--metrics needs a recording in a file");
}

#[test]
fn watching_has_metrics_of_devices_and_of_the_program() {
    let lab = Lab::new();
    lab.run(["watch", "--metrics=it.prom", "0.01", "3"]).ended(0, "");
    let text = std::fs::read_to_string(lab.path("it.prom")).unwrap();
    assert!(samples(&text).contains_key("iolab_info{version=\"0.1.0\"}"), "{text}");
    let watch = lab.start(["watch", "--record=it.iolab", "--metrics=it.prom", "0.05", "--", "sleep", "600"]);
    // The text of the first watch has no such family.
    watch.until(|_| {
        std::fs::read_to_string(lab.path("it.prom")).is_ok_and(|text| samples(&text).contains_key("iolab_interrupted"))
    });
    watch.signal(2);
    watch.finish();
    let report = lab.run(["report", "--output-format=openmetrics", "it.iolab"]).printed();
    assert_eq!(report, std::fs::read_to_string(lab.path("it.prom")).unwrap());
}

#[test]
fn a_study_has_metrics_and_a_page_of_the_trial_that_runs() {
    let lab = Lab::new();
    lab.file("job.fio", LONG);
    lab.file(
        "study.toml",
        "title = \"t\"\njob = \"job.fio\"\nblocks = 1\n[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"8k\"]\n",
    );
    let study = lab.start(["study", "run", "study.toml", "--folder=study", "--metrics=it.prom", "--web"]);
    let (authority, _) = printed_address(&study, Running::errors);
    operations_in(&lab, &study, |ios| ios > 0.0);
    let text = std::fs::read_to_string(lab.path("it.prom")).unwrap();
    assert_eq!(samples(&text)["iolab_runs_in_progress"], 1.0);
    assert!(text.contains("run=\"b00-c000.iolab\"") || text.contains("run=\"b00-c001.iolab\""), "{text}");
    let place = get(&authority, "/");
    let at =
        place.split_once("location: ").expect("it leads to the trial").1.split_whitespace().next().expect("a path");
    assert!(at.starts_with("/live/b00-c00"), "{place}");
    let page = get(&authority, at);
    assert!(page.contains("8k, block 1 of 1") || page.contains("4k, block 1 of 1"), "{page}");
    study.signal(2);
    study.finish().ended(128, "go on with: iolab study resume study");
    assert!(std::net::TcpStream::connect(&authority).is_err(), "its server has ended with it");
}

#[test]
fn events_are_lines_of_json_in_their_order() {
    let lab = Lab::new();
    lab.file("job.fio", "[a]\nioengine=null\nsize=1m\nnumjobs=2\ninterval=10ms\n");
    lab.run(["run", "job.fio", "--events=events.jsonl"]).ended(0, "");
    lab.file("mine.jsonl", "mine\n");
    lab.run(["run", "job.fio", "--events=mine.jsonl"]).ended(3, "mine.jsonl");
    assert_eq!(std::fs::read_to_string(lab.path("mine.jsonl")).unwrap(), "mine\n");
    let text = std::fs::read_to_string(lab.path("events.jsonl")).unwrap();
    let events: Vec<serde_json::Value> = text.lines().map(|line| line.parse().unwrap()).collect();
    let closed = iolab_schemas::document("event").unwrap().closed_schema();
    assert_eq!(closed["$id"], "urn:iolab:event:2");
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds[0], "planned");
    assert_eq!(kinds.iter().filter(|kind| **kind == "worker_ended").count(), 2);
    let at = |kind: &str| kinds.iter().position(|other| *other == kind);
    assert!(at("begun") < at("worker_ended"), "{kinds:?}");
    let ended: Vec<u64> = events
        .iter()
        .filter(|event| event["event"] == "worker_ended")
        .map(|event| event["directions"][0]["ios"].as_u64().unwrap())
        .collect();
    assert_eq!(ended, [256, 256]);
    // What the recording does not say, the events do not say.
    lab.file("job.fio", "[a]\nioengine=null\nsize=64k\nfilename=${SECRET}\n");
    let secret = [("SECRET", std::path::PathBuf::from("hush-hush"))];
    lab.run_with(["run", "job.fio", "--events=events.jsonl"], &secret).ended(0, "");
    assert!(!std::fs::read_to_string(lab.path("events.jsonl")).unwrap().contains("hush"));
}

#[test]
fn schemas_are_listed_and_printed() {
    let lab = Lab::new();
    let listed = lab.run(["schema"]).printed();
    for name in ["recording", "analysis", "event", "interval", "figure", "entry"] {
        assert!(listed.contains(name), "{listed}");
        let schema: serde_json::Value = lab.run(["schema", name]).printed().parse().unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
    lab.run(["schema", "nosuch"]).ended(2, "there are recording, analysis, event, interval, figure, entry");
}
