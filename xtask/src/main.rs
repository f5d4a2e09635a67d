//! `cargo xtask`: checks for development; nothing here ships.
//!
//! Continuous integration runs the same tasks, so a clean `cargo xtask ci` means a clean CI. `tidy`
//! and `layers` are also tests of this package, so that plain `cargo test` finds a violation.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool: its findings go to the terminal")]

mod area;
mod bench;
mod beside_db_bench;
mod beside_fio;
mod cargo;
mod ci;
mod cost;
mod docs;
mod finding;
mod guest;
mod layers;
mod page;
mod programs;
mod readme;
mod repository;
mod rust_text;
mod sbom;
mod spread;
mod tidy;

use std::process::ExitCode;

use finding::Finding;
use repository::Repository;

const USAGE: &str = "\
usage: cargo xtask TASK

  tidy           file headers, sizes, names of files and types, words, unsafe islands, links
  tidy --shrink  the same, after lowering the ceilings of xtask/ratchet.toml to what is there
  sizes          files and functions that are worth a second look
  layers         the districts, what their crates may use, which crates may do I/O, circles of files
  docs           generated pages are up to date
  docs --write   write them
  readme         the README opens with its two commands
  demo           the README's demo runs
  beside-fio     the same jobs under fio and iolab, side by side (--small: a few seconds)
  beside-db-bench  iolab kv bench and the installed db_bench, side by side (--small: under a minute; --instructions: by callgrind, too)
  bench          what iolab costs, beside fio and bare loops: speed, processor time, system calls, memory, logs
                 (bench --size=small: under a minute)
  cost           what an operation costs on the null engine, beside fio and in instructions (--instructions: these alone)
  guest SCRIPT   a script in an emulated Debian machine (docs/guide/guest.md; --kernel 6.12: another kernel)
  sbom PACKAGE   the crates whose code is in a program, as CycloneDX 1.5
  ci             all of the above (except sizes, beside-fio, beside-db-bench, bench, cost, guest and sbom), with fmt, clippy and rustdoc
                 (ci --no-demo: builds the release, and leaves the demo to a quieter moment)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = Repository::here().and_then(|repository| run(&repository, &words));
    match outcome {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            for finding in &findings {
                eprintln!("{finding}");
            }
            eprintln!("{} findings", findings.len());
            ExitCode::FAILURE
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn run(repository: &Repository, words: &[&str]) -> Result<Vec<Finding>, String> {
    match words {
        ["tidy"] => tidy::check(repository),
        ["tidy", "--shrink"] => {
            tidy::shrink(repository)?;
            tidy::check(repository)
        }
        ["sizes"] => {
            for line in tidy::worth_a_look(repository)? {
                println!("{line}");
            }
            Ok(Vec::new())
        }
        ["layers"] => layers::check(repository),
        ["docs"] => docs::check(repository),
        ["docs", "--write"] => {
            layers::write_pages(repository).and_then(|()| docs::write(repository)).map(|()| Vec::new())
        }
        ["readme"] => readme::check(repository),
        ["demo"] => ci::demo(repository).map(|()| Vec::new()),
        ["beside-fio", rest @ ..] => beside_fio::run(repository, rest).map(|()| Vec::new()),
        ["beside-db-bench", rest @ ..] => beside_db_bench::run(repository, rest).map(|()| Vec::new()),
        ["bench", rest @ ..] => bench::run(repository, rest).map(|()| Vec::new()),
        ["cost", rest @ ..] => cost::run(repository, rest).map(|()| Vec::new()),
        ["sbom", package] => sbom::print(repository, package).map(|()| Vec::new()),
        ["guest", rest @ ..] => guest::run(repository, rest),
        ["ci"] => ci::run(repository, &[]).map(|()| Vec::new()),
        // The demo measures: it can be run separately, when nothing else runs.
        ["ci", "--no-demo"] => ci::run(repository, &["demo"]).map(|()| Vec::new()),
        _ => Err(USAGE.to_owned()),
    }
}
