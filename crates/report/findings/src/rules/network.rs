//! Whether the network between the run and its storage was the limit: links that were full, sockets
//! whose data could not leave, round trips, losses; and servers whose window was closed.

use iolab_recording::{NetworkSeries, PeerSample, SampleSeries, Severity};
use iolab_text::counted;
use iolab_units::rounded_ns;

use super::{RuleMatch, of_jobs};
use crate::facts::{Facts, Job, Member};
use crate::wording::{bytes, count, percent};

/// From this share of its speed on, a link is full: frames and headers take the rest.
const FULL_LINK: f64 = 0.85;

/// From this share of the time on, what was observed lasted.
const MOST_OF_THE_TIME: f64 = 0.5;

/// From this share of an operation's time on, the round trip is most of it.
const MOST_OF_AN_OPERATION: f64 = 0.5;

/// Shorter round trips do not leave the machine.
const LEAST_ROUND_TRIP_NS: u64 = 50_000;

/// From this share of the time with a closed window on, the server is the limit: each time that it
/// opens, the data that it takes is on its way for some of the rest.
const OFTEN_CLOSED: f64 = 0.25;

/// Up to this share, a server took what the network carried.
const HARDLY_CLOSED: f64 = 0.1;

/// With fewer samples, nothing is said about shares of time.
const LEAST_SAMPLES: usize = 4;

/// With fewer segments, nothing is said about losses.
const LEAST_SEGMENTS: u64 = 1000;

/// From this share of lost segments on, waits for repetitions are visible in latencies.
const LOSSES: f64 = 0.01;

/// The network of the run; parts of a recording are of one host.
pub(crate) fn network<'f>(facts: &'f Facts<'_>) -> Option<&'f NetworkSeries> {
    facts.recording.observations.as_ref()?.network.first()
}

fn peers<'f>(
    facts: &'f Facts<'_>,
) -> impl Iterator<Item = (&'f SampleSeries<PeerSample>, &'f PeerSample, &'f PeerSample)> {
    let peers = network(facts).into_iter().flat_map(|network| &network.peers);
    peers.filter_map(|peer| peer.ends().map(|(first, last)| (peer, first, last)))
}

/// A link was full, sockets could not get rid of their data, or the round trip was most of an
/// operation.
pub(crate) fn network_limit(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let whole = full_links(facts).into_iter().chain(congested(facts));
    let mut seen: Vec<RuleMatch> = whole.map(|evidence| RuleMatch::of_run(Severity::Warning, evidence)).collect();
    seen.extend(of_jobs(facts, Severity::Warning, |job| far_away(facts, job)));
    seen
}

fn full_links(facts: &Facts<'_>) -> Vec<String> {
    let links = network(facts).map(|network| network.links.as_slice()).unwrap_or_default();
    let full = links.iter().filter_map(|link| {
        let (first, last) = link.ends()?;
        let length_s = last.at_ns.saturating_sub(first.at_ns) as f64 / 1e9;
        let most = last.bits_per_second as f64 / 8.0;
        let rates = [
            ("received", last.received_bytes.saturating_sub(first.received_bytes) as f64 / length_s),
            ("sent", last.sent_bytes.saturating_sub(first.sent_bytes) as f64 / length_s),
        ];
        let (way, rate) = rates.into_iter().max_by(|one, next| one.1.total_cmp(&next.1))?;
        (most > 0.0 && rate >= FULL_LINK * most).then(|| {
            let of_all = percent((rate / most).min(1.0));
            format!("{} {way} {}/s: {of_all} of the {}/s that it carries", link.name, bytes(rate), bytes(most))
        })
    });
    full.collect()
}

/// Data was waiting in sockets, although the server would have taken it.
fn congested(facts: &Facts<'_>) -> Vec<String> {
    let seen = peers(facts).filter_map(|(peer, first, last)| {
        // At both ends the run does nothing.
        let inner = peer.samples.get(1..peer.samples.len() - 1)?;
        if peer.samples.len() < LEAST_SAMPLES {
            return None;
        }
        let waiting = inner.iter().filter(|sample| sample.unsent_bytes > 0).count() as f64 / inner.len() as f64;
        let limited = share(peer, first, last, |at| {
            at.busy_ns.saturating_sub(at.peer_limited_ns).saturating_sub(at.buffer_limited_ns)
        });
        let closed = share(peer, first, last, |at| at.peer_limited_ns);
        let holds = waiting >= MOST_OF_THE_TIME && limited >= MOST_OF_THE_TIME && closed <= HARDLY_CLOSED;
        holds.then(|| {
            let unsent = inner.iter().map(|sample| sample.unsent_bytes).sum::<u64>() as f64 / inner.len() as f64;
            format!(
                "the connections to {} had {} on average that the network did not take yet, in {} of the samples",
                peer.name,
                bytes(unsent),
                percent(waiting)
            )
        })
    });
    seen.collect()
}

/// The share of the time for one connection; several of a peer are busy at once.
fn share(
    peer: &SampleSeries<PeerSample>,
    first: &PeerSample,
    last: &PeerSample,
    of: impl Fn(&PeerSample) -> u64,
) -> f64 {
    let connections = peer.samples.iter().map(|sample| sample.open).max().unwrap_or(1).max(1);
    let length_ns = last.at_ns.saturating_sub(first.at_ns).max(1) as f64;
    of(last).saturating_sub(of(first)) as f64 / length_ns / connections as f64
}

fn far_away(facts: &Facts<'_>, job: &Job<'_>) -> Option<String> {
    if !job.is_remote() {
        return None;
    }
    let least_ns = least_round_trip_ns(facts)?;
    let lat_ns: Option<f64> = job.members.iter().map(Member::lat_sum_ns).sum();
    let mean_ns = lat_ns? / job.sum(Member::ios).max(1) as f64;
    (least_ns >= LEAST_ROUND_TRIP_NS && least_ns as f64 >= MOST_OF_AN_OPERATION * mean_ns).then(|| {
        format!(
            "the round trip to its server takes {} at least, of the {} of an operation",
            rounded_ns(least_ns as f64),
            rounded_ns(mean_ns)
        )
    })
}

/// The shortest round trip to any peer that data went to or came from, ns.
pub(crate) fn least_round_trip_ns(facts: &Facts<'_>) -> Option<u64> {
    let used = peers(facts).filter(|(_, first, last)| {
        last.received_bytes > first.received_bytes || last.acknowledged_bytes > first.acknowledged_bytes
    });
    let samples = used.flat_map(|(peer, ..)| &peer.samples);
    samples.map(|sample| sample.least_round_trip_ns).filter(|least_ns| *least_ns > 0).min()
}

/// Segments were sent again, or arrived out of order because others were lost.
pub(crate) fn network_losses(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let seen = peers(facts).filter_map(|(peer, first, last)| {
        let gained = |of: fn(&PeerSample) -> u64| of(last).saturating_sub(of(first));
        let lossy = |lost: u64, all: u64| all >= LEAST_SEGMENTS && lost as f64 >= LOSSES * all as f64;
        let (repeated, out) = (gained(|at| at.retransmitted), gained(|at| at.segments_out));
        let (late, arrived) = (gained(|at| at.out_of_order), gained(|at| at.segments_in));
        let sent = lossy(repeated, out).then(|| {
            let of_all = percent(repeated as f64 / out as f64);
            format!("{} of {} segments to {} were sent again ({of_all})", count(repeated), count(out), peer.name)
        });
        let received = lossy(late, arrived).then(|| {
            let of_all = percent(late as f64 / arrived as f64);
            format!("{} of {} segments from {} came out of order ({of_all})", count(late), count(arrived), peer.name)
        });
        let told: Vec<String> = sent.into_iter().chain(received).collect();
        (!told.is_empty()).then(|| RuleMatch::of_run(Severity::Warning, told.join("; ")))
    });
    seen.collect()
}

/// The server took data more slowly than it could be sent.
pub(crate) fn server_window(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let seen = peers(facts).filter_map(|(peer, first, last)| {
        let closed = share(peer, first, last, |at| at.peer_limited_ns);
        (closed >= OFTEN_CLOSED).then(|| {
            let closed = percent(closed.min(1.0));
            RuleMatch::of_run(Severity::Note, format!("{} took no more data {closed} of the time", peer.name))
        })
    });
    seen.collect()
}

/// Connections that ended and were replaced while jobs ran.
pub(crate) fn reconnected(facts: &Facts<'_>) -> Vec<RuleMatch> {
    // Later stages connect anew.
    if facts.stages.len() > 1 || facts.jobs.iter().any(|job| job.first().plan.stage != facts.jobs[0].first().plan.stage)
    {
        return Vec::new();
    }
    let seen = peers(facts).filter_map(|(peer, first, last)| {
        let new = last.opened.saturating_sub(first.opened);
        let ended = last.opened.saturating_sub(last.open);
        (first.opened > 0 && new > 0 && ended > 0).then(|| {
            let new = counted(new, "connection");
            RuleMatch::of_run(Severity::Note, format!("at least {new} to {} after the run began", peer.name))
        })
    });
    seen.collect()
}
