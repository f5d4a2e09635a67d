//! The cost of sampling the block devices and the machine during a run, on a RAM disk at full
//! speed.
//!
//! One sample per second costs far less than comparing runs with and without can show on a noisy
//! machine. So the cost is amplified: many short pairs of runs, one of each with a hundred times as
//! many samples. The loss divided by the samples is the loss for one sample per second, if a rare
//! sample costs the same as a frequent one. It costs somewhat more, because caches have been
//! overwritten. The processor time of samples at either interval, which the recordings contain,
//! shows how much more.

use std::path::PathBuf;

use serde_json::Value;

use super::job::{End, Job};
use super::sheet::{Bound, Sheet};
use super::turns::{self, Entrant};
use super::{Bench, Size, pairs};
use crate::area::TestArea;
use crate::spread::{Spread, ratios, spread};

/// Largest acceptable loss by one sample per second, percent.
const MOST_LOSS: f64 = 0.5;
/// The first look comes before the operations begin, the last after they have ended.
const LOOKS_OUTSIDE: f64 = 2.0;
/// Fewer rounds have no interval of 95 %.
const LEAST_ROUNDS: usize = 6;
/// Pairs for each round.
const PAIRS: usize = 8;
/// On a busy machine, the kernel's threads for a RAM disk may not begin sooner than in some tens of
/// milliseconds.
const SHORTEST_MS: u64 = 150;

/// One run, and what its looks took.
#[derive(Debug, Clone, Copy)]
struct Looked {
    iops: f64,
    looks: f64,
    seconds: f64,
    look_us: f64,
}

/// Where the runs take place.
struct Place<'a> {
    bench: &'a Bench,
    area: &'a TestArea,
    recording: PathBuf,
}

impl Place<'_> {
    fn run(&self, words: &str, ms: u64) -> Result<Looked, String> {
        let record = format!("--record={}", self.recording.display());
        let job = Job::on(&self.area.target, self.area.bytes, "io_uring", 32).with(words).with(&record);
        let iops = job.run(&self.bench.iolab, End::AfterMs(ms))?.iops;
        let text = std::fs::read_to_string(&self.recording).map_err(|error| format!("{record}: {error}"))?;
        looked(iops, &serde_json::from_str(&text).map_err(|error| format!("{record}: {error}"))?)
    }
}

/// What a recording says of its looks.
fn looked(iops: f64, recording: &Value) -> Result<Looked, String> {
    let seconds = recording["elapsed_ns"].as_f64().filter(|ns| *ns > 0.0).ok_or("a recording without a time")? / 1e9;
    let looks =
        recording.pointer("/observations/host").and_then(Value::as_array).map_or(0.0, |looks| looks.len() as f64);
    let looking_us = recording.pointer("/observations/looking_ns").and_then(Value::as_f64).unwrap_or(0.0) / 1e3;
    Ok(Looked { iops, looks, seconds, look_us: looking_us / looks.max(1.0) })
}

/// Looks each second and each tenth of one, and every request followed, beside none of it; and the
/// loss by pairs.
pub(super) fn run(bench: &Bench) -> Result<Sheet, String> {
    let columns = ["IOPS", "times without", "looks a second", "processor µs a look"];
    let mut sheet = Sheet::new("sampling", &columns);
    let area = match TestArea::ram_disk(bench.bytes) {
        Ok(area) => area,
        Err(reason) => {
            sheet.skip(reason);
            TestArea::file(&bench.folder, bench.bytes)?
        }
    };
    let folder = tempfile::tempdir_in(&bench.folder).map_err(|error| format!("{}: {error}", bench.folder.display()))?;
    let place = Place { bench, area: &area, recording: folder.path().join("recording") };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    directly(&place, &mut sheet)?;
    amplified(&place, 1, &mut sheet)?;
    if processors > 1 {
        amplified(&place, processors, &mut sheet)?;
    }
    Ok(sheet)
}

/// Runs as users make them, in turn. The noise of the machine limits the precision of the ratio;
/// the processor time of a sample is exact.
fn directly(place: &Place<'_>, sheet: &mut Sheet) -> Result<(), String> {
    // A run has to be longer than the time between looks.
    let ms = 11 * place.bench.runtime_ms;
    let rounds =
        if place.bench.size == Size::Small { place.bench.rounds } else { place.bench.rounds.max(LEAST_ROUNDS) };
    let turn = |words: &'static str| {
        move || {
            let Looked { iops, looks, seconds, look_us } = place.run(words, ms)?;
            Ok(vec![iops, looks / seconds, look_us])
        }
    };
    let entrants = [
        Entrant::new("iolab, no looks", turn("--sample_interval=0")),
        Entrant::new("iolab, looks each second", turn("--sample_interval=1s")),
        Entrant::new("iolab, looks each tenth of a second", turn("--sample_interval=100ms")),
        Entrant::new("iolab, every request followed", turn("--sample_interval=1s --trace_block=1")),
    ];
    let found = turns::take(&entrants, rounds)?;
    for (entrant, figures) in entrants.iter().zip(&found) {
        let [iops, rate, look_us] = [0, 1, 2].map(|figure| spread(&figures[figure]));
        let times = pairs::middle_ratio(&ratios(&figures[0], &found[0][0]));
        let look_us = Some(look_us).filter(|look_us| look_us.max > 0.0);
        sheet.row(&place.area.name, &entrant.name, vec![Some(iops), times, Some(rate), look_us]);
    }
    // The share of each second, in percent.
    let share = spread(&found[1][2].iter().map(|us| us / 1e4).collect::<Vec<_>>());
    let what = "processor time of looks each second, % of one processor, in all runs";
    sheet.target_of_ends(what, Bound::AtMost(MOST_LOSS), Some(share).filter(|share| share.max > 0.0));
    Ok(())
}

/// Pairs of runs with samples as often as possible and without: the loss by one sample per second.
fn amplified(place: &Place<'_>, jobs: usize, sheet: &mut Sheet) -> Result<(), String> {
    let ms = (place.bench.runtime_ms * 3 / 2).max(SHORTEST_MS);
    let job = format!("--numjobs={jobs}");
    let with = || place.run(&format!("{job} --sample_interval=10ms"), ms);
    let found = pairs::take(place.bench.rounds * PAIRS, with, || place.run(&format!("{job} --sample_interval=0"), ms))?;
    let figures = |of: fn(&(Looked, Looked)) -> f64| found.iter().map(of).collect::<Vec<f64>>();
    let times = pairs::middle_ratio(&figures(|(with, without)| with.iops / without.iops));
    let name = format!("iolab, looks each 10 ms, {jobs} at work, {} pairs", found.len());
    let [iops, rate, look_us]: [Spread; 3] = [
        spread(&figures(|(with, _)| with.iops)),
        spread(&figures(|(with, _)| with.looks / with.seconds)),
        spread(&figures(|(with, _)| with.look_us)),
    ];
    sheet.row(&place.area.name, &name, vec![Some(iops), times, Some(rate), Some(look_us)]);
    let what = format!("loss by looks each second, %, {jobs} at work: 95 % interval from pairs with looks each 10 ms");
    sheet.target_of_ends(what, Bound::AtMost(MOST_LOSS), pairs::middle(&figures(loss)));
    Ok(())
}

/// What a pair lost to one look in each second, percent. The logarithm is symmetric in the two
/// runs, and never below the share lost.
fn loss((with, without): &(Looked, Looked)) -> f64 {
    let rate = (with.looks - LOOKS_OUTSIDE).max(1.0) / with.seconds;
    (without.iops / with.iops).ln() * 100.0 / rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_tell_what_looks_took() {
        let recording = serde_json::json!({
            "elapsed_ns": 500_000_000, "observations": { "host": [{}, {}, {}, {}], "looking_ns": 800_000 }
        });
        let Looked { iops, looks, seconds, look_us } = looked(9.0, &recording).unwrap();
        assert_eq!((iops, looks, seconds, look_us), (9.0, 4.0, 0.5, 200.0));
        let without = looked(9.0, &serde_json::json!({ "elapsed_ns": 5 })).unwrap();
        assert_eq!((without.looks, without.look_us), (0.0, 0.0));
        assert!(looked(9.0, &serde_json::json!({})).is_err());
    }

    #[test]
    fn the_loss_is_that_of_the_looks_within_the_run() {
        let run = |iops, looks| Looked { iops, looks, seconds: 0.5, look_us: 0.0 };
        // 50 looks in half a second cost 1 - 1/e^0.1; one each second a hundredth of the logarithm.
        let loss = loss(&(run(1000.0, 52.0), run(1000.0 * 0.1_f64.exp(), 0.0)));
        assert!((loss - 0.1).abs() < 1e-9, "{loss}");
    }
}
