//! Whether storage behind a network was reached at all: caches of clients (of a library, of the
//! kernel's file systems), and of servers on this machine.
//!
//! ```text
//! job ─ bytes asked ─▶ cache of the client ─ bytes carried ─▶ server ─ bytes of its processes ─▶ its devices
//! ```

use iolab_plan::{Direction, Reach};
use iolab_recording::{MountSample, NetworkSeries, PeerSample, SampleSeries, Severity};
use iolab_units::rounded_ns;

use super::RuleMatch;
use super::network::{least_round_trip_ns, network};
use crate::facts::{Facts, Job};
use crate::traffic::DATA;
use crate::wording::{bytes, count, percent};

/// With fewer bytes, the rules return nothing.
const LEAST_BYTES: f64 = 1048576.0;

/// With fewer operations, nothing is said of latencies and of names.
const LEAST_IOS: u64 = 100;

/// Up to this share of the job's bytes, so little was carried that the figures do not describe the
/// server.
const HARDLY: f64 = 0.5;

/// Below this share, enough bytes were answered by a cache to mention it.
const NOT_ALL: f64 = 0.85;

/// The counts of a connection are those of the last sample before it ended. In jobs of fewer
/// samples, what is missing would be mistaken for the work of a cache.
const LEAST_SAMPLES: u64 = 10;

/// Operations that are faster than this share of a round trip did not wait for one.
const TOO_FAST: f64 = 0.8;

/// Whom a match is about, and what is compared.
struct Compared {
    jobs: Vec<String>,
    direction: Direction,
    asked: f64,
    carried: f64,
    /// What carried the bytes.
    carrier: &'static str,
}

/// A client answered from its memory.
pub(crate) fn client_cache(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let Some(network) = network(facts) else { return Vec::new() };
    let mut seen = Vec::new();
    if let Some(remote) = of_one_engine(facts).filter(|remote| are_long(facts, remote)) {
        let carried = carried_by_connections(network).or_else(|| carried_by_links(network));
        for (direction, (carried, carrier)) in each_way(carried) {
            let asked = remote.iter().map(|job| job.whole_bytes(direction) as f64).sum();
            let jobs = names(&remote, direction);
            seen.extend(compared(&Compared { jobs, direction, asked, carried, carrier }));
        }
        seen.extend(too_fast(facts, &remote));
    }
    for mount in &network.mounts {
        let jobs: Vec<&Job<'_>> = facts.shown().filter(|job| is_on(job, mount)).collect();
        let carried = carried_by_mount(mount).or_else(|| carried_by_links(network));
        for (direction, (carried, carrier)) in each_way(carried) {
            let data: Vec<&Job<'_>> = jobs.iter().copied().filter(|job| job.is_kernel()).collect();
            let asked = data.iter().map(|job| job.whole_bytes(direction) as f64).sum();
            seen.extend(compared(&Compared { jobs: names(&data, direction), direction, asked, carried, carrier }));
        }
        seen.extend(names_from_cache(&jobs, mount));
    }
    seen
}

/// The jobs that reach their storage by sockets, if all are of one engine: beside another that uses
/// none, the bytes of the connections are not those of the jobs.
fn of_one_engine<'f, 'a>(facts: &'f Facts<'a>) -> Option<Vec<&'f Job<'a>>> {
    let remote: Vec<&Job<'_>> = facts.jobs.iter().filter(|job| job.first().reach() == Reach::Device).collect();
    let engine = &remote.first()?.first().plan.engine.name;
    remote.iter().all(|job| job.first().plan.engine.name == *engine).then_some(remote)
}

/// Bytes from and to the server, and what carried them.
type Carried = ([f64; 2], &'static str);

fn each_way(carried: Option<Carried>) -> impl Iterator<Item = (Direction, (f64, &'static str))> {
    let each = carried.into_iter().flat_map(|(sums, carrier)| sums.map(|sum| (sum, carrier)));
    DATA.into_iter().zip(each)
}

/// Received and acknowledged bytes of all connections, if they were the same for the whole run:
/// others may have come and gone between two samples.
fn carried_by_connections(network: &NetworkSeries) -> Option<Carried> {
    let begun_ns = network.peers.iter().filter_map(|peer| peer.samples.first()).map(|sample| sample.at_ns).min();
    let lasts = |peer: &SampleSeries<PeerSample>| {
        let ends = peer.ends().filter(|(first, _)| Some(first.at_ns) == begun_ns);
        ends.is_some_and(|(first, last)| first.opened == last.opened)
    };
    if !network.peers.iter().all(lasts) {
        return None;
    }
    let sums = gained(&network.peers, [|at| at.received_bytes, |at| at.acknowledged_bytes])?;
    Some((sums, "the connections"))
}

/// What NFS counts.
fn carried_by_mount(mount: &SampleSeries<MountSample>) -> Option<Carried> {
    let sums = gained(std::slice::from_ref(mount), [|at| at.server_read_bytes, |at| at.server_written_bytes])?;
    Some((sums, "the requests of the mount"))
}

/// What all interfaces carried is at least what the run's connections did.
fn carried_by_links(network: &NetworkSeries) -> Option<Carried> {
    let sums = gained(&network.links, [|at| at.received_bytes, |at| at.sent_bytes])?;
    Some((sums, "all links to the server"))
}

/// Whether the samples cover nearly all of each job.
fn are_long(facts: &Facts<'_>, jobs: &[&Job<'_>]) -> bool {
    let interval_ns = facts.recording.observations.as_ref().map_or(u64::MAX, |seen| seen.interval_ns);
    let mut members = jobs.iter().flat_map(|job| &job.members);
    members.all(|member| member.worker.runtime_ns >= LEAST_SAMPLES.saturating_mul(interval_ns))
}

/// How much two counts grew, summed over all; `None` if there is nothing to count, or too few
/// samples.
fn gained<Sample>(all: &[SampleSeries<Sample>], of: [fn(&Sample) -> u64; 2]) -> Option<[f64; 2]> {
    let ends: Option<Vec<(&Sample, &Sample)>> = all.iter().map(SampleSeries::ends).collect();
    let ends = ends.filter(|ends| !ends.is_empty())?;
    Some(of.map(|of| ends.iter().map(|(first, last)| of(last).saturating_sub(of(first)) as f64).sum()))
}

fn compared(what: &Compared) -> Option<RuleMatch> {
    let Compared { jobs, direction, asked, carried, carrier } = what;
    if *asked < LEAST_BYTES || *carried > NOT_ALL * asked || jobs.is_empty() {
        return None;
    }
    let severity = if *carried <= HARDLY * asked { Severity::Invalid } else { Severity::Warning };
    let word = if *direction == Direction::Read { "read" } else { "written" };
    let share = percent(carried / asked);
    let evidence = format!("{} {word}, but {carrier} carried only {} ({share})", bytes(*asked), bytes(*carried));
    let found = RuleMatch::of_several(severity, jobs.clone(), &evidence);
    Some(match severity {
        Severity::Invalid => found,
        _ => found.meaning("Part of these operations was answered by a cache of this client."),
    })
}

/// Operations that were over before anything could have come back.
fn too_fast(facts: &Facts<'_>, remote: &[&Job<'_>]) -> Vec<RuleMatch> {
    let Some(least_ns) = least_round_trip_ns(facts) else { return Vec::new() };
    let mut seen = Vec::new();
    for direction in DATA {
        for job in remote {
            let mut latencies = job.first().worker.directions[direction as usize].lat.clone();
            job.members[1..]
                .iter()
                .for_each(|member| latencies.merge(&member.worker.directions[direction as usize].lat));
            let median_ns = latencies.percentile(50.0);
            if latencies.count >= LEAST_IOS && (median_ns as f64) < TOO_FAST * least_ns as f64 {
                let evidence = format!(
                    "half of its {}s took up to {}, but a round trip to the server takes at least {}",
                    direction.name(),
                    rounded_ns(median_ns as f64),
                    rounded_ns(least_ns as f64)
                );
                seen.push(RuleMatch::of_several(Severity::Invalid, vec![job.name.to_owned()], &evidence));
            }
        }
    }
    seen
}

/// Whether a job has files on a mount.
fn is_on(job: &Job<'_>, mount: &SampleSeries<MountSample>) -> bool {
    let files = job.members.iter().flat_map(|member| &member.plan.files);
    // A relative path may lead there; the mount is only listed because some file is on it.
    files.map(|file| &file.path).any(|path| path.is_relative() || path.starts_with(&mount.name))
}

/// Jobs about names that asked the server less often than the job asked the file system.
fn names_from_cache(jobs: &[&Job<'_>], mount: &SampleSeries<MountSample>) -> Option<RuleMatch> {
    let (first, last) = mount.ends()?;
    let about_names: Vec<&&Job<'_>> = jobs.iter().filter(|job| job.first().reach() == Reach::Names).collect();
    let asked: u64 = about_names.iter().flat_map(|job| Direction::ALL.map(|way| job.whole_ios(way))).sum();
    let requests = last.name_requests.saturating_sub(first.name_requests);
    (asked >= LEAST_IOS && requests as f64 <= HARDLY * asked as f64).then(|| {
        let evidence = format!(
            "{} operations on names, but the mount sent only {} requests about names",
            count(asked),
            count(requests)
        );
        let jobs = about_names.iter().map(|job| job.name.to_owned()).collect();
        RuleMatch::of_several(Severity::Invalid, jobs, &evidence).meaning(
            "The cache of attributes of this client answered most of these operations: you measured the client.",
        )
    })
}

/// Servers on this machine that answered from memory.
pub(crate) fn server_cache(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let Some(remote) = of_one_engine(facts) else { return Vec::new() };
    let asked: f64 = remote.iter().map(|job| job.whole_bytes(Direction::Read) as f64).sum();
    let servers = network(facts).map(|network| network.servers.as_slice()).unwrap_or_default();
    let Some([read, _]) = gained(servers, [|at| at.read_bytes, |at| at.written_bytes]) else { return Vec::new() };
    if asked < LEAST_BYTES || read > HARDLY * asked {
        return Vec::new();
    }
    let programs: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    let evidence = format!(
        "{} read, but {} on this host read only {} from storage ({})",
        bytes(asked),
        programs.join(" and "),
        bytes(read),
        percent(read / asked)
    );
    vec![RuleMatch::of_several(Severity::Note, names(&remote, Direction::Read), &evidence)]
}

fn names(jobs: &[&Job<'_>], direction: Direction) -> Vec<String> {
    jobs.iter().filter(|job| job.whole_bytes(direction) > 0).map(|job| job.name.to_owned()).collect()
}
