//! What looking at the block devices and the machine costs a run, on a RAM disk at full speed: operations per second with and without.

use super::Bench;
use super::job::{End, Job};
use super::sheet::{Bound, Sheet};
use super::turns::{self, Entrant};
use crate::ground::Ground;
use crate::spread::{ratios, spread};

/// Looks each second and each tenth of one, and every request followed, beside none of it.
pub(super) fn run(bench: &Bench) -> Result<Sheet, String> {
    let mut sheet = Sheet::new("sampling", &["IOPS", "times without"]);
    let ground = match Ground::ram_disk(bench.bytes) {
        Ok(ground) => ground,
        Err(reason) => {
            sheet.skip(reason);
            Ground::file(&bench.folder, bench.bytes)?
        }
    };
    let job = |words: &str| Job::on(&ground.target, ground.bytes, "io_uring", 32).with(words);
    // A run has to be longer than the time between looks.
    let end = End::AfterMs(11 * bench.runtime_ms);
    let turn = |words: &'static str| move || Ok(vec![job(words).run(&bench.iolab, end)?.iops]);
    let entrants = [
        Entrant::new("iolab, no looks", turn("--sample_interval=0")),
        Entrant::new("iolab, looks each second", turn("--sample_interval=1s")),
        Entrant::new("iolab, looks each tenth of a second", turn("--sample_interval=100ms")),
        Entrant::new("iolab, every request followed", turn("--sample_interval=1s --trace_block=1")),
    ];
    let found = turns::take(&entrants, bench.rounds)?;
    for (entrant, figures) in entrants.iter().zip(&found) {
        let times = spread(&ratios(&figures[0], &found[0][0]));
        sheet.row(&ground.name, &entrant.name, vec![Some(spread(&figures[0])), Some(times)]);
    }
    for (what, place) in [("each second", 1), ("each tenth of a second", 2)] {
        let times = spread(&ratios(&found[place][0], &found[0][0]));
        sheet.target(format!("operations with looks {what}, times without"), Bound::AtLeast(0.995), Some(times));
    }
    Ok(sheet)
}
