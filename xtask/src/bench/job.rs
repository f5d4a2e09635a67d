//! A job in the form that both programs accept, and the figures of their reports.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::spending::{self, Spent};

/// A random-read job, in fio's words.
#[derive(Debug, Clone)]
pub(super) struct Job {
    words: Vec<String>,
}

/// When a run ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    AfterMs(u64),
    AfterOperations(u64),
}

impl Job {
    /// On the null engine, larger than any run reads.
    pub(super) fn null(words: &str) -> Job {
        Job::new("null", &format!("--size=1t {words}"))
    }

    /// Direct reads of a file or device.
    pub(super) fn on(target: &Path, bytes: u64, engine: &str, depth: u32) -> Job {
        let mut job = Job::new(engine, &format!("--direct=1 --iodepth={depth} --size={bytes}"));
        job.words.push(format!("--filename={}", target.display()));
        job
    }

    fn new(engine: &str, words: &str) -> Job {
        let fixed = format!("--name=bench --ioengine={engine} --rw=randread --bs=4k --output-format=json");
        Job { words: fixed.split(' ').map(str::to_owned).collect() }.with(words)
    }

    /// The job with more options.
    pub(super) fn with(mut self, words: &str) -> Job {
        self.words.extend(words.split_whitespace().map(str::to_owned));
        self
    }

    /// The command that runs it.
    pub(super) fn command(&self, program: &Path, end: End) -> Command {
        let mut command = Command::new(program);
        command.args(&self.words);
        match end {
            End::AfterMs(ms) => command.args(["--time_based".to_owned(), format!("--runtime={ms}ms")]),
            End::AfterOperations(count) => command.arg(format!("--number_ios={count}")),
        };
        command
    }

    /// Runs it.
    pub(super) fn run(&self, program: &Path, end: End) -> Result<Ran, String> {
        let spent = spending::spend(&mut self.command(program, end))?;
        let (operations, iops) = reads(&spent.output)?;
        Ok(Ran { spent, operations, iops })
    }
}

/// One run.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) spent: Spent,
    pub(super) operations: f64,
    pub(super) iops: f64,
}

/// Operations and IOPS of all jobs in a report.
fn reads(report: &str) -> Result<(f64, f64), String> {
    // Notes may precede the document.
    let start = report.find('{').ok_or("no JSON")?;
    let document: Value = serde_json::from_str(&report[start..]).map_err(|error| error.to_string())?;
    let jobs = document["jobs"].as_array().ok_or("no jobs")?;
    let sum = |pointer: &str| jobs.iter().filter_map(|job| job.pointer(pointer)?.as_f64()).sum::<f64>();
    let (operations, iops) = (sum("/read/total_ios"), sum("/read/iops"));
    if operations > 0.0 { Ok((operations, iops)) } else { Err("the report has no reads".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_all_jobs_are_added() {
        let report = r#"note: {x
{ "jobs": [ { "read": { "iops": 10.5, "total_ios": 7 } }, { "read": { "iops": 1.5, "total_ios": 3 } } ] }"#;
        assert!(reads(report).is_err());
        assert_eq!(reads(&report[9..]).unwrap(), (10.0, 12.0));
        assert!(reads(r#"{ "jobs": [] }"#).is_err());
    }
}
