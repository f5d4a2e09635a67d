//! `cargo xtask ci`: everything that must hold before a change is merged, except the tests and the
//! suites.
//!
//! Runs every step even when one fails, so that one run shows all that is wrong.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::cargo::cargo;
use crate::finding::Finding;
use crate::repository::Repository;
use crate::{docs, layers, readme, tidy};

/// Longest the demo may take, once it is built.
const DEMO_LIMIT: Duration = Duration::from_secs(120);

type Step = (&'static str, fn(&Repository) -> Result<(), String>);

const STEPS: [Step; 9] = [
    ("fmt", |repository| run_cargo(repository, &["fmt", "--all", "--check"], &[])),
    ("layers", |repository| report(layers::check(repository)?)),
    ("tidy", |repository| report(tidy::check(repository)?)),
    ("readme", |repository| report(readme::check(repository)?)),
    ("clippy", |repository| {
        run_cargo(repository, &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"], &[])
    }),
    ("rustdoc", |repository| {
        let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"];
        let rustdoc = repository.root.join("xtask/check_documentation").display().to_string();
        let flags = "-D warnings -Z unstable-options --check";
        run_cargo(repository, &arguments, &[("RUSTDOC", &rustdoc), ("RUSTDOCFLAGS", flags)])
    }),
    ("docs", |repository| report(docs::check(repository)?)),
    ("release", |repository| run_cargo(repository, &["build", "--release", "--quiet"], &[])),
    ("demo", demo),
];

/// All steps but the named ones; an error names those that failed.
pub(crate) fn run(repository: &Repository, left_out: &[&str]) -> Result<(), String> {
    let mut failed = Vec::new();
    for (name, step) in STEPS.into_iter().filter(|(name, _)| !left_out.contains(name)) {
        println!("xtask ci: {name}");
        let started = now();
        let outcome = step(repository);
        let seconds = started.elapsed().as_secs();
        match outcome {
            Ok(()) => println!("xtask ci: {name} passed ({seconds} s)"),
            Err(message) => {
                println!("{message}");
                println!("xtask ci: {name} FAILED ({seconds} s)");
                failed.push(name);
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("xtask ci: failed: {}", failed.join(", "))) }
}

/// For deadlines of child processes and for progress lines: no measurement.
#[allow(clippy::disallowed_methods, reason = "nothing is simulated in this program")]
fn now() -> Instant {
    Instant::now()
}

fn report(findings: Vec<Finding>) -> Result<(), String> {
    if findings.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    Err(lines.join("\n"))
}

fn run_cargo(repository: &Repository, arguments: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
    let mut command = cargo();
    command.args(arguments).envs(variables.iter().copied()).current_dir(&repository.root);
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {}: {status}", arguments.join(" "))) }
}

/// Builds and runs the README's demo: it must succeed, say something, and end in time.
pub(crate) fn demo(repository: &Repository) -> Result<(), String> {
    let has_demo = repository.rust_files().any(|file| {
        file.path.starts_with("crates/apps/iolab/src/")
            && (file.path.ends_with("/demo.rs") || file.text.contains("\"demo\""))
    });
    if !has_demo {
        println!("demo: SKIP: the binary has no subcommand demo yet");
        return Ok(());
    }
    run_cargo(repository, &["build", "--release", "--quiet"], &[])?;
    let mut command = cargo();
    command
        .args(readme::demo_arguments())
        .arg("--output=target/iolab-demo.html")
        .current_dir(&repository.root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cargo: {error}"))?;
    let mut stdout = child.stdout.take().ok_or("the demo has no output")?;
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut stdout, &mut text).map(|_| text)
    });
    let started = now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("the demo: {error}"))? {
            break status;
        }
        if started.elapsed() > DEMO_LIMIT {
            child.kill().map_err(|error| format!("the demo: {error}"))?;
            return Err(format!("the demo ran longer than {} s", DEMO_LIMIT.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let text = reader.join().ok().and_then(Result::ok).unwrap_or_default();
    match (status.success(), text.is_empty()) {
        (true, false) => Ok(()),
        (true, true) => Err("the demo printed nothing".to_owned()),
        (false, _) => Err(format!("the demo: {status}")),
    }
}
