//! The client: all servers plan, all get ready, all begin at one moment, and what comes of it is
//! one recording.
//!
//! Nothing runs anywhere unless every server accepts its jobs. From the start on, a server that
//! fails costs its own results only.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use iolab_activity::Failure;
use iolab_clock::Clock;
use iolab_pipeline::redaction;
use iolab_plan::Plan;
use iolab_recording::{Recording, Redaction};
use iolab_runner::{Event, Progress, RunObserver, Spools, Wish};
use iolab_text::counted;

use crate::address::HostAddress;
use crate::channel::wait;
use crate::clock_offset;
use crate::gather::{plan_of, recording_of};
use crate::message::{PROGRESS_NS, ToServer};
use crate::parcel::PackedJobs;
use crate::peer::{Peer, Stage};
use crate::ranks::Rules;
use crate::room;
use crate::seal::SharedSecret;
use crate::wearing::WearingJobs;

/// How often the observer is told, ns: there is nothing new in between.
const TICK_NS: u64 = PROGRESS_NS;
/// From the order to begin to the beginning, ns: every server must have the order by then.
const AHEAD_NS: u64 = 200_000_000;
/// How long the servers' clocks may take to be read, ns.
const CLOCKS_NS: u64 = 10_000_000_000;
/// How long to wait for reports of the run so far, ns.
const REPORT_NS: u64 = 3_000_000_000;
/// A start of hosts further apart than this is told, ns.
const APART_NS: u64 = 10_000_000;

/// A server, and the jobs for it.
#[derive(Debug)]
pub struct HostJobs {
    /// Where it listens.
    pub address: HostAddress,
    /// Its jobs.
    pub jobs: PackedJobs,
}

/// Servers that have accepted their jobs.
pub struct Hosts {
    peers: Vec<Peer>,
    plan: Plan,
    redaction: Redaction,
    clock: Clock,
    /// Of ranks: how the end of one is the end of all.
    rules: Option<Rules>,
    /// What has to be known beside their plans.
    said: Vec<String>,
}

/// Sends every server its jobs, and waits for their plans. Nothing is done yet; servers that are
/// not told more do nothing.
///
/// # Errors
/// A server cannot be reached, or refuses its jobs.
pub fn connect(hosts: Vec<HostJobs>, secret: Option<&SharedSecret>, interrupts: &AtomicU32) -> Result<Hosts, Failure> {
    let clock = Clock::monotonic();
    let redaction = redaction(hosts.iter().map(|host| &host.jobs.jobs).collect::<Vec<_>>());
    let mut peers = Vec::new();
    let ranks = hosts.len() as u32;
    for (rank, HostJobs { address, mut jobs }) in (0..).zip(hosts) {
        let mut peer = Peer::connect(&address, secret, &clock)?;
        jobs.parcel.rank = (rank, ranks);
        peer.send_job(jobs.parcel);
        peers.push(peer);
    }
    number_names(&mut peers);
    planned(peers, redaction, clock, None, interrupts)
}

/// Waits for the plans of all.
///
/// # Errors
/// One refuses its jobs, or has gone.
pub(crate) fn planned(
    mut peers: Vec<Peer>,
    redaction: Redaction,
    clock: Clock,
    rules: Option<Rules>,
    interrupts: &AtomicU32,
) -> Result<Hosts, Failure> {
    while peers.iter().any(|peer| peer.stage < Stage::Planned) {
        hear_all(&mut peers, &clock, interrupts)?;
    }
    let needs = peers.iter().filter_map(|peer| Some((peer.machine.as_deref()?, &*peer.called, &peer.rooms[..])));
    room::together(needs).map_or(Ok(()), Err)?;
    let plan = plan_of(peers.iter().filter_map(|peer| Some((peer.name.as_str(), &peer.planned()?.plan))));
    Ok(Hosts { peers, plan, redaction, clock, rules, said: Vec::new() })
}

/// Servers of one name, on several ports, are told apart.
fn number_names(peers: &mut [Peer]) {
    let names: Vec<String> = peers.iter().map(|peer| peer.name.clone()).collect();
    for (place, peer) in peers.iter_mut().enumerate() {
        if names.iter().filter(|name| **name == names[place]).count() > 1 {
            peer.name = match peer.port.unwrap_or(0) {
                0 => format!("{}#{}", names[place], place + 1),
                port => format!("{},{port}", names[place]),
            };
            peer.called = format!("client {}", peer.name);
        }
    }
}

/// Compares the clocks of all.
///
/// # Errors
/// As [`hear_all`].
pub(crate) fn compare_clocks(peers: &mut [Peer], clock: &Clock, interrupts: &AtomicU32) -> Result<(), Failure> {
    let until_ns = clock.now_ns() + CLOCKS_NS;
    peers.iter_mut().for_each(|peer| peer.probe_clock(clock));
    while peers.iter().any(Peer::is_probing) {
        hear_all(peers, clock, interrupts)?;
        if clock.now_ns() >= until_ns
            && let Some(slow) = peers.iter().find(|peer| peer.is_probing())
        {
            let seconds = CLOCKS_NS / 1_000_000_000;
            return Err(Failure::failed(format!("{}: its clock could not be read within {seconds} s", slow.called)));
        }
    }
    Ok(())
}

/// Listens to all before the run; the first that fails is the failure of all.
fn hear_all(peers: &mut [Peer], clock: &Clock, interrupts: &AtomicU32) -> Result<(), Failure> {
    wait(&peers.iter().map(|peer| &peer.channel).collect::<Vec<_>>(), TICK_NS);
    for peer in &mut *peers {
        peer.listen(clock);
        let named = |why: &str| format!("{}: {why}", peer.called);
        match (&peer.refusal, &peer.lost) {
            (Some(refusal), _) => {
                let message = if refusal.is_report {
                    format!("{}\n{}", named("the server refuses its jobs"), refusal.message)
                } else {
                    named(&refusal.message)
                };
                return Err(Failure { message, ..refusal.clone() });
            }
            (None, Some(why)) => return Err(Failure::failed(named(why))),
            _ => {}
        }
    }
    if interrupts.load(Ordering::Relaxed) > 0 {
        return Err(Failure { kind: iolab_activity::FailureKind::Interrupted, ..Failure::failed("interrupted") });
    }
    Ok(())
}

impl Hosts {
    /// What all hosts will do.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Says more of them.
    pub(crate) fn warn(&mut self, warnings: Vec<String>) {
        self.said.extend(warnings);
    }

    /// What must not be kept of it.
    pub fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// What the servers say of their plans, each line with the host's name.
    pub fn warnings(&self) -> String {
        let mut text: String = self.said.iter().map(|said| format!("warning: {said}\n")).collect();
        for peer in &self.peers {
            let lines = peer.warnings.iter().flat_map(|warning| warning.lines());
            lines.for_each(|line| text += &format!("<{}> {line}\n", peer.name));
        }
        text
    }

    /// Lays out, begins everywhere at one moment, and gathers what comes of it.
    ///
    /// # Errors
    /// A server failed before the start. Later failures are in the recording.
    pub fn run(
        mut self,
        observer: &mut dyn RunObserver,
        interrupts: &AtomicU32,
    ) -> Result<(Recording, Vec<Spools>), Failure> {
        observer.take(&Event::Planned(&self.so_far()));
        self.peers.iter_mut().for_each(|peer| peer.say(&ToServer::Prepare));
        while self.peers.iter().any(|peer| peer.stage < Stage::Ready) {
            hear_all(&mut self.peers, &self.clock, interrupts)?;
            for peer in &mut self.peers {
                if let Some((path, done_bytes, total_bytes)) = peer.laid_out.take() {
                    let path = PathBuf::from(format!("{}:{}", peer.name, path.display()));
                    observer.take(&Event::LaidOut { path: &path, done_bytes, total_bytes });
                }
            }
        }
        let begun_ns = self.begin(interrupts)?;
        observer.take(&Event::Begun { unix_ns: begun_ns });
        self.follow(observer, interrupts);
        self.last_progress(observer);
        let what_ended_it = self.rules.as_ref().and_then(Rules::what_ended_it).map(str::to_owned);
        let (gathered, spools): (Vec<_>, Vec<_>) = self.peers.into_iter().map(Peer::into_results).unzip();
        let mut recording = recording_of(gathered);
        recording.warnings.extend(what_ended_it);
        recording.interrupted |= interrupts.load(Ordering::Relaxed) > 0;
        let late = recording.hosts.iter().max_by_key(|host| host.began_late_ns);
        if let Some(late) = late.filter(|late| late.began_late_ns > APART_NS) {
            let warning = format!("{} began {} ms after the first host", late.name, late.began_late_ns / 1_000_000);
            recording.warnings.push(warning);
        }
        Ok((recording, spools.into_iter().flatten().collect()))
    }

    /// Reads the clocks and tells all hosts when to begin. Returns when that is, by this clock.
    fn begin(&mut self, interrupts: &AtomicU32) -> Result<u64, Failure> {
        compare_clocks(&mut self.peers, &self.clock, interrupts)?;
        let mut estimates: Vec<_> = self.peers.iter().map(|peer| (peer.machine.clone(), peer.clock_offset)).collect();
        clock_offset::share(&mut estimates, clock_offset::this_machine().as_deref());
        self.peers.iter_mut().zip(estimates).for_each(|(peer, (_, offset))| peer.clock_offset = offset);
        // The order takes half of a round trip, and may be stuck behind others for as long.
        let farthest_ns = self.peers.iter().map(|peer| peer.clock_offset.error_ns).max().unwrap_or(0);
        let start_ns = self.clock.unix_ns() + AHEAD_NS.max(4 * farthest_ns);
        for peer in &mut self.peers {
            let unix_ns = peer.clock_offset.there(start_ns);
            peer.say(&ToServer::Begin { unix_ns });
            peer.expect_its_job(self.clock.now_ns());
        }
        Ok(start_ns)
    }

    /// Until every host has sent all it has, or is lost.
    fn follow(&mut self, observer: &mut dyn RunObserver, interrupts: &AtomicU32) {
        let (mut passed_on, mut next_ns) = (0, 0);
        let mut report_until_ns = None;
        let mut wearing = WearingJobs::of(&self.plan);
        while self.peers.iter().any(Peer::is_there) {
            if wearing.are_over() && self.peers.iter().all(|peer| !peer.is_there() || peer.only_tells_progress()) {
                // From many hosts, messages come all the time: one wake-up takes all of them.
                self.clock.sleep_until(next_ns, 0);
            } else {
                let there = self.peers.iter().filter(|peer| peer.is_there());
                wait(&there.map(|peer| &peer.channel).collect::<Vec<_>>(), TICK_NS);
            }
            self.peers.iter_mut().for_each(|peer| peer.listen(&self.clock));
            let asked = interrupts.load(Ordering::Relaxed);
            for _ in passed_on..asked.min(passed_on + 2) {
                self.peers.iter_mut().for_each(|peer| peer.say(&ToServer::End));
            }
            passed_on = asked;
            wearing.tell_goals(&mut self.peers);
            let now_ns = self.clock.now_ns();
            if let Some(rules) = &mut self.rules {
                rules.apply(&mut self.peers, now_ns);
            }
            if let Some(until_ns) = report_until_ns
                && (now_ns >= until_ns || self.peers.iter().all(Peer::has_so_far))
            {
                report_until_ns = None;
                observer.take(&Event::SoFar(&self.so_far()));
            }
            if now_ns < next_ns {
                continue;
            }
            next_ns = now_ns + TICK_NS;
            match observer.take(&Event::Progress(&self.progress())) {
                Wish::Nothing => {}
                Wish::SoFar => {
                    self.peers.iter_mut().for_each(Peer::ask_so_far);
                    report_until_ns = Some(now_ns + REPORT_NS);
                }
                Wish::End => self.peers.iter_mut().for_each(|peer| peer.say(&ToServer::Finish)),
            }
        }
    }

    fn last_progress(&self, observer: &mut dyn RunObserver) {
        observer.take(&Event::Progress(&self.progress()));
    }

    fn progress(&self) -> Progress {
        let mut all = Progress { elapsed_ns: 0, workers: Vec::new() };
        for peer in &self.peers {
            let (elapsed_ns, workers) = peer.progress();
            all.elapsed_ns = all.elapsed_ns.max(elapsed_ns);
            all.workers.extend(workers);
        }
        all
    }

    fn so_far(&self) -> Recording {
        recording_of(self.peers.iter().map(Peer::so_far).collect())
    }
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", counted(self.peers.len() as u64, "host"))
    }
}
