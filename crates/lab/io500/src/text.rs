//! The lines for people.

use crate::phase::PhaseKind;
use crate::score::{Io500Score, PhaseResult};

/// The heads of the columns.
pub fn title_line() -> String {
    format!("{:<20}{:>14}  {:<8}{:>9}\n", "phase", "rate", "", "seconds")
}

/// The line of a phase.
pub fn phase_line(result: &PhaseResult) -> String {
    let unit = unit(result.phase.kind);
    format!("{:<20}{:>14.6}  {unit:<8}{:>9.1}\n", result.phase.name, result.rate, result.seconds)
}

fn unit(kind: PhaseKind) -> &'static str {
    match kind {
        PhaseKind::Bandwidth => "GiB/s",
        PhaseKind::Metadata => "kIOPS",
    }
}

/// The score, and whether it is one by the rules.
pub fn score_text(score: &Io500Score) -> String {
    let Io500Score { bandwidth, metadata, total, flaws } = score;
    let mut text = format!("\nbandwidth {bandwidth:.6} GiB/s, metadata {metadata:.6} kIOPS, score {total:.6}");
    if flaws.is_empty() {
        return text + "\n";
    }
    text += ": NOT A VALID SCORE\n";
    flaws.iter().for_each(|flaw| text += &format!("  {flaw}\n"));
    text
}
