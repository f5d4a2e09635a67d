//! Starts the ranks of a run, each on its host: through a remote shell, or over sockets that a
//! launcher of its own kind (MPI) serves. From then on they are as servers of a client.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;

use iolab_activity::Failure;
use iolab_clock::Clock;
use iolab_pipeline::redaction;
use iolab_units::rounded_ns;

use crate::channel::{Channel, Patience};
use crate::client::{Hosts, compare_clocks, planned};
use crate::greeting;
use crate::parcel::PackedJobs;
use crate::peer::Peer;
use crate::ranks::Rules;
use crate::remote_shell::{Shell, line, shell};

/// How long a remote shell may take until the program there answers, ns.
const SHELL_NS: u64 = 60_000_000_000;
/// From a difference of the clocks on, it is told: times of files and logs will not fit, ns.
const FAR_NS: u64 = 1_000_000_000;

/// The word that makes this program the server of a rank.
pub const RANK_WORD: &str = "internal-rank";

/// How ranks are reached.
#[derive(Debug, Clone)]
pub enum LaunchWay {
    /// Through a command that gets the host and a line for the shell there.
    Shell {
        /// The command and its first arguments, such as `ssh -o BatchMode=yes`.
        words: Vec<String>,
        /// This program on the hosts.
        program: PathBuf,
    },
    /// Through a socket here: each connection says its number (4 bytes, little-endian) first.
    Socket(PathBuf),
}

impl LaunchWay {
    /// Through a remote shell: a command and its first arguments, separated by spaces.
    pub fn through(shell: &str, program: PathBuf) -> LaunchWay {
        LaunchWay::Shell { words: shell.split_whitespace().map(str::to_owned).collect(), program }
    }
}

/// What is to be launched.
#[derive(Debug)]
pub struct Launch {
    /// The host of each rank.
    pub hosts: Vec<String>,
    /// How they are reached.
    pub way: LaunchWay,
    /// The folder of the jobs there.
    pub folder: PathBuf,
    /// The jobs of all.
    pub jobs: PackedJobs,
}

/// Starts all ranks, and waits for their plans. Nothing is done yet; ranks that are not told more
/// do nothing.
///
/// # Errors
/// A rank cannot be started, is of another version, or refuses its jobs.
pub fn launch(launch: Launch, interrupts: &AtomicU32) -> Result<Hosts, Failure> {
    let Launch { hosts, way, folder, jobs } = launch;
    let clock = Clock::monotonic();
    let ranks = hosts.len() as u32;
    let mut started = Vec::new();
    for (rank, host) in (0..).zip(&hosts) {
        let called = format!("rank {rank} ({host})");
        let opened = match &way {
            LaunchWay::Shell { words, program } => shell(words, host, &line(program, &[RANK_WORD.to_owned()])),
            LaunchWay::Socket(path) => connect(path, rank).map(|socket| (socket, None)),
        };
        let (socket, child) = opened.map_err(|error| Failure::failed(format!("{called}: {error}")))?;
        started.push((called, Shell::of(child), socket));
    }
    let names = names(&hosts);
    let redaction = redaction([&jobs.jobs]);
    let mut parcel = jobs.parcel;
    parcel.folder = Some(folder);
    let mut peers = Vec::new();
    for ((rank, name), (called, shell, socket)) in (0..).zip(names).zip(started) {
        let greeted = greeting::greet(Channel::new(socket), None, Patience::of(&clock, SHELL_NS));
        let channel = greeted.map_err(|why| Failure::failed(format!("{called}: {}", without_rank(&why))))?;
        let mut peer = Peer::over(channel, name, &clock);
        (peer.called, peer.shell) = (called, Some(shell));
        parcel.rank = (rank, ranks);
        peer.send_job(parcel.clone());
        peers.push(peer);
    }
    compare_clocks(&mut peers, &clock, interrupts)?;
    let far: Vec<String> = peers.iter().filter_map(far).collect();
    let mut hosts = planned(peers, redaction, clock, Some(Rules::default()), interrupts)?;
    hosts.warn(far);
    Ok(hosts)
}

/// What is said of a clock that is far from this one.
fn far(peer: &Peer) -> Option<String> {
    let offset_ns = peer.clock_offset.offset_ns;
    let ahead = if offset_ns > 0 { "ahead" } else { "behind" };
    let by = rounded_ns(offset_ns.unsigned_abs() as f64);
    let text =
        format!("{}: its clock is {by} {ahead}: the start is corrected, times of files and logs are not", peer.called);
    (offset_ns.unsigned_abs() >= FAR_NS).then_some(text)
}

/// What a greeting says of a server, said of a rank.
fn without_rank(why: &str) -> String {
    if why.starts_with("it closed the connection at once") {
        return "no iolab answered there: try the remote shell by hand (--rsh), and name the program there with --program=PATH"
            .to_owned();
    }
    why.to_owned()
}

/// The name of each rank: its host, with a number where several are on one host.
fn names(hosts: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    hosts.iter().for_each(|host| *counts.entry(host).or_default() += 1);
    let is_alone = |host: &String| counts.get(host.as_str()) == Some(&1);
    let named = (0_u32..).zip(hosts);
    named.map(|(rank, host)| if is_alone(host) { host.clone() } else { format!("{host}#{rank}") }).collect()
}

fn connect(path: &Path, rank: u32) -> io::Result<OwnedFd> {
    let mut socket = UnixStream::connect(path)?;
    socket.write_all(&rank.to_le_bytes())?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_one_host_are_told_apart() {
        let hosts = ["a", "b", "a"].map(str::to_owned);
        assert_eq!(names(&hosts), ["a#0", "b", "a#2"]);
    }
}
