//! Which devices are watched and how often, from iostat's arguments.

use iolab_observe::System;

use super::WatchArguments;
use super::looks::Pace;
use crate::exit::Failure;

/// Which devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selection {
    /// Whole devices that have been used.
    Used,
    /// All whole devices.
    All,
    /// These, sorted.
    Named(Vec<String>),
    /// These or all with their partitions, in the kernel's order; `unused`: those that were never used, too.
    Partitions { of: Vec<String>, unused: bool },
}

const SHORTEST_NS: u64 = 1_000_000;

/// Takes devices, interval and count apart.
pub(super) fn read(arguments: &WatchArguments, system: &System) -> Result<(Selection, Pace), Failure> {
    let mut words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    let mut partitions = arguments.partitions.as_deref();
    // `-p 1` is `-p` and an interval.
    if let Some(number) = partitions.filter(|word| word.parse::<f64>().is_ok()) {
        words.insert(0, number);
        partitions = Some("");
    }
    let (numbers, names): (Vec<&str>, Vec<&str>) =
        words.into_iter().partition(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    let pace = pace(&numbers)?;
    let names: Vec<String> = names.into_iter().map(|name| name.trim_start_matches("/dev/").to_owned()).collect();
    let of = |list: &str| list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let selection = match partitions {
        Some("ALL") => Selection::Partitions { of: Vec::new(), unused: true },
        Some(list) => Selection::Partitions { of: [of(list), names].concat(), unused: !list.is_empty() },
        None if names.is_empty() => Selection::Used,
        None if names.iter().any(|name| name == "ALL") => Selection::All,
        None => Selection::Named(named(names, system)?),
    };
    Ok((selection, pace))
}

fn named(mut names: Vec<String>, system: &System) -> Result<Vec<String>, Failure> {
    if let Some(missing) = names.iter().find(|name| !system.has_block_device(name)) {
        let devices = system.block_devices().join(", ");
        return Err(Failure::mistake(format!(
            "iolab: {missing} is not a block device of this machine: {devices}, or ALL"
        )));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn pace(numbers: &[&str]) -> Result<Pace, Failure> {
    let (interval, count) = match numbers {
        [] => return Ok(Pace { interval_ns: 0, reports: Some(1), whole_seconds: true }),
        [interval] => (interval, None),
        [interval, count] => (interval, Some(count)),
        _ => return Err(Failure::mistake("iolab: at most two numbers: the interval in seconds, and how many reports")),
    };
    let whole_seconds = !interval.contains('.');
    let interval_ns = interval.parse::<f64>().ok().map(|seconds| (seconds * 1e9).round() as u64);
    let interval_ns = interval_ns.filter(|ns| *ns >= SHORTEST_NS && *ns < u64::MAX / 4);
    let wrong =
        || Failure::mistake(format!("iolab: {interval}: the interval is a number of seconds, such as 1 or 0.2"));
    let reports = count.map(|count| {
        let count = count.parse::<u64>().ok().filter(|count| *count > 0);
        count.ok_or_else(|| Failure::mistake("iolab: the number of reports is a whole number from 1 on"))
    });
    Ok(Pace { interval_ns: interval_ns.ok_or_else(wrong)?, reports: reports.transpose()?, whole_seconds })
}

impl Selection {
    /// The devices of now; the second value tells whether those that were never used are left out.
    pub(super) fn names(&self, system: &System) -> (Vec<String>, bool) {
        match self {
            Selection::Used => (system.block_devices(), true),
            Selection::All => (system.block_devices(), false),
            Selection::Named(names) => (names.clone(), false),
            Selection::Partitions { of, unused } => {
                let mut listed = system.listed_devices();
                if !of.is_empty() {
                    let parts: Vec<String> = of.iter().flat_map(|disk| system.partitions_of(disk)).collect();
                    listed.retain(|name| of.contains(name) || parts.contains(name));
                }
                (listed, !unused)
            }
        }
    }
}
