//! Scaling: a second thread, many jobs, many files, and the memory of each worker.

use std::path::Path;
use std::process::Command;

use super::job::{End, Job};
use super::memory;
use super::sheet::{Bound, Sheet};
use super::spending;
use super::turns::{self, Entrant, Figures};
use super::{Bench, Size};
use crate::spread::{Spread, ratios, spread};

/// How often each program runs.
#[derive(Debug, Clone, Copy)]
struct Rounds {
    for_nothing: usize,
    counted: usize,
}

/// Several small races, one after the other.
pub(super) fn run(bench: &Bench) -> Result<Sheet, String> {
    let mut sheet = Sheet::new("scale", &["found", "iolab's, times this"]);
    threads(bench, &mut sheet)?;
    let rounds = Rounds { for_nothing: 0, counted: bench.rounds };
    // A thousand of fio's jobs take long.
    let fewer = Rounds { counted: bench.rounds.min(3), ..rounds };
    let (few, many) = if bench.size == Size::Real { (64, 1000) } else { (4, 16) };
    for (jobs, rounds) in [(few, rounds), (many, fewer)] {
        let words = format!("--name=bench --ioengine=null --rw=read --bs=4k --size=4k --numjobs={jobs}");
        let case = format!("{jobs} jobs of one operation, seconds from start to end");
        let found = race(bench, &mut sheet, &case, rounds, |program| seconds(program, &words))?;
        if jobs == few {
            sheet.target(case, Bound::AtMost(0.2), Some(found));
        }
    }
    files(bench, &mut sheet)?;
    let what = format!("MiB of each of {few} workers that is its own (private), depth 32");
    race(bench, &mut sheet, &what, fewer, |program| Ok(memory::of_workers(program, few)?.private_mib))?;
    let what = format!("MiB of each of {few} workers, shared pages by their share (PSS), depth 32");
    race(bench, &mut sheet, &what, fewer, |program| Ok(memory::of_workers(program, few)?.proportional_mib))?;
    Ok(sheet)
}

/// IOPS of two threads by those of one.
fn threads(bench: &Bench, sheet: &mut Sheet) -> Result<(), String> {
    let case = "null, depth 32: IOPS of two threads, times those of one";
    let found = race(bench, sheet, case, Rounds { for_nothing: 0, counted: bench.rounds }, |program| {
        let iops = |threads: u32| {
            let words = format!("--thread --norandommap --iodepth=32 --numjobs={threads}");
            Ok(Job::null(&words).run(program, End::AfterMs(bench.runtime_ms))?.iops)
        };
        let one: Result<f64, String> = iops(1);
        Ok(iops(2)? / one?)
    })?;
    sheet.target(case, Bound::AtLeast(1.9), Some(found));
    Ok(())
}

/// A job that touches each of many files once. The first run of each program lays out or opens the
/// files, and does not count.
fn files(bench: &Bench, sheet: &mut Sheet) -> Result<(), String> {
    let count = if bench.size == Size::Real { 10_000 } else { 50 };
    let folder = tempfile::tempdir_in(&bench.folder).map_err(|error| error.to_string())?;
    let words = format!(
        "--name=bench --ioengine=psync --rw=read --bs=4k --filesize=4k --nrfiles={count} --openfiles=100 --directory={}",
        folder.path().display()
    );
    let case = format!("one job over {count} files of 4 KiB, seconds from start to end");
    race(bench, sheet, &case, Rounds { for_nothing: 1, counted: bench.rounds }, |program| seconds(program, &words))
        .map(|_| ())
}

fn seconds(program: &Path, words: &str) -> Result<f64, String> {
    Ok(spending::spend(Command::new(program).args(words.split(' ')))?.wall_s)
}

/// Both programs in turn, after some rounds that do not count; iolab's figure.
fn race(
    bench: &Bench,
    sheet: &mut Sheet,
    case: &str,
    rounds: Rounds,
    run: impl Fn(&Path) -> Result<f64, String>,
) -> Result<Spread, String> {
    println!("{case}");
    let one = |program: &Path| Ok(vec![run(program)?]);
    let entrants = [Entrant::new("iolab", || one(&bench.iolab)), Entrant::new("fio", || one(Path::new("fio")))];
    turns::take(&entrants, rounds.for_nothing)?;
    let found: Vec<Figures> = turns::take(&entrants, rounds.counted)?;
    for (entrant, figures) in entrants.iter().zip(&found) {
        let times = spread(&ratios(&found[0][0], &figures[0]));
        sheet.row(case, &entrant.name, vec![Some(spread(&figures[0])), Some(times)]);
    }
    Ok(spread(&found[0][0]))
}
