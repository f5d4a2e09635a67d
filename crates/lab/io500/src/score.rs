//! What phases came to, and the score.
//!
//! ```text
//! bandwidth  geometric mean of the four phases in GiB/s
//! metadata   geometric mean of the eight phases in 1000 operations/s
//! score      square root of their product
//! ```

use iolab_recording::Recording;

use crate::STONEWALL_SECONDS;
use crate::phase::{Io500Phase, PHASES, PhaseKind, PhaseSizes};

/// What a phase came to.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseResult {
    /// Which.
    pub phase: Io500Phase,
    /// GiB per second, or 1000 operations per second.
    pub rate: f64,
    /// From the first operation of all ranks to the last, s.
    pub seconds: f64,
    /// Operations of the rank that did most.
    pub most_operations: u64,
    /// Why the rules do not accept it, in words.
    pub flaws: Vec<String>,
}

impl PhaseResult {
    /// Of the run of a phase.
    pub fn of(phase: Io500Phase, sizes: &PhaseSizes, recording: &Recording) -> PhaseResult {
        let done: Vec<u64> =
            recording.workers.iter().map(|worker| worker.directions.iter().map(|one| one.ios).sum()).collect();
        let (all, most) = (done.iter().sum::<u64>(), done.iter().copied().max().unwrap_or(0));
        let span = iolab_aggregate::whole_span(recording).unwrap_or_default();
        let seconds = span.length_ns as f64 / 1e9;
        let rate = match phase.kind {
            PhaseKind::Bandwidth => span.bytes_per_second / f64::from(1 << 30),
            PhaseKind::Metadata => span.ios_per_second / 1000.0,
        };
        let mut flaws = Vec::new();
        if recording.interrupted || recording.workers.iter().any(|worker| worker.has_failed()) {
            flaws.push("it failed".to_owned());
        }
        if phase.writes() && seconds < STONEWALL_SECONDS as f64 {
            let why = if phase.is_exhausted(most) { ", because a rank had nothing more to write" } else { "" };
            flaws.push(format!("it wrote for {seconds:.1} s, not for {STONEWALL_SECONDS} s{why}"));
        }
        if phase.writes() && done.iter().any(|own| *own != most) {
            flaws.push("the ranks did not write equally much".to_owned());
        }
        if phase.name == "find" && all != sizes.entries() {
            flaws.push(format!("it found {all} of {} files and directories", sizes.entries()));
        }
        PhaseResult { phase, rate, seconds, most_operations: most, flaws }
    }
}

/// The score of a set of phases.
#[derive(Debug, Clone, PartialEq)]
pub struct Io500Score {
    /// GiB per second.
    pub bandwidth: f64,
    /// 1000 operations per second.
    pub metadata: f64,
    /// The score.
    pub total: f64,
    /// Why the rules do not accept it, in words; none if they may.
    pub flaws: Vec<String>,
}

/// The score; `None` unless every phase was run.
pub fn score(results: &[PhaseResult]) -> Option<Io500Score> {
    if PHASES.iter().any(|phase| !results.iter().any(|result| result.phase == *phase)) {
        return None;
    }
    let mean =
        |kind: PhaseKind| geometric_mean(results.iter().filter(|one| one.phase.kind == kind).map(|one| one.rate));
    let (bandwidth, metadata) = (mean(PhaseKind::Bandwidth), mean(PhaseKind::Metadata));
    let flaws = results.iter().flat_map(|one| one.flaws.iter().map(|flaw| format!("{}: {flaw}", one.phase.name)));
    Some(Io500Score { bandwidth, metadata, total: (bandwidth * metadata).sqrt(), flaws: flaws.collect() })
}

/// Zero if one of them is.
fn geometric_mean(rates: impl Iterator<Item = f64>) -> f64 {
    let (logarithms, count) = rates.fold((0.0, 0.0), |(sum, count), rate| (sum + rate.ln(), count + 1.0));
    if count > 0.0 { f64::exp(logarithms / count) } else { 0.0 }
}
