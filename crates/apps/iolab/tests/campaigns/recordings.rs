//! Recordings, whole and partial, with hostile values and changed bytes, passed to everything that
//! reads them.
//!
//! A batch is read in a separate process within the limits, which names each input before it begins
//! with it. Some inputs are also given to the program.

use std::io::Write;

use iolab_comparison::{
    ComparedRun, ComparisonRequest, IntervalsFrom, PairingChoice, RunSummary, Side, describe, hold_against,
    read_fio_json,
};
use iolab_html::{ComparisonReport, comparison_page, recording_page};
use iolab_recording::Recording;
use iolab_recording::partial::{self, Partial};
use iolab_report::{JsonStyle, Style, TerseVersion};
use iolab_statistics::DecisionRules;
use iolab_store::{Database, EntryKind, Filter, NewEntry};
use serde_json::{Value, json};

use crate::random::{HOSTILE, Random, scrambled};
use crate::support::Lab;
use crate::{bounded, campaign, inputs};

const BATCH: u64 = 50;

/// Recordings of real runs.
fn seeds() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../report/findings/tests/recordings");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.iter().map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
}

fn hostile(random: &mut Random) -> Value {
    const NUMBERS: [u64; 14] =
        [0, 1, 2, 10, 1000, 1 << 31, 1 << 32, 1 << 46, 1 << 53, 1 << 58, 1 << 62, 1 << 63, u64::MAX - 1, u64::MAX];
    match random.below(12) {
        0..=6 => json!(random.pick(&NUMBERS).wrapping_sub(random.below(2) as u64)),
        7 => json!(*random.pick(&[-1.0, 1e308, -1e308, 0.5, 1e-308])),
        8 => json!(random.pick(HOSTILE)),
        9 => json!("x".repeat(random.below(5000))),
        10 => random.pick(&[json!(null), json!([]), json!({}), json!(true), json!([[]])]).clone(),
        _ => json!(vec![random.next() >> random.below(64); random.below(300)]),
    }
}

/// Descends to a random place and changes the value there.
pub(crate) fn change(value: &mut Value, random: &mut Random) {
    let stop = random.below(12) == 0;
    match value {
        Value::Array(list) if !list.is_empty() && !stop => {
            let at = random.below(list.len());
            change(&mut list[at], random);
        }
        Value::Object(map) if !map.is_empty() && !stop => {
            let at = random.below(map.len());
            map.iter_mut().nth(at).into_iter().for_each(|(_, inner)| change(inner, random));
        }
        Value::Array(list) if !list.is_empty() => match random.below(4) {
            0 => list.reverse(),
            1 => list.truncate(random.below(list.len())),
            2 => {
                let one = random.pick(list).clone();
                list.extend(std::iter::repeat_n(one, random.below(200)));
            }
            _ => *value = hostile(random),
        },
        Value::Object(map) if !map.is_empty() && random.below(2) == 0 => {
            let name = map.keys().nth(random.below(map.len())).cloned().unwrap_or_default();
            map.remove(&name);
        }
        _ => *value = hostile(random),
    }
}

/// Makes input `number`: a recording, a partial recording, or a report of fio.
fn input(number: u64, seeds: &[Value]) -> Vec<u8> {
    let mut random = Random::new(number);
    let mut value = random.pick(seeds).clone();
    let good = Recording::from_json(&value.to_string()).unwrap();
    if random.below(8) == 0 {
        let style = JsonStyle { plus: random.below(2) == 0, utc_offset_seconds: 0 };
        value = serde_json::from_str(&iolab_report::json(&good, style)).unwrap();
    }
    for _ in 0..1 + random.below(3) {
        change(&mut value, &mut random);
    }
    let bytes = match random.below(3) {
        0 => partial_of(&good, &value, &mut random),
        _ => value.to_string().into_bytes(),
    };
    if random.below(4) == 0 { scrambled(bytes, &mut random) } else { bytes }
}

/// A partial recording whose entries have correct checksums. Its start is that of `good` or of
/// `value`; workers and observations are those of `value`.
fn partial_of(good: &Recording, value: &Value, random: &mut Random) -> Vec<u8> {
    let mut start = good.clone();
    start.workers.clear();
    let mut bytes = partial::start(&start);
    if random.below(3) == 0 {
        bytes = partial::MARK.to_vec();
        bytes.extend(partial::forged(1, value.to_string().as_bytes()));
    }
    bytes.extend(partial::begun(random.next() >> random.below(64)));
    for worker in value["workers"].as_array().into_iter().flatten() {
        bytes.extend(partial::forged(4, worker.to_string().as_bytes()));
    }
    for _ in 0..random.below(3) {
        bytes.extend(partial::forged(5, value["observations"].to_string().as_bytes()));
        let interval: Vec<u8> = (0..random.below(60)).map(|_| random.next() as u8 >> random.below(8)).collect();
        bytes.extend(partial::forged(3, &interval));
    }
    bytes
}

/// Does everything that can be done with a recording and needs no more than time.
fn read(bytes: &[u8], good: &Recording, store: &mut Database) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let recording = match Partial::read(bytes) {
        Ok(partial) => partial.into_recording(),
        Err(_) => match Recording::from_json(&text) {
            Ok(recording) => recording,
            Err(_) => {
                for summary in read_fio_json("fio", &text).unwrap_or_default() {
                    compare(summary, good, store);
                }
                return false;
            }
        },
    };
    let style = Style { utc_offset_seconds: 0 };
    let mut made = vec![iolab_report::normal(&recording, &style)];
    for version in [TerseVersion::V2, TerseVersion::V3, TerseVersion::V4, TerseVersion::V5] {
        made.push(iolab_report::terse(&recording, version));
    }
    made.extend([false, true].map(|plus| iolab_report::json(&recording, JsonStyle { plus, utc_offset_seconds: 0 })));
    made.push(iolab_report::perf(&recording, iolab_report::PerfDetail::Histograms));
    made.push(iolab_report::intervals_table(&recording));
    made.push(iolab_report::intervals_json_lines(&recording));
    made.push(iolab_report::observed_table(&recording));
    made.push(iolab_report::observed_json_lines(&recording));
    made.push(iolab_findings::findings_text(&iolab_findings::find(&recording), 80));
    made.push(iolab_findings::limits_text(&iolab_findings::limits(&recording), 80));
    made.push(iolab_plan::describe(&recording.plan));
    made.push(recording_page(&recording, "source", &[], "0").html);
    assert!(made.iter().any(|text| !text.is_empty()));
    compare(RunSummary::of_recording("it", &recording, true), good, store);
    true
}

fn compare(summary: RunSummary, good: &Recording, store: &mut Database) {
    let run = |summary| ComparedRun { summary, ..ComparedRun::default() };
    let side = |summary| Side { name: "side".to_owned(), runs: vec![run(summary)], ..Side::default() };
    let theirs = side(RunSummary::of_recording("good", good, true));
    let ours = side(summary.clone());
    let request = ComparisonRequest {
        figures: Vec::new(),
        pairing: PairingChoice::Automatic,
        intervals: IntervalsFrom::Test,
        rules: DecisionRules::default(),
        conditions: Vec::new(),
    };
    for (one, other) in [(&theirs, &ours), (&ours, &ours)] {
        let outcome = hold_against(one, other, &request);
        assert!(!describe(&outcome).is_empty());
        assert!(
            !comparison_page(&ComparisonReport { outcome: &outcome, sides: [one, other], command: "", version: "" })
                .html
                .is_empty()
        );
    }
    let id = store.add(&NewEntry::of_run(EntryKind::Run, "path".to_owned(), summary));
    assert!(id.and_then(|id| store.entry(id)).is_ok() && store.list(&Filter::default()).is_ok());
}

/// Reads the batch that `IOLAB_CAMPAIGN_BATCH` and `IOLAB_CAMPAIGN_COUNT` name, otherwise the first
/// few inputs. The test below runs this one in separate processes.
#[test]
fn one_batch() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let from = number("IOLAB_CAMPAIGN_BATCH").unwrap_or(0);
    let count = number("IOLAB_CAMPAIGN_COUNT").unwrap_or(5);
    let (lab, seeds) = (Lab::new(), seeds());
    let good = Recording::from_json(&seeds[0].to_string()).unwrap();
    let mut store = Database::open(&lab.path("runs.db")).unwrap();
    let (mut whole, mut failed) = (0, Vec::new());
    for number in from..from + count {
        let _ = writeln!(std::io::stderr(), "input {number}");
        let attempt = std::panic::AssertUnwindSafe(|| read(&input(number, &seeds), &good, &mut store));
        match std::panic::catch_unwind(attempt) {
            Ok(was_read) => whole += u64::from(was_read),
            Err(_) => failed.push(number),
        }
    }
    assert!(failed.is_empty(), "these fail: {failed:?}");
    let _ = writeln!(std::io::stderr(), "{whole} of {count} were read");
}

#[test]
fn recordings_are_read_or_refused() {
    let lab = Lab::new();
    let numbers = inputs(2, 100);
    let program = std::env::current_exe().unwrap().display().to_string();
    let words = ["--exact", "recordings::one_batch", "--nocapture", "--test-threads=1"].map(str::to_owned);
    let first_of = |batch: u64| numbers.start + batch * BATCH;
    campaign(0..(numbers.end - numbers.start).div_ceil(BATCH), |batch| {
        let from = first_of(batch);
        let count = BATCH.min(numbers.end - from);
        let batch = [("IOLAB_CAMPAIGN_BATCH", from.to_string()), ("IOLAB_CAMPAIGN_COUNT", count.to_string())];
        let end = bounded(&lab, from, &program, &words, &batch);
        let lines: Vec<&str> = end.errors.lines().collect();
        let told =
            lines.iter().enumerate().filter(|(_, line)| line.contains("panicked") || line.contains("these fail"));
        let said: String = told.map(|(at, line)| format!("{line} {}\n", lines.get(at + 1).unwrap_or(&""))).collect();
        let said = said + lines.last().unwrap_or(&"");
        if end.is_sound() && end.code == Some(0) { Ok(()) } else { Err(format!("{:?} {}\n{said}", end.code, end.hung)) }
    });
}

/// Gives the same inputs to the program as files.
#[test]
fn the_program_reads_or_refuses_recordings() {
    let (lab, seeds) = (Lab::new(), seeds());
    lab.file("good.iolab", seeds[0].to_string());
    let numbers = inputs(2, 100);
    campaign(numbers.start..numbers.start + (numbers.end - numbers.start) / 25, |number| {
        let name = format!("{number}.iolab");
        lab.file(&name, input(number, &seeds));
        for words in [
            "report",
            "report --output-format=json+",
            "report --output-format=html",
            "explain",
            "compare good.iolab",
            "db import",
        ] {
            let words: Vec<String> = words.split(' ').chain([name.as_str()]).map(str::to_owned).collect();
            let end = bounded(&lab, number, env!("CARGO_BIN_EXE_iolab"), &words, &[]);
            if !end.is_sound() {
                return Err(format!("{words:?}: {end:?}"));
            }
        }
        Ok(())
    });
}
