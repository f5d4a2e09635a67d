//! Programs that read fio's reports and logs, one file each. A test runs our `fio` on a tiny job
//! and reads exactly what that program reads, with the types that it expects. The programs
//! themselves are not run; what they read was taken from their sources.

mod blktests;
mod dbench;
#[path = "../drop_in/mod.rs"]
mod drop_in;
mod fio_plot;
mod fio_tools;
mod fiosynth;
mod gcsfuse;
mod kubestr;
mod lisa;
mod lkp;
mod mmtests;
mod pbench;
mod perfkit;
mod terse_fields;
mod yabs;

use drop_in::Folder;
use serde_json::Value;

/// The JSON report of a run that succeeds. As fio's, it begins and ends with a brace on a line of
/// its own.
fn report(folder: &Folder, arguments: &[&str]) -> Value {
    let mut all = vec!["--output-format=json", "--output=report.json"];
    all.extend(arguments);
    assert_eq!(folder.good(&all), "");
    let text = folder.read("report.json");
    assert_eq!(text.lines().next(), Some("{"));
    assert_eq!(text.lines().last(), Some("}"));
    serde_json::from_str(&text).expect("JSON")
}

/// The member at `path`; its steps are separated by `/`.
fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('/').fold(value, |value, step| {
        let next = match step.parse::<usize>() {
            Ok(index) if value.is_array() => value.get(index),
            _ => value.get(step),
        };
        next.unwrap_or_else(|| panic!("{path}: no {step}"))
    })
}

/// The number at `path`.
fn number(value: &Value, path: &str) -> f64 {
    at(value, path).as_f64().unwrap_or_else(|| panic!("{path} is no number"))
}

/// The integer at `path`.
fn integer(value: &Value, path: &str) -> i64 {
    at(value, path).as_i64().unwrap_or_else(|| panic!("{path} is no integer"))
}

/// The text at `path`.
fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).as_str().unwrap_or_else(|| panic!("{path} is no text"))
}
