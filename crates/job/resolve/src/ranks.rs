//! What ranks have to do with jobs: which rank a job is for, and which part of it each one has.
//!
//! Seeds differ from rank to rank, so that ranks do not touch the same blocks in the same order;
//! names that nobody gave hold the rank, so that ranks do not share files by accident. On servers
//! of a client, fio's rules apply instead: the server's address tells the files apart.

use iolab_jobfile::DiagnosticSeverity;
use iolab_options::PerDirection;
use iolab_order::Arrange;

use crate::job::Job;
use crate::request::{Overrides, ResolveRequest};

/// The ranks that `hosts` names.
#[derive(Debug, PartialEq, Eq)]
enum Hosts {
    /// By number.
    Ranks(Vec<u32>),
    /// Also by the names of hosts: whether this one is among them.
    Names(bool),
}

impl Overrides {
    /// The number of the rank, if there are others whose files, logs and seeds differ.
    pub(crate) fn rank_among_others(&self) -> Option<u32> {
        (self.rank.ranks > 1 && self.client.is_none()).then_some(self.rank.number)
    }

    /// What makes the name of a log this rank's own.
    pub(crate) fn rank_suffix(&self) -> String {
        self.rank_among_others().map(rank_word).unwrap_or_default()
    }
}

fn rank_word(rank: u32) -> String {
    format!(".rank{rank}")
}

/// Whether the job is for the rank that is planned.
pub(crate) fn is_for_this(job: &Job<'_>) -> bool {
    let rank = &job.request.overrides.rank;
    match hosts(job) {
        None => true,
        Some(Hosts::Ranks(ranks)) => ranks.contains(&rank.number),
        Some(Hosts::Names(is_named)) => is_named,
    }
}

/// Says that nothing is left for this rank.
pub(crate) fn nothing_to_do(request: &ResolveRequest<'_>) -> (String, &'static str) {
    let rank = &request.overrides.rank;
    let reason = format!("no job is for rank {} of {}, on host {} (hosts)", rank.number, rank.ranks, rank.host);
    (reason, "name it in the hosts of a job, or use fewer ranks")
}

/// `hosts`.
fn hosts(job: &Job<'_>) -> Option<Hosts> {
    let text = job.text("hosts")?;
    let this = &job.request.overrides.rank;
    let (mut ranks, mut are_numbers, mut is_named) = (Vec::new(), true, false);
    for word in text.split(',').map(str::trim) {
        match range(word) {
            Some((first, last)) if first <= last && last < MOST_RANKS => ranks.extend(first..=last),
            None if !word.is_empty() => {
                are_numbers = false;
                is_named |= word == this.host || this.host.split('.').next() == Some(word);
            }
            _ => {
                let reason = format!("hosts={text}: `{word}` is neither a rank nor a host");
                job.error("hosts", reason, "write ranks and hosts, as in hosts=0,2-4,node7");
                return None;
            }
        }
    }
    ranks.arrange();
    ranks.dedup();
    if are_numbers {
        return Some(Hosts::Ranks(ranks));
    }
    Some(Hosts::Names(is_named || ranks.contains(&this.number)))
}

/// Most ranks of a run.
const MOST_RANKS: u32 = 10_000;

/// `3` or `3-5`; anything else is the name of a host.
fn range(word: &str) -> Option<(u32, u32)> {
    let number = |text: &str| if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None };
    match word.split_once('-') {
        Some((first, last)) => Some((number(first)?, number(last)?)),
        None => number(word).map(|rank| (rank, rank)),
    }
}

/// The rank whose part this one has (`rank_shift`), if there are others whose files and offsets
/// differ.
fn stands_for(job: &Job<'_>) -> Option<u32> {
    let (overrides, shift) = (&job.request.overrides, u64::from(job.count("rank_shift")));
    let number = overrides.rank_among_others()?;
    Some(((u64::from(number) + shift) % u64::from(overrides.rank.ranks)) as u32)
}

/// What makes a name that nobody gave that of one rank.
pub(crate) fn file_suffix(job: &Job<'_>) -> String {
    stands_for(job).map(rank_word).unwrap_or_default()
}

/// How many clones of the job are on the ranks before this one, if the clones of all ranks are
/// counted.
pub(crate) fn clones_before(job: &Job<'_>) -> u64 {
    let rank = stands_for(job).unwrap_or(0);
    u64::from(rank).saturating_mul(u64::from(job.count("numjobs").max(1)))
}

/// This worker's part of rates that are those of the whole job (`rate_scope`).
pub(crate) fn share_of_rates(job: &Job<'_>, rates: [(&'static str, PerDirection<u64>); 4]) -> [PerDirection<u64>; 4] {
    let whole = rates.map(|(_, rate)| rate);
    if job.word("rate_scope") != "job" {
        return whole;
    }
    let rank = &job.request.overrides.rank;
    // Ranks without the job have no part of it.
    let with_job: Vec<u32> = match hosts(job) {
        None => (0..rank.ranks).collect(),
        Some(Hosts::Ranks(named)) => named.into_iter().filter(|named| *named < rank.ranks).collect(),
        Some(Hosts::Names(_)) => {
            let reason = "rate_scope=job: how many ranks share the rate cannot be known from the names of hosts";
            job.error("rate_scope", reason, "name ranks in hosts, as in hosts=0,2-4, or divide the rate by hand");
            return whole;
        }
    };
    let clones = u64::from(job.count("numjobs").max(1));
    let place = with_job.iter().position(|other| *other == rank.number).unwrap_or(0) as u64;
    let (workers, this) = (clones * with_job.len().max(1) as u64, place * clones + u64::from(job.clone) % clones);
    rates.map(|(name, rate)| {
        // Some would have none, which means no limit.
        if rate.iter().any(|total| *total > 0 && *total < workers) {
            let reason = format!("{name}={} is too little to divide among {workers} workers", job.written(name));
            job.error(name, reason, "each worker needs at least 1 per second: use fewer workers, or a higher rate");
        }
        rate.map(|total| total / workers + u64::from(this < total % workers))
    })
}

/// Warns of jobs that a run without other ranks leaves out.
pub(crate) fn warn_of_left_out(job: &Job<'_>) {
    let rank = &job.request.overrides.rank;
    if rank.ranks == 1 {
        let reason = format!("this job is left out: hosts={} does not name {}", job.written("hosts"), rank.host);
        let place = job.place("hosts");
        job.resolving.findings.add(
            DiagnosticSeverity::Warning,
            place,
            reason,
            "use --rank to run it as one of several",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_ranks_and_all_else_are_hosts() {
        for (word, expected) in
            [("3", Some((3, 3))), ("2-4", Some((2, 4))), ("node-4", None), ("4-node", None), ("n7", None)]
        {
            assert_eq!(range(word), expected, "{word}");
        }
    }
}
