//! Data read back that differs from the data written.

use iolab_recording::Severity;
use iolab_text::counted;

use super::{RuleMatch, of_jobs};
use crate::facts::Facts;

/// Most damaged blocks listed one by one.
const MOST_SHOWN: usize = 3;

/// Blocks that failed to verify, with their places and kinds of damage.
pub(crate) fn damaged(facts: &Facts<'_>) -> Vec<RuleMatch> {
    of_jobs(facts, Severity::Invalid, |job| {
        let all = job.members.iter().filter_map(|member| member.worker.verification.as_ref());
        let (mut checked, mut damaged, mut first) = (0, 0, Vec::new());
        for found in all {
            checked += found.intervals;
            damaged += found.damaged;
            first.extend(&found.first);
        }
        let told = first.iter().take(MOST_SHOWN).map(|block| {
            format!("{} at {}, length {}, looks like {}", block.file, block.offset, block.length, block.damage)
        });
        let told: Vec<String> = told.collect();
        let more = if damaged > told.len() as u64 { ", …" } else { "" };
        (damaged > 0)
            .then(|| format!("{damaged} of {} failed to verify: {}{more}", counted(checked, "block"), told.join(", ")))
    })
}
