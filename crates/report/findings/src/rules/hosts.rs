//! Hosts beside one another.

use std::collections::BTreeMap;

use iolab_aggregate::{Member, Throughput};
use iolab_order::Arrange;
use iolab_plan::Direction;
use iolab_recording::{Recording, Severity};

use crate::rules::{RuleMatch, together};
use crate::wording::{bytes, count};

/// A host is slow if it does less than this share of the median of the hosts that run the job.
const SLOW: f64 = 0.8;

/// Jobs that were much slower on one host than on most others. Rates that the job limits say
/// nothing of hosts.
pub(crate) fn slow_host(recording: &Recording) -> Vec<RuleMatch> {
    let mut jobs: BTreeMap<&str, BTreeMap<u32, Vec<Member<'_>>>> = BTreeMap::new();
    for member @ (plan, _) in iolab_aggregate::members(recording) {
        jobs.entry(&plan.job).or_default().entry(plan.host).or_default().push(member);
    }
    let slow = jobs.iter().filter_map(|(job, hosts)| Some((*job, slowest(recording, hosts)?)));
    together(Severity::Warning, slow.collect())
}

fn slowest(recording: &Recording, hosts: &BTreeMap<u32, Vec<Member<'_>>>) -> Option<String> {
    let mut all = hosts.values().flatten();
    if all.any(|(plan, _)| plan.pacing.scheduled() != [false; 3] || plan.pacing.think.is_some()) {
        return None;
    }
    let done = |members: &Vec<Member<'_>>| Throughput::of(&Direction::ALL, members);
    let moves = hosts.values().all(|members| done(members).bytes > 0);
    let rate = |throughput: Throughput| if moves { throughput.bytes_per_second() } else { throughput.ios_per_second() };
    let mut rates: Vec<(f64, u32)> = hosts.iter().map(|(host, members)| (rate(done(members)), *host)).collect();
    rates.retain(|(rate, _)| *rate > 0.0);
    rates.arrange_by(|one, other| one.0.total_cmp(&other.0));
    let ((slow, host), (median, _)) = (*rates.first()?, *rates.get(rates.len() / 2)?);
    if slow >= SLOW * median {
        return None;
    }
    let words = |rate: f64| {
        if moves { format!("{}/s", bytes(rate)) } else { format!("{} operations/s", count(rate as u64)) }
    };
    let name = recording.hosts.get(host as usize).map_or("", |host| host.name.as_str());
    let others =
        if rates.len() > 2 { format!("the median of {} hosts", rates.len()) } else { "the other host".to_owned() };
    Some(format!("{name} did {}, {others} {}", words(slow), words(median)))
}
