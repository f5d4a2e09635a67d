//! Ranks that fail, hang and do not end, at times that the test says.

use std::os::unix::net::UnixStream;

use iolab_clock::Clock;
use iolab_recording::WorkerOutcome;

use super::*;
use crate::channel::{Channel, FrameKind};
use crate::message::ToClient;

const SECOND_NS: u64 = 1_000_000_000;

/// A client's ranks, and what is at their other ends.
struct Ranks {
    peers: Vec<Peer>,
    servers: Vec<Channel>,
    rules: Rules,
    clock: Clock,
}

impl Ranks {
    fn new(count: usize) -> Ranks {
        let clock = Clock::simulated(SECOND_NS);
        let pairs = (0..count).map(|_| UnixStream::pair().unwrap());
        let (own, theirs): (Vec<_>, Vec<_>) = pairs.map(|(own, theirs)| (own.into(), theirs.into())).unzip();
        let peer = |(rank, socket)| Peer::over(Channel::new(socket), format!("rank {rank}"), &clock);
        let peers = (0..count).zip(own).map(peer).collect();
        let servers = theirs.into_iter().map(|socket| {
            let mut server = Channel::new(socket);
            server.allow(1 << 20);
            server
        });
        Ranks { peers, servers: servers.collect(), rules: Rules::default(), clock }
    }

    /// What the rank says arrives.
    fn says(&mut self, rank: usize, message: &ToClient) {
        self.servers[rank].say(message);
        self.servers[rank].flush().unwrap();
        self.peers[rank].listen(&self.clock);
    }

    /// Its run comes, with this end of its workers.
    fn delivers(&mut self, rank: usize, outcome: WorkerOutcome) {
        let text = include_str!("../../../../contract/recording/tests/corpus/1-5-observed.json");
        let mut recording = iolab_recording::Recording::from_json(text).unwrap();
        recording.workers[0].outcome = outcome;
        for kind in [FrameKind::Planned, FrameKind::Recording] {
            self.servers[rank].queue(kind, recording.to_json().as_bytes());
        }
        self.says(rank, &ToClient::Finished);
    }

    /// Time passes, the rules are applied, and this is what each rank was told; `Alive` and
    /// questions are left out.
    fn after(&mut self, ns: u64) -> Vec<String> {
        self.clock.advance(ns);
        self.rules.apply(&mut self.peers, self.clock.now_ns());
        let told = |server: &mut Channel| {
            server.fill().unwrap();
            let mut said = Vec::new();
            while let Ok(Some(frame)) = server.next() {
                match frame.message::<ToServer>().unwrap() {
                    ToServer::Finish => said.push("finish"),
                    ToServer::Abandon => said.push("abandon"),
                    _ => {}
                }
            }
            said.join(" ")
        };
        self.servers.iter_mut().map(told).collect()
    }
}

#[test]
fn the_failure_of_one_ends_the_others_within_a_bound() {
    let mut ranks = Ranks::new(3);
    assert_eq!(ranks.after(SECOND_NS), ["", "", ""]);
    ranks.delivers(1, WorkerOutcome::Failed { errno: 28, message: "no space".to_owned() });
    assert_eq!(ranks.after(SECOND_NS), ["finish", "", "finish"]);
    assert!(ranks.rules.what_ended_it().unwrap().contains("rank 1: a worker of it failed"));
    ranks.delivers(0, WorkerOutcome::Finished);
    assert_eq!(ranks.after(ENDING_NS - 1), ["", "", ""]);
    assert_eq!(ranks.after(1), ["", "", "abandon"]);
    ranks.after(ENDING_NS - 1);
    assert_eq!(ranks.peers[2].lost, None);
    ranks.after(1);
    assert!(ranks.peers[2].lost.as_deref().unwrap().contains("did not end"));
    assert!(ranks.peers[0].lost.is_none(), "what has come is kept");
}

#[test]
fn one_that_ends_before_the_others_ends_nobody() {
    let mut ranks = Ranks::new(2);
    ranks.delivers(0, WorkerOutcome::Finished);
    assert_eq!(ranks.after(SECOND_NS), ["", ""]);
    assert_eq!(ranks.rules.what_ended_it(), None);
}

#[test]
fn a_job_that_says_nothing_is_abandoned_though_its_server_is_alive() {
    let mut ranks = Ranks::new(2);
    for _ in 0..HANGING_NS / SECOND_NS {
        assert_eq!(ranks.after(SECOND_NS - 1), ["", ""]);
        ranks.says(0, &ToClient::Ready);
        ranks.says(1, &ToClient::Alive);
        ranks.clock.advance(1);
    }
    assert_eq!(ranks.after(0), ["", "abandon"]);
    // Its server kills it, and says so: then the other one is ended, too.
    let failure = iolab_activity::Failure::failed("it was killed");
    ranks.says(1, &ToClient::Refused(failure.into()));
    assert_eq!(ranks.after(SECOND_NS), ["finish", ""]);
    assert!(ranks.rules.what_ended_it().unwrap().contains("rank 1: it was killed"));
}

#[test]
fn each_is_asked_in_its_turn() {
    let mut ranks = Ranks::new(4);
    ranks.rules.apply(&mut ranks.peers, SECOND_NS);
    let mut asked = vec![0; 4];
    for tick in 1..=200 {
        ranks.rules.ask(&mut ranks.peers, SECOND_NS + tick * SECOND_NS / 10);
        for (server, count) in ranks.servers.iter_mut().zip(&mut asked) {
            server.fill().unwrap();
            while let Ok(Some(frame)) = server.next() {
                *count += u32::from(matches!(frame.message(), Ok(ToServer::Report)));
            }
        }
    }
    // Twice in twenty seconds.
    assert_eq!(asked, [2, 2, 2, 2]);
}
