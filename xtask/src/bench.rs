//! `cargo xtask bench`: the costs of iolab compared with the installed fio and bare loops, in
//! suites.
//!
//! Everything is measured side by side in one run, in turn, in several rounds. The results are
//! medians with their spread, ratios of neighbouring runs, and a verdict for each target. Nothing
//! is compared with a stored number. The small size yields no useful figures but takes every path:
//! `ci/suites/bench` runs it, so that the suites keep working.

mod case;
mod counts;
mod engines;
mod job;
mod logfs;
mod memory;
mod null;
mod nvme;
mod pairs;
mod records;
mod sampling;
mod scale;
mod sheet;
pub(crate) mod spending;
mod turns;

use std::path::{Path, PathBuf};

use crate::page;
use crate::programs::{self, Profile, Workshop};
use crate::repository::Repository;
use sheet::Sheet;

const PAGE: &str = "docs/benchmarks.md";

const USAGE: &str = "\
usage: cargo xtask bench [SUITE ...] [--size=small|real] [--rounds=5] [--runtime-ms=200] [--folder=target]
                         [--t-io-uring=PATH] [--json=FILE] [--write] [--debug]
suites: null, engines, psync, scale, intervals, sampling, logs, nvme, logfs; all of them unless some are named
--debug measures the programs that tests run, to see whether the bench works";

type Suite = (&'static str, fn(&Bench) -> Result<Sheet, String>);

const SUITES: [Suite; 9] = [
    ("null", null::run),
    ("engines", engines::run),
    ("psync", engines::run_psync),
    ("scale", scale::run),
    ("intervals", records::intervals),
    ("sampling", sampling::run),
    ("logs", records::logs),
    ("nvme", nvme::run),
    ("logfs", logfs::run),
];

/// The amount of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    /// Every path once, in seconds.
    Small,
    /// For real figures.
    Real,
}

/// The parameters of the command line.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    suites: Vec<&'static str>,
    size: Size,
    rounds: Option<usize>,
    runtime_ms: Option<u64>,
    folder: PathBuf,
    t_io_uring: Option<PathBuf>,
    json: Option<PathBuf>,
    write: bool,
    /// The programs that tests run, which are already built then.
    debug: bool,
}

impl Wanted {
    fn profile(&self) -> Profile {
        if self.debug { Profile::Debug } else { Profile::Release }
    }
}

fn wanted(words: &[&str]) -> Result<Wanted, String> {
    let mut wanted = Wanted {
        suites: Vec::new(),
        size: Size::Real,
        rounds: None,
        runtime_ms: None,
        folder: PathBuf::from("target"),
        t_io_uring: None,
        json: None,
        write: false,
        debug: false,
    };
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<u64>().ok().filter(|number| *number > 0).ok_or(USAGE.to_owned());
        match name {
            "--size" if value == "small" => wanted.size = Size::Small,
            "--size" if value == "real" => wanted.size = Size::Real,
            "--rounds" => wanted.rounds = Some(number()? as usize),
            "--runtime-ms" => wanted.runtime_ms = Some(number()?),
            "--folder" => wanted.folder = PathBuf::from(value),
            "--t-io-uring" => wanted.t_io_uring = Some(PathBuf::from(value)),
            "--json" => wanted.json = Some(PathBuf::from(value)),
            "--write" => wanted.write = true,
            "--debug" => wanted.debug = true,
            _ => match SUITES.iter().find(|(suite, _)| suite == word) {
                Some((suite, _)) => wanted.suites.push(suite),
                None => return Err(USAGE.to_owned()),
            },
        }
    }
    // The page has figures of the release.
    if wanted.debug && wanted.write { Err(USAGE.to_owned()) } else { Ok(wanted) }
}

/// The inputs of suites.
#[derive(Debug)]
struct Bench {
    size: Size,
    rounds: usize,
    runtime_ms: u64,
    /// Size of files and RAM disks.
    bytes: u64,
    /// Operations of a run whose every operation is logged.
    logged_operations: u64,
    /// Where files are laid out.
    folder: PathBuf,
    iolab: PathBuf,
    t_io_uring: Option<PathBuf>,
    workshop: Workshop,
}

impl Bench {
    fn set_up(repository: &Repository, wanted: &Wanted) -> Result<Bench, String> {
        let workshop = Workshop::open(repository, wanted.profile())?;
        let iolab = workshop.iolab()?;
        std::fs::create_dir_all(&wanted.folder).map_err(|error| format!("{}: {error}", wanted.folder.display()))?;
        let folder = wanted.folder.canonicalize().map_err(|error| error.to_string())?;
        let small = wanted.size == Size::Small;
        let or = |given: Option<u64>, small_one, real| given.unwrap_or(if small { small_one } else { real });
        Ok(Bench {
            size: wanted.size,
            rounds: or(wanted.rounds.map(|rounds| rounds as u64), 1, 5) as usize,
            runtime_ms: or(wanted.runtime_ms, 30, 200),
            bytes: or(None, 4 << 20, 256 << 20),
            logged_operations: or(None, 1000, 1_000_000),
            folder,
            iolab,
            t_io_uring: wanted.t_io_uring.clone(),
            workshop,
        })
    }

    /// Lengths of the runs between which system calls are counted.
    fn counted(&self) -> counts::Lengths {
        if self.size == Size::Small { (100, 300) } else { (1000, 5000) }
    }

    /// The limit for instructions: longer, because a report of more latencies takes longer to
    /// write.
    fn counted_instructions(&self) -> counts::Lengths {
        if self.size == Size::Small { (100, 300) } else { (5000, 55_000) }
    }

    fn depths(&self) -> &'static [u32] {
        if self.size == Size::Small { &[32] } else { &[1, 32, 128] }
    }
}

/// Runs the requested suites, prints each suite's tables when it is done, and writes the requested
/// files.
pub(crate) fn run(repository: &Repository, words: &[&str]) -> Result<(), String> {
    let wanted = wanted(words)?;
    let version = programs::fio_version()?;
    let bench = Bench::set_up(repository, &wanted)?;
    let build = if wanted.debug { "debug" } else { "release" };
    let facts = format!(
        "{version} against this repository's {build} build; {} rounds in turn, {} ms for each run.",
        bench.rounds, bench.runtime_ms
    );
    let mut sheets = Vec::new();
    for (name, suite) in SUITES.iter().filter(|(name, _)| wanted.suites.is_empty() || wanted.suites.contains(name)) {
        let told = |reason| format!("{name}: {reason}");
        let sheet = suite(&bench).map_err(told)?;
        println!("\n{}", sheet.markdown());
        sheet.check().map_err(told)?;
        if wanted.write {
            let begin = format!("<!-- tables: written by cargo xtask bench {name} --write -->");
            page::put(repository, PAGE, &begin, &format!("{facts}\n\n{}", sheet.markdown()))?;
        }
        sheets.push(sheet);
    }
    match &wanted.json {
        Some(path) => write_json(path, &facts, &sheets),
        None => Ok(()),
    }
}

fn write_json(path: &Path, facts: &str, sheets: &[Sheet]) -> Result<(), String> {
    let suites: Vec<serde_json::Value> = sheets.iter().map(Sheet::json).collect();
    let document = serde_json::json!({ "facts": facts, "suites": suites });
    let text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    std::fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        let read = wanted(&["engines", "logs", "--size=small", "--rounds=3", "--t-io-uring=x"]).unwrap();
        assert_eq!((&read.suites[..], read.size, read.rounds), (&["engines", "logs"][..], Size::Small, Some(3)));
        assert_eq!(read.t_io_uring, Some(PathBuf::from("x")));
        assert!(wanted(&["--debug"]).unwrap().profile() == Profile::Debug && read.profile() == Profile::Release);
        for bad in [&["--size=large"][..], &["--rounds=0"], &["nothing"], &["--debug", "--write"]] {
            assert!(wanted(bad).unwrap_err().starts_with("usage"), "{bad:?}");
        }
    }

    #[test]
    fn the_page_has_a_place_for_every_suite() {
        let repository = Repository::here().unwrap();
        let page = repository.text(PAGE).unwrap();
        for (name, _) in SUITES {
            assert!(page.contains(&format!("<!-- tables: written by cargo xtask bench {name} --write -->")), "{name}");
        }
    }
}
