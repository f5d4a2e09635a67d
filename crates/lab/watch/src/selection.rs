//! The watched devices and the interval, from iostat's arguments.

use iolab_observe::System;
use iolab_order::Arrange;

use crate::groups::{Group, Groups};
use crate::naming::Naming;
use crate::request::{Wanted, WatchError};

/// What is watched, and how it is named and summed up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    which: Which,
    pub(crate) groups: Groups,
    pub(crate) naming: Naming,
}

/// Which devices.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    /// Whole devices that have been used.
    Used,
    /// All whole devices.
    All,
    /// These.
    Named(Vec<String>),
    /// These or all with their partitions, in the kernel's order; `unused`: those that were never
    /// used, too.
    Partitions { of: Vec<String>, unused: bool },
}

const SHORTEST_NS: u64 = 1_000_000;

/// Takes devices, interval and count apart.
pub(crate) fn read(wanted: &Wanted, system: &System) -> Result<(Selection, Pace), WatchError> {
    let naming = Naming::read(wanted.mapper_names, wanted.persistent.as_deref(), system)?;
    let is_number = |word: &str| match naming {
        // An identifier may begin with a digit.
        Naming::Persistent(_) => word.parse::<f64>().is_ok(),
        _ => word.starts_with(|first: char| first.is_ascii_digit()),
    };
    let mut words: Vec<&str> = wanted.words.iter().map(String::as_str).collect();
    let mut partitions = wanted.partitions.as_deref();
    // `-p 1` is `-p` and an interval.
    if let Some(number) = partitions.filter(|word| word.parse::<f64>().is_ok()) {
        words.insert(0, number);
        partitions = Some("");
    }
    let (mut numbers, names): (Vec<&str>, Vec<&str>) = words.into_iter().partition(|word| is_number(word));
    let mut names: Vec<String> = names.into_iter().map(|name| naming.kernel_name(name, system)).collect();
    let mut list = Vec::new();
    for given in &wanted.groups {
        let (name, rest) = given.split_first().map_or(("", &given[..]), |(name, rest)| (name.as_str(), rest));
        let (after, members): (Vec<&str>, Vec<&str>) =
            rest.iter().map(String::as_str).partition(|word| is_number(word));
        numbers.extend(after);
        let members = members.into_iter().map(|member| naming.kernel_name(member, system)).collect();
        list.push(Group { name: name.to_owned(), members });
    }
    let groups = resolved(list, &mut names, wanted.only_groups);
    let of = |list: &str| {
        list.split(',').filter(|name| !name.is_empty()).map(|name| naming.kernel_name(name, system)).collect::<Vec<_>>()
    };
    let which = match partitions {
        Some("ALL") => Which::Partitions { of: Vec::new(), unused: true },
        Some(list) => Which::Partitions { of: [of(list), names].concat(), unused: !list.is_empty() },
        None if names.is_empty() => Which::Used,
        None if names.iter().any(|name| name == ALL) => Which::All,
        None => Which::Named(named(names, system, !groups.list.is_empty())?),
    };
    Ok((Selection { which, groups, naming }, pace(&numbers)?))
}

const ALL: &str = "ALL";

/// Adds the members of groups to `names`. A group without devices gets the names given elsewhere,
/// or else all; one of `ALL` has all.
fn resolved(mut list: Vec<Group>, names: &mut Vec<String>, only_groups: bool) -> Groups {
    if let [group] = &mut list[..]
        && group.members.is_empty()
    {
        group.members.clone_from(names);
    }
    names.extend(list.iter().flat_map(|group| group.members.clone()));
    for group in list.iter_mut().filter(|group| group.members.iter().any(|member| member == ALL)) {
        group.members.clear();
    }
    Groups { list, only_groups }
}

/// Sorted, unless groups want them as they were given.
fn named(names: Vec<String>, system: &System, as_given: bool) -> Result<Vec<String>, WatchError> {
    if let Some(missing) = names.iter().find(|name| !system.has_block_device(name)) {
        let devices = system.block_devices().join(", ");
        return Err(WatchError::Mistake(format!("{missing} is not a block device of this machine: {devices}, or ALL")));
    }
    let mut once: Vec<String> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    if !as_given {
        once.arrange();
    }
    Ok(once)
}

fn pace(numbers: &[&str]) -> Result<Pace, WatchError> {
    let (interval, count) = match numbers {
        [] => return Ok(Pace { interval_ns: 0, reports: Some(1), whole_seconds: true }),
        [interval] => (interval, None),
        [interval, count] => (interval, Some(count)),
        _ => {
            return Err(WatchError::Mistake(
                "at most two numbers are allowed: the interval in seconds and the number of reports".to_owned(),
            ));
        }
    };
    let whole_seconds = !interval.contains('.');
    let interval_ns = interval.parse::<f64>().ok().map(|seconds| (seconds * 1e9).round() as u64);
    let interval_ns = interval_ns.filter(|ns| *ns >= SHORTEST_NS && *ns < u64::MAX / 4);
    let wrong =
        || WatchError::Mistake(format!("{interval}: the interval must be a number of seconds, such as 1 or 0.2"));
    let reports = count.map(|count| {
        let count = count.parse::<u64>().ok().filter(|count| *count > 0);
        count.ok_or_else(|| WatchError::Mistake("the number of reports must be 1 or more".to_owned()))
    });
    Ok(Pace { interval_ns: interval_ns.ok_or_else(wrong)?, reports: reports.transpose()?, whole_seconds })
}

impl Selection {
    /// The current devices; the second value says whether never-used ones are left out.
    pub(crate) fn names(&self, system: &System) -> (Vec<String>, bool) {
        // Groups are listed as they are found, everything else sorted: iostat's order.
        let whole =
            || if self.groups.list.is_empty() { system.block_devices() } else { system.block_devices_unsorted() };
        match &self.which {
            Which::Used => (whole(), true),
            Which::All => (whole(), false),
            Which::Named(names) => (names.clone(), false),
            Which::Partitions { of, unused } => {
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

/// How often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Between reports, ns; 0: there is only one.
    pub(crate) interval_ns: u64,
    /// Number of reports; `None`: until the user ends it.
    pub(crate) reports: Option<u64>,
    /// Rates use the time of `/proc/uptime`, in hundredths of a second, as in iostat; otherwise a
    /// finer clock.
    pub(crate) whole_seconds: bool,
}
