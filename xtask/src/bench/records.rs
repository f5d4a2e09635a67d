//! The cost of additional recording on the null engine, where it is most visible: intervals, and
//! logs of every operation.

use std::path::Path;

use super::Bench;
use super::job::{End, Job};
use super::sheet::{Bound, Sheet};
use super::turns::{self, Entrant};
use crate::spread::{ratios, spread};

/// A histogram for each tenth of a second, beside none at all.
pub(super) fn intervals(bench: &Bench) -> Result<Sheet, String> {
    let mut sheet = Sheet::new("intervals", &["operations per CPU second", "times without"]);
    for depth in bench.depths() {
        let job = |words: &str| Job::null(&format!("--thread --norandommap --iodepth={depth} {words}"));
        let (without, with) = (job("--interval=0"), job("--interval=100ms"));
        let turn = |job: &Job| {
            let ran = job.run(&bench.iolab, End::AfterMs(3 * bench.runtime_ms))?;
            Ok(vec![ran.operations / ran.spent.processor_s().max(1e-9)])
        };
        let entrants = [
            Entrant::new("iolab, no intervals", || turn(&without)),
            Entrant::new("iolab, intervals of 100 ms", || turn(&with)),
        ];
        let found = turns::take(&entrants, bench.rounds)?;
        let case = format!("depth {depth}");
        for (entrant, figures) in entrants.iter().zip(&found) {
            let times = spread(&ratios(&figures[0], &found[0][0]));
            sheet.row(&case, &entrant.name, vec![Some(spread(&figures[0])), Some(times)]);
        }
        let times = spread(&ratios(&found[1][0], &found[0][0]));
        sheet.target(format!("{case}: operations with intervals, times without"), Bound::AtLeast(0.99), Some(times));
    }
    Ok(sheet)
}

/// `write_lat_log` of every operation: processor time with it less that without, over the
/// operations.
pub(super) fn logs(bench: &Bench) -> Result<Sheet, String> {
    let mut sheet = Sheet::new("logs", &["CPU ns an operation", "with write_lat_log", "the log's share"]);
    let folder = tempfile::tempdir_in(&bench.folder).map_err(|error| error.to_string())?;
    let count = bench.logged_operations;
    let plain = Job::null("--norandommap --iodepth=1");
    let turn = |program: &Path, name: &str| {
        let logged = plain.clone().with(&format!("--write_lat_log={}/{name}", folder.path().display()));
        let spent = |job: &Job| -> Result<f64, String> {
            Ok(job.run(program, End::AfterOperations(count))?.spent.processor_s() * 1e9 / count as f64)
        };
        let (without, with) = (spent(&plain)?, spent(&logged)?);
        Ok(vec![without, with, with - without])
    };
    let entrants =
        [Entrant::new("iolab", || turn(&bench.iolab, "iolab")), Entrant::new("fio", || turn(Path::new("fio"), "fio"))];
    let found = turns::take(&entrants, bench.rounds)?;
    for (entrant, figures) in entrants.iter().zip(&found) {
        sheet.row("null, depth 1", &entrant.name, figures.iter().map(|values| Some(spread(values))).collect());
    }
    sheet.target("CPU ns of the log, an operation", Bound::AtMost(100.0), Some(spread(&found[0][2])));
    Ok(sheet)
}
