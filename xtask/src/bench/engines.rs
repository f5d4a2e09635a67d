//! The cost of an operation through io_uring, libaio and pread: iolab with its defaults, fio with
//! its defaults and at its best, a bare loop around iolab's engine, and fio's own minimal loop if
//! the user names it.
//!
//! fio at its best is the best of a few settings by measurement, with its statistics on. The bare
//! loops take no stamps; iolab's additional cost is that of its statistics and its schedule.

use std::path::PathBuf;

use super::case::{Case, Outcome, Role};
use super::counts;
use super::job::{End, Job};
use super::sheet::{Bound, Sheet};
use super::{Bench, Size};
use crate::area::TestArea;
use crate::programs::is_installed;
use crate::spread::{Spread, ratios, spread};

const COLUMNS: [&str; 6] = [
    "IOPS",
    "IOPS per CPU second",
    "iolab's, times this",
    "user ns an I/O (by ticks)",
    "system calls an I/O",
    "user instructions an I/O",
];

/// What fio's manual offers to make each engine cheaper.
const URING_SETTINGS: [&str; 4] = [
    "--registerfiles --fixedbufs",
    "--registerfiles --fixedbufs --iodepth_batch_submit=Q --iodepth_batch_complete_max=D",
    "--registerfiles --fixedbufs --iodepth_batch_submit=Q --iodepth_batch_complete_min=Q --iodepth_batch_complete_max=D",
    "--registerfiles --fixedbufs --iodepth_batch_submit=D --iodepth_batch_complete_min=D --iodepth_batch_complete_max=D",
];
const LIBAIO_SETTINGS: [&str; 4] = [
    "--userspace_reap",
    "--userspace_reap --iodepth_batch_submit=Q --iodepth_batch_complete_max=D",
    "--iodepth_batch_submit=Q --iodepth_batch_complete_min=Q --iodepth_batch_complete_max=D",
    "--iodepth_batch_submit=D --iodepth_batch_complete_min=D --iodepth_batch_complete_max=D",
];

/// io_uring and libaio.
pub(super) fn run(bench: &Bench) -> Result<Sheet, String> {
    let mut sheet = Sheet::new("engines", &COLUMNS);
    if bench.t_io_uring.is_none() {
        sheet.skip("fio's t/io_uring: name the program with --t-io-uring=PATH (it is part of fio's source)");
    }
    let engines: [(&'static str, PathBuf, &'static [&'static str]); 2] = [
        ("io_uring", bench.workshop.example("iolab-engine-uring", "bare_uring")?, &URING_SETTINGS),
        ("libaio", bench.workshop.example("iolab-engine-libaio", "bare_libaio")?, &LIBAIO_SETTINGS),
    ];
    for area in &areas(bench, &mut sheet)? {
        for (engine, bare, settings) in &engines {
            for depth in bench.depths() {
                let case = Case { bench, area, engine, depth: *depth, bare, settings };
                // On a file, the deepest queue only shows the device.
                if *depth <= 32 || case.is_device() {
                    measure(&mut sheet, &case)?;
                }
            }
        }
    }
    Ok(sheet)
}

fn measure(sheet: &mut Sheet, case: &Case<'_>) -> Result<(), String> {
    let outcomes = case.measure()?;
    put(sheet, case, &outcomes);
    for (role, what) in [(Role::Iolab, "as it comes"), (Role::IolabAlike, "with the same batches")] {
        if let Some(times) = times(&outcomes, role, Role::FioAtBest) {
            let what = format!("{}: iolab {what}: IOPS per CPU second, times fio's best", case.name());
            sheet.target(what, Bound::AtLeast(1.15), Some(times));
        }
    }
    limit_calls(sheet, case, &outcomes);
    limit_instructions(sheet, case, &outcomes)
}

fn of(outcomes: &[Outcome], role: Role) -> Option<&Outcome> {
    outcomes.iter().find(|outcome| outcome.role == role)
}

/// The ratio of IOPS per second of processor time between two roles, round by round.
fn times(outcomes: &[Outcome], role: Role, other: Role) -> Option<Spread> {
    Some(spread(&ratios(&of(outcomes, role)?.figures[1], &of(outcomes, other)?.figures[1])))
}

/// psync, whose bare loop is pread and nothing else.
pub(super) fn run_psync(bench: &Bench) -> Result<Sheet, String> {
    let mut sheet = Sheet::new("psync", &COLUMNS);
    let bare = bench.workshop.example("xtask", "bare_pread")?;
    for area in &areas(bench, &mut sheet)? {
        let case = Case { bench, area, engine: "psync", depth: 1, bare: &bare, settings: &[] };
        let outcomes = case.measure()?;
        put(&mut sheet, &case, &outcomes);
        let what = format!("{}: IOPS per CPU second, times the bare loop", case.name());
        sheet.target(what, Bound::AtLeast(0.97), times(&outcomes, Role::Iolab, Role::Bare));
    }
    Ok(sheet)
}

/// A file and, for the real size, a RAM disk of the kernel, which comes first.
fn areas(bench: &Bench, sheet: &mut Sheet) -> Result<Vec<TestArea>, String> {
    for tool in ["strace", "valgrind"] {
        if !is_installed(tool) {
            sheet.skip(format!("what {tool} counts: it is not installed"));
        }
    }
    let mut areas = vec![TestArea::file(&bench.folder, bench.bytes)?];
    if bench.size == Size::Real {
        match TestArea::ram_disk(bench.bytes) {
            Ok(area) => areas.insert(0, area),
            Err(reason) => sheet.skip(reason),
        }
    }
    Ok(areas)
}

fn put(sheet: &mut Sheet, case: &Case<'_>, outcomes: &[Outcome]) {
    let ours = &outcomes[0].figures[1];
    for Outcome { name, figures, calls, instructions, .. } in outcomes {
        let times = ratios(ours, &figures[1]);
        let mut cells: Vec<Option<Spread>> =
            [&figures[0], &figures[1], &times, &figures[2]].map(|values| Some(spread(values))).into();
        cells.extend([calls, instructions].map(|value| value.map(exactly)));
        sheet.row(&case.name(), name, cells);
    }
}

fn limit_calls(sheet: &mut Sheet, case: &Case<'_>, outcomes: &[Outcome]) {
    let limit = match case.depth {
        1 => 1.0,
        32 => 1.0 / 8.0,
        _ => return,
    };
    let calls = of(outcomes, Role::Iolab).and_then(|iolab| iolab.calls);
    let what = format!("{}: system calls an I/O", case.name());
    // One percent for a run's calls besides its operations: checking its time and its signals.
    sheet.target(what, Bound::AtMost(limit * 1.01), calls.map(exactly));
}

/// Compares iolab with the minimal loop plus iolab's additional work: its statistics alone, and all
/// its work on the null engine (choosing operations, slots, time).
fn limit_instructions(sheet: &mut Sheet, case: &Case<'_>, outcomes: &[Outcome]) -> Result<(), String> {
    let instructions = |role| of(outcomes, role)?.instructions;
    let (Some(ours), Some(minimal)) = (instructions(Role::Iolab), instructions(Role::Minimal)) else { return Ok(()) };
    let null = |words: &str| {
        let job = Job::null(&format!("--thread --iodepth={} {words}", case.depth));
        counts::instructions(
            |count| job.command(&case.bench.iolab, End::AfterOperations(count)),
            case.bench.counted_instructions(),
        )
    };
    let all = null("")?;
    let statistics = all - null("--gtod_reduce=1")?;
    for (what, beside) in [("our statistics", statistics), ("all of iolab's on the null engine", all)] {
        let what = format!("{}: user instructions an I/O, times those of t/io_uring and {what}", case.name());
        sheet.target(what, Bound::AtMost(1.1), Some(exactly(ours / (minimal + beside))));
    }
    Ok(())
}

fn exactly(value: f64) -> Spread {
    spread(&[value])
}
