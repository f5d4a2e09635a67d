//! The hosts of a run of several beside one another: what each did, and what they did together.
//!
//! ```text
//!  host a  ├──────────────────────────────┤
//!  host b     ├───────────────────────┤
//!  host c       ├───────────────────────────────┤
//!          │skew│◀──── all of them ───▶│
//!          ◀───────── from first to last ───────▶
//! ```
//!
//! Some hosts begin late or end early. While all of them run, the storage carries the load that was
//! asked for; until the last has ended, the whole work is done. Both rates are shown, because a
//! slow host makes them differ. The rate while all run is computed from the intervals of the
//! workers; an interval at an end of that time counts in proportion.

use iolab_recording::Recording;

use crate::members::{Member, members};
use crate::throughput::{Throughput, per_second};

/// The hosts of a run, and what they did together.
#[derive(Debug, Clone, PartialEq)]
pub struct HostsFigures {
    /// Those whose workers did something, in the order of the recording.
    pub hosts: Vec<HostFigures>,
    /// How much later than the first the last of them began, ns.
    pub skew_ns: u64,
    /// While all of them ran; `None` if they never did at the same time.
    pub together: Option<SpanFigures>,
    /// From the first beginning to the last end.
    pub whole: SpanFigures,
}

/// What one host did.
#[derive(Debug, Clone, PartialEq)]
pub struct HostFigures {
    /// Its place in the list of the recording.
    pub host: u32,
    /// All its workers together.
    pub done: Throughput,
    /// When it began, ns after the first host.
    pub began_ns: u64,
    /// When its last worker ended, ns after the first host began.
    pub ended_ns: u64,
}

/// What was done in some time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SpanFigures {
    /// When it begins, ns after the first host.
    pub start_ns: u64,
    /// How long it is, ns.
    pub length_ns: u64,
    /// Operations completed per second.
    pub ios_per_second: f64,
    /// Bytes moved per second.
    pub bytes_per_second: f64,
}

/// The hosts beside one another; `None` if fewer than two did something.
pub fn hosts_figures(recording: &Recording) -> Option<HostsFigures> {
    let members = members(recording);
    let mut of_hosts: Vec<Vec<Member<'_>>> = vec![Vec::new(); recording.hosts.len()];
    for member in &members {
        if let Some(own) = of_hosts.get_mut(member.0.host as usize) {
            own.push(*member);
        }
    }
    let numbered = (0..).zip(&of_hosts);
    let hosts: Vec<HostFigures> = numbered.filter_map(|(host, own)| host_figures(host, own, recording)).collect();
    if hosts.len() < 2 {
        return None;
    }
    let first_ns = hosts.iter().map(|host| host.began_ns).min()?;
    let last_ns = hosts.iter().map(|host| host.began_ns).max()?;
    let end_ns = hosts.iter().map(|host| host.ended_ns).max()?;
    let early_ns = hosts.iter().map(|host| host.ended_ns).min()?;
    let all = hosts.iter().map(|host| host.done).fold(Throughput::default(), Throughput::beside);
    let length_ns = end_ns - first_ns;
    let whole = SpanFigures {
        start_ns: first_ns,
        length_ns,
        ios_per_second: per_second(all.ios, length_ns),
        bytes_per_second: per_second(all.bytes, length_ns),
    };
    let together = (last_ns < early_ns).then(|| between(&members, recording, last_ns, early_ns));
    Some(HostsFigures { hosts, skew_ns: last_ns - first_ns, together, whole })
}

/// What all workers of a run did from the first beginning to the last end, on one host or on many;
/// `None` if none did anything.
pub fn whole_span(recording: &Recording) -> Option<SpanFigures> {
    let members = members(recording);
    let ran: Vec<_> = members.iter().filter(|(_, worker)| worker.runtime_ns > 0).collect();
    let began_ns = |member: &&Member<'_>| {
        let late_ns = recording.hosts.get(member.0.host as usize).map_or(0, |host| host.began_late_ns);
        late_ns.saturating_add(member.1.started_ns)
    };
    let start_ns = ran.iter().map(began_ns).min()?;
    let end_ns = ran.iter().map(|member| began_ns(member).saturating_add(member.1.runtime_ns)).max()?;
    let all = Throughput::of(&iolab_plan::Direction::ALL, &members);
    let length_ns = end_ns - start_ns;
    Some(SpanFigures {
        start_ns,
        length_ns,
        ios_per_second: per_second(all.ios, length_ns),
        bytes_per_second: per_second(all.bytes, length_ns),
    })
}

/// How far from the agreed start the farthest host began, by its own clock, ns; `None` if no start
/// was agreed.
pub fn start_skew_ns(recording: &Recording) -> Option<u64> {
    recording.hosts.iter().filter_map(|host| host.start_skew_ns).map(i64::unsigned_abs).max()
}

fn host_figures(host: u32, own: &[Member<'_>], recording: &Recording) -> Option<HostFigures> {
    let late_ns = recording.hosts[host as usize].began_late_ns;
    let ran = || own.iter().map(|(_, worker)| *worker).filter(|worker| worker.runtime_ns > 0);
    let began_ns = ran().map(|worker| worker.started_ns).min()?;
    let ended_ns = ran().map(|worker| worker.started_ns.saturating_add(worker.runtime_ns)).max()?;
    let done = Throughput::of(&iolab_plan::Direction::ALL, own);
    Some(HostFigures {
        host,
        done,
        began_ns: late_ns.saturating_add(began_ns),
        ended_ns: late_ns.saturating_add(ended_ns),
    })
}

/// What completed from one time to another.
fn between(members: &[Member<'_>], recording: &Recording, from_ns: u64, to_ns: u64) -> SpanFigures {
    let (mut ios, mut bytes) = (0.0, 0.0);
    for (plan, worker) in members {
        let late_ns = recording.hosts[plan.host as usize].began_late_ns;
        for interval in &worker.intervals {
            let start_ns = late_ns.saturating_add(interval.start_ns);
            let end_ns = start_ns.saturating_add(interval.length_ns);
            let shared_ns = end_ns.min(to_ns).saturating_sub(start_ns.max(from_ns));
            if shared_ns > 0 {
                let share = shared_ns as f64 / interval.length_ns as f64;
                ios += share * interval.ios.iter().sum::<u64>() as f64;
                bytes += share * interval.bytes.iter().sum::<u64>() as f64;
            }
        }
    }
    let length_ns = to_ns - from_ns;
    let each_second = |amount: f64| amount * 1e9 / length_ns as f64;
    SpanFigures { start_ns: from_ns, length_ns, ios_per_second: each_second(ios), bytes_per_second: each_second(bytes) }
}

impl HostFigures {
    /// What hosts are compared by: bytes per second, or operations if none moved bytes.
    fn rate(&self) -> f64 {
        if self.done.bytes > 0 { self.done.bytes_per_second() } else { self.done.ios_per_second() }
    }
}

impl HostsFigures {
    /// The host with the lowest rate; the first of equals.
    pub fn slowest(&self) -> &HostFigures {
        self.hosts.iter().fold(&self.hosts[0], |known, host| if host.rate() < known.rate() { host } else { known })
    }

    /// The host with the highest rate; the first of equals.
    pub fn fastest(&self) -> &HostFigures {
        self.hosts.iter().fold(&self.hosts[0], |known, host| if host.rate() > known.rate() { host } else { known })
    }

    /// By how much the fastest is above the slowest, as a part of the mean: 0 if all are equal.
    pub fn imbalance(&self) -> f64 {
        let mean = self.hosts.iter().map(HostFigures::rate).sum::<f64>() / self.hosts.len() as f64;
        if mean > 0.0 { (self.fastest().rate() - self.slowest().rate()) / mean } else { 0.0 }
    }
}
