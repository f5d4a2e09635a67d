//! Thousands of random inputs: job files, command lines, recordings, folders of studies. None may
//! cause a panic, a hang, or use more memory than a limit.
//!
//! `cargo test` tries a few of each. This runs the whole campaign, with a number of inputs for each
//! kind:
//!
//! ```sh
//! IOLAB_CAMPAIGN=6000,4000,3000,1000 cargo test -p iolab --test campaigns -- --nocapture
//! ```
//!
//! Input *n* is made from the number *n* alone, and a failure names the number:
//! `IOLAB_CAMPAIGN_FROM=n` starts with it. Nothing is run: job files and command lines are planned,
//! in an empty folder.

#[path = "../support/mod.rs"]
mod support;

mod command_lines;
mod job_files;
mod random;
mod recordings;
mod study_folders;

use std::process::{Command, Stdio};
use std::time::Duration;

use support::{Lab, now_ns};

/// Address space of a program under test, KiB: mapped but untouched memory counts, too.
const MOST_KIB: u64 = 3 << 20;
/// A program that takes longer than this hangs, ns.
const PATIENCE_NS: u64 = 120_000_000_000;

/// The numbers of the inputs of a kind: as many as item `place` of `IOLAB_CAMPAIGN` says, or a few.
fn inputs(place: usize, few: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok();
    let from = number("IOLAB_CAMPAIGN_FROM").and_then(|text| text.parse().ok()).unwrap_or(0);
    let counts = number("IOLAB_CAMPAIGN").unwrap_or_default();
    let count = counts.split(',').nth(place).and_then(|text| text.parse().ok()).unwrap_or(few);
    from..from + count
}

/// How a program ended.
#[derive(Debug)]
struct End {
    code: Option<i32>,
    errors: String,
    hung: bool,
}

impl End {
    /// Whether it ended with a deliberate exit code, without a panic or a hang.
    fn is_sound(&self) -> bool {
        let bad =
            ["panicked", "overflowed its stack", "memory allocation"].iter().any(|word| self.errors.contains(word));
        self.code.is_some_and(|code| code < 100 || code == 128) && !self.hung && !bad
    }
}

/// Runs a program in the folder of `lab`, within the limits.
fn bounded(lab: &Lab, number: u64, program: &str, words: &[String], environment: &[(&str, String)]) -> End {
    let errors = lab.path(&format!(".errors-{number}"));
    let mut child = Command::new("/bin/sh")
        .args(["-c", &format!("ulimit -v {MOST_KIB}; exec \"$0\" \"$@\""), program])
        .args(words)
        .current_dir(lab.path("."))
        .env("IOLAB_RECORDINGS", lab.path("recordings"))
        .env("IOLAB_DEVICES", lab.path("devices"))
        .env("IOLAB_DB", lab.path(&format!("{number}.db")))
        .env("RUST_BACKTRACE", "0")
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let begun_ns = now_ns();
    let mut hung = false;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if now_ns() - begun_ns > PATIENCE_NS {
            hung = true;
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let said = String::from_utf8_lossy(&std::fs::read(&errors).unwrap()).into_owned();
    let _ = std::fs::remove_file(&errors);
    let _ = std::fs::remove_file(lab.path(&format!("{number}.db")));
    End { code: status.code(), errors: said, hung }
}

/// Tries every input, on as many threads as there are processors. `attempt` describes a failure.
fn campaign(numbers: std::ops::Range<u64>, attempt: impl Fn(u64) -> Result<(), String> + Sync) {
    let failures = std::sync::Mutex::new(Vec::new());
    iolab_testkit::parallel::for_each(numbers.clone(), |number| {
        if let Err(what) = attempt(number) {
            failures.lock().unwrap().push(format!("input {number}: {what}"));
        }
    });
    let failures = failures.into_inner().unwrap();
    let shown = failures.iter().take(10).map(String::as_str).collect::<Vec<_>>().join("\n\n");
    assert!(failures.is_empty(), "{} inputs of {numbers:?} fail:\n{shown}", failures.len());
}
