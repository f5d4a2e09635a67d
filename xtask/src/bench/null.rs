//! The null engine, which isolates the cost of the program: IOPS of both programs, all statistics
//! on.
//!
//! `cargo xtask cost` counts the instructions behind these figures and compares them with budgets.

use std::path::Path;

use super::Bench;
use super::job::{End, Job};
use super::sheet::Sheet;
use super::turns::{self, Entrant};
use crate::cost::SHAPES;
use crate::spread::{ratios, spread};

/// Every shape of load under both.
pub(super) fn run(bench: &Bench) -> Result<Sheet, String> {
    let mut sheet = Sheet::new("null", &["IOPS", "ns an operation", "times fio"]);
    for shape in SHAPES.iter().filter(|shape| bench.depths().contains(&shape.depth)) {
        let job = Job::null(&format!("--thread --iodepth={} --norandommap={}", shape.depth, u8::from(!shape.map)));
        let turn = |program: &Path| {
            let ran = job.run(program, End::AfterMs(bench.runtime_ms))?;
            Ok(vec![ran.iops, 1e9 / ran.iops])
        };
        let entrants = [Entrant::new("iolab", || turn(&bench.iolab)), Entrant::new("fio", || turn(Path::new("fio")))];
        let found = turns::take(&entrants, bench.rounds)?;
        for (entrant, figures) in entrants.iter().zip(&found) {
            let times = spread(&ratios(&figures[0], &found[1][0]));
            let cells = vec![Some(spread(&figures[0])), Some(spread(&figures[1])), Some(times)];
            sheet.row(shape.name, &entrant.name, cells);
        }
    }
    Ok(sheet)
}
