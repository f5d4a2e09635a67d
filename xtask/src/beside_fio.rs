//! `cargo xtask beside-fio`: whether a job gives the same bandwidth, IOPS and latencies under fio
//! and under iolab.
//!
//! Every case runs several times under both programs, alternating, on the same laid-out file (and,
//! for root, on the kernel's RAM disk). The result is a table of medians and ratios, with a verdict
//! for each figure. Nothing is compared with a stored number: the two programs share the time, the
//! file and the machine.
//!
//! The programs are the installed `fio` and this workspace's release build. This does not test the
//! meaning of the options, only the measurement.

mod card;
mod cases;
mod side;
mod table;
mod verdict;

use std::path::{Path, PathBuf};

use crate::area::TestArea;
use crate::page;
use crate::programs::{self, Profile, Workshop};
use crate::repository::Repository;
use cases::Case;
use side::{FIGURES, Figures};
use table::{Row, Table};

const PAGE: &str = "docs/beside-fio.md";
const BEGIN: &str = "<!-- tables: written by cargo xtask beside-fio --write -->";

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    small: bool,
    /// The patterns of `iolab bench` instead of the cases.
    bench: bool,
    /// Uses the build for tests instead of the release build, to check that the comparison works.
    debug: bool,
    pairs: usize,
    runtime_ms: u64,
    megabytes: u64,
    folder: PathBuf,
    only: Option<String>,
    ram_disk: bool,
    json: Option<PathBuf>,
    write: bool,
}

const USAGE: &str = "\
usage: cargo xtask beside-fio [--small] [--bench] [--debug] [--pairs=5] [--runtime-ms=2000] [--megabytes=512]
                              [--folder=target] [--only=WORDS] [--ram-disk] [--json=FILE] [--write]";

fn wanted(words: &[&str]) -> Result<Wanted, String> {
    let small = words.contains(&"--small");
    let (pairs, runtime_ms, megabytes) = if small { (2, 200, 16) } else { (5, 2000, 512) };
    let mut wanted = Wanted {
        small,
        bench: false,
        debug: false,
        pairs,
        runtime_ms,
        megabytes,
        folder: PathBuf::from("target"),
        only: None,
        ram_disk: false,
        json: None,
        write: false,
    };
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<u64>().ok().filter(|number| *number > 0).ok_or(USAGE.to_owned());
        match name {
            "--small" => {}
            "--bench" => wanted.bench = true,
            "--debug" => wanted.debug = true,
            "--pairs" => wanted.pairs = number()? as usize,
            "--runtime-ms" => wanted.runtime_ms = number()?,
            "--megabytes" => wanted.megabytes = number()?,
            "--folder" => wanted.folder = PathBuf::from(value),
            "--only" => wanted.only = Some(value.to_owned()),
            "--ram-disk" => wanted.ram_disk = true,
            "--json" => wanted.json = Some(PathBuf::from(value)),
            "--write" => wanted.write = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(wanted)
}

/// Runs what the words ask for, prints a line for each case as it is done, and the summary.
pub(crate) fn run(repository: &Repository, words: &[&str]) -> Result<(), String> {
    let wanted = wanted(words)?;
    if wanted.bench {
        return beside_bench(repository, &wanted);
    }
    let programs = Programs::find(repository, &wanted)?;
    let mut cases = cases::all(wanted.small);
    cases.retain(|case| wanted.only.as_ref().is_none_or(|only| case.name.contains(only.as_str())));
    let mut tables =
        vec![compare(&programs, &cases, &TestArea::file(&wanted.folder, wanted.megabytes << 20)?, &wanted)?];
    if wanted.ram_disk {
        tables.push(compare(&programs, &cases, &TestArea::ram_disk(wanted.megabytes << 20)?, &wanted)?);
    }
    if let Some(path) = &wanted.json {
        let text = serde_json::to_string_pretty(&table::json(&tables)).map_err(|error| error.to_string())?;
        std::fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if wanted.write { write_page(repository, &programs, &wanted, &tables) } else { Ok(()) }
}

/// The patterns of `iolab bench` under both programs.
fn beside_bench(repository: &Repository, wanted: &Wanted) -> Result<(), String> {
    let version = programs::fio_version()?;
    let iolab = Workshop::open(repository, wanted.profile())?.program()?;
    let area = TestArea::file(&wanted.folder, wanted.megabytes << 20)?;
    let table = card::table(Path::new("fio"), &iolab, &area, wanted.pairs, wanted.runtime_ms)?;
    let build = if wanted.debug { "debug" } else { "release" };
    let facts = format!(
        "{version} against this repository's {build} build, on {}; {} alternating pairs, each pattern for {} ms.",
        area.name, wanted.pairs, wanted.runtime_ms
    );
    println!("{facts}\n\n{table}");
    if wanted.write { page::put(repository, BENCH_PAGE, BENCH_BEGIN, &format!("{facts}\n\n{table}")) } else { Ok(()) }
}

const BENCH_PAGE: &str = "docs/guide/bench.md";
const BENCH_BEGIN: &str = "<!-- tables: written by cargo xtask beside-fio --bench --write -->";

impl Wanted {
    fn profile(&self) -> Profile {
        if self.debug { Profile::Debug } else { Profile::Release }
    }
}

/// The two that are compared.
struct Programs {
    fio: PathBuf,
    fio_version: String,
    iolab: PathBuf,
}

impl Programs {
    fn find(repository: &Repository, wanted: &Wanted) -> Result<Programs, String> {
        let fio_version = programs::fio_version()?;
        let iolab = Workshop::open(repository, wanted.profile())?.iolab()?;
        Ok(Programs { fio: PathBuf::from("fio"), fio_version, iolab })
    }
}

fn compare(programs: &Programs, cases: &[Case], area: &TestArea, wanted: &Wanted) -> Result<Table, String> {
    println!("on {} (fio/iolab, ratio; ▲▼: beyond the noise)", area.name);
    let mut table = Table { area: area.name.clone(), rows: Vec::new() };
    for case in cases {
        let runs = alternate(programs, case, area, wanted)?;
        for (index, direction) in case.directions.iter().enumerate() {
            let name = match case.directions.len() {
                1 => case.name.clone(),
                _ => format!("{}: {direction}", case.name),
            };
            let of = |side: &[Vec<Figures>], figure: usize| -> Vec<f64> {
                side.iter().map(|run| run[index][figure]).collect()
            };
            let figures =
                (0..FIGURES.len()).map(|figure| verdict::compare(&of(&runs.0, figure), &of(&runs.1, figure))).collect();
            let row = Row { name, figures };
            println!("{}", table::text_line(&row));
            table.rows.push(row);
        }
    }
    println!("{}", table::summary(&table));
    Ok(table)
}

type Runs = (Vec<Vec<Figures>>, Vec<Vec<Figures>>);

/// Both programs in turn; which goes first changes from pair to pair, so that neither always
/// follows the other.
fn alternate(programs: &Programs, case: &Case, area: &TestArea, wanted: &Wanted) -> Result<Runs, String> {
    let run = |program: &Path| side::run(program, case, area, wanted.runtime_ms);
    let mut runs = (Vec::new(), Vec::new());
    for pair in 0..wanted.pairs {
        if pair % 2 == 0 {
            runs.0.push(run(&programs.fio)?);
            runs.1.push(run(&programs.iolab)?);
        } else {
            runs.1.push(run(&programs.iolab)?);
            runs.0.push(run(&programs.fio)?);
        }
    }
    Ok(runs)
}

/// Puts the tables between the page's marks; the text around them stays.
fn write_page(repository: &Repository, programs: &Programs, wanted: &Wanted, tables: &[Table]) -> Result<(), String> {
    let facts = format!(
        "{} against this repository's release build; {} alternating pairs of {} ms for each job.",
        programs.fio_version, wanted.pairs, wanted.runtime_ms
    );
    let tables: Vec<String> = tables.iter().map(table::markdown).collect();
    page::put(repository, PAGE, BEGIN, &format!("{facts}\n\n{}", tables.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        let read = wanted(&["--small", "--pairs=3", "--only=psync", "--json=x"]).unwrap();
        assert_eq!((read.small, read.pairs, read.runtime_ms), (true, 3, 200));
        assert_eq!((read.only.as_deref(), read.json), (Some("psync"), Some(PathBuf::from("x"))));
        assert_eq!(wanted(&[]).unwrap().pairs, 5);
        let bench = wanted(&["--bench", "--debug"]).unwrap();
        assert!(bench.bench && bench.profile() == Profile::Debug && wanted(&[]).unwrap().profile() == Profile::Release);
        for bad in ["--pairs=0", "--pairs=many", "--what"] {
            assert!(wanted(&[bad]).is_err(), "{bad}");
        }
    }
}
