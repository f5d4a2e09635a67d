//! Parts of one run, which ranks have recorded each by itself, as one recording.
//!
//! Nothing is averaged: workers keep their counts and histograms, as [`crate::gather`] has it. What
//! is missing is said: ranks without a part, and parts that end before their run did.

use std::collections::BTreeMap;

use iolab_activity::Failure;
use iolab_order::Arrange;
use iolab_plan::Rank;
use iolab_recording::Recording;
use iolab_text::counted;

use crate::clock_offset::ClockOffset;
use crate::gather::{Gathered, recording_of};

/// A part of a run.
#[derive(Debug, Clone)]
pub struct PartOfRun {
    /// What the user calls it: the name of a file.
    pub name: String,
    /// What it has of the run.
    pub recording: Recording,
    /// What has to be known of it, such as that it ends early.
    pub notes: Vec<String>,
}

/// One recording of all parts, by rank. Parts of runs that were not ranks of one are hosts in the
/// order given.
///
/// # Errors
/// They are not parts of one run.
pub fn merge(mut parts: Vec<PartOfRun>) -> Result<Recording, Failure> {
    if let Some(whole) = parts.iter().find(|part| !part.recording.hosts.is_empty()) {
        let what = counted(whole.recording.hosts.len() as u64, "host");
        return Err(Failure::mistake(format!(
            "{}: this is a recording of {what} already: name the recordings that its hosts have kept",
            whole.name
        )));
    }
    let missing = check_ranks(&parts)?;
    parts.arrange_by_key(|part| rank(part).map_or(0, |rank| rank.number));
    let mut warnings = differences(&parts);
    warnings.extend(missing);
    let names = names(&parts);
    warnings.extend(
        parts.iter().zip(&names).flat_map(|(part, name)| part.notes.iter().map(move |note| format!("{name}: {note}"))),
    );
    let gathered = parts.into_iter().zip(names).map(|(part, name)| Gathered {
        name,
        port: None,
        clock: ClockOffset::default(),
        clock_drift_ns: None,
        recording: part.recording,
        lost: None,
    });
    let mut recording = recording_of(gathered.collect());
    recording.warnings.splice(..0, warnings);
    Ok(recording)
}

fn rank(part: &PartOfRun) -> Option<&Rank> {
    part.recording.plan.rank.as_ref()
}

/// Whether the parts can be of one run: each rank once, and as many as each says. Returns which
/// are missing.
fn check_ranks(parts: &[PartOfRun]) -> Result<Option<String>, Failure> {
    let [first, others @ ..] = parts else {
        return Err(Failure::mistake("there is nothing to merge: name the recordings of the ranks or hosts"));
    };
    let ranks = rank(first).map(|rank| rank.ranks);
    if ranks.is_none() && others.is_empty() {
        return Err(Failure::mistake(format!("{} is the whole run: there is nothing to merge", first.name)));
    }
    if let Some(other) = others.iter().find(|other| rank(other).map(|rank| rank.ranks) != ranks) {
        let said = |part: &PartOfRun| match rank(part) {
            Some(rank) => format!("{} is rank {} of {}", part.name, rank.number, rank.ranks),
            None => format!("{} is not one of several ranks", part.name),
        };
        let reason = format!("{}, and {}: they are not parts of one run", said(first), said(other));
        return Err(Failure::mistake(reason));
    }
    let Some(ranks) = ranks else { return Ok(None) };
    let mut by_rank: BTreeMap<u32, &str> = BTreeMap::new();
    for part in parts {
        let number = rank(part).map_or(0, |rank| rank.number);
        if let Some(other) = by_rank.insert(number, &part.name) {
            return Err(Failure::mistake(format!("{other} and {} are both of rank {number}: name one", part.name)));
        }
    }
    let missing: Vec<String> =
        (0..ranks).filter(|number| !by_rank.contains_key(number)).map(|number| number.to_string()).collect();
    Ok((!missing.is_empty()).then(|| {
        format!("of {ranks} ranks, the recordings of {} are missing: their work is not counted", missing.join(", "))
    }))
}

/// What the reader must know of parts that differ.
fn differences(parts: &[PartOfRun]) -> Vec<String> {
    let first = &parts[0].recording;
    let mut warnings = Vec::new();
    if let Some(other) = parts.iter().find(|part| part.recording.iolab_version != first.iolab_version) {
        let (one, other) = (&first.iolab_version, &other.recording.iolab_version);
        warnings.push(format!("the parts are of different versions of iolab: {one} and {other}"));
    }
    if parts.iter().any(|part| part.recording.host.hostname != first.host.hostname) {
        let reason = "the clocks of the hosts were not compared: when each began is what its own clock says";
        warnings.push(reason.to_owned());
    }
    warnings
}

/// The name of each part: its host, with a number where several parts are of one host.
fn names(parts: &[PartOfRun]) -> Vec<String> {
    let host =
        |part: &PartOfRun| rank(part).map_or_else(|| part.recording.host.hostname.clone(), |rank| rank.host.clone());
    let hosts: Vec<String> = parts.iter().map(host).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    hosts.iter().for_each(|host| *counts.entry(host).or_default() += 1);
    let is_alone = |host: &String| counts.get(host.as_str()) == Some(&1);
    let number = |(place, part)| rank(part).map_or(place, |rank| rank.number);
    let named = hosts.iter().zip((0..).zip(parts));
    named.map(|(host, of)| if is_alone(host) { host.clone() } else { format!("{host}#{}", number(of)) }).collect()
}

#[cfg(test)]
mod tests;
