//! Samples the network between the run's processes and their storage: connections, links, servers
//! on this machine, mounts.
//!
//! Sockets are those of the run's processes, whichever library opened them; the kernel's own
//! clients (a mount, an `nbd` device) are seen by their links alone. What cannot be read is left
//! out. The caller owns the clock.

mod connections;
mod links;
mod remote_mounts;
mod servers;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use iolab_order::Gather;
use iolab_recording::{MountSample, NetworkSeries, SampleSeries};

use crate::System;
use crate::sock_diag::{TcpSocket, tcp_sockets};
use connections::Connections;
use servers::Servers;

/// The network of one run.
#[derive(Debug)]
pub struct NetworkSampler {
    system: System,
    /// The run's own processes.
    processes: BTreeSet<i32>,
    /// Whether each socket is the run's, for all that were ever seen.
    owned: HashMap<u64, bool>,
    /// Sockets at the other end, in other processes of this machine.
    ends: BTreeSet<u64>,
    connections: Connections,
    servers: Servers,
    mounts: Vec<SampleSeries<MountSample>>,
}

impl NetworkSampler {
    /// The network of these processes; `paths` are files that they use through the kernel.
    pub fn open(system: &System, processes: BTreeSet<i32>, paths: &[PathBuf]) -> NetworkSampler {
        NetworkSampler {
            system: system.clone(),
            processes,
            owned: HashMap::new(),
            ends: BTreeSet::new(),
            connections: Connections::default(),
            servers: Servers::default(),
            mounts: system.remote_mounts(paths),
        }
    }

    /// Whether files of the run are on mounts of network file systems.
    pub fn has_mounts(&self) -> bool {
        !self.mounts.is_empty()
    }

    /// The counts of now: each series has one sample.
    pub fn look(&mut self, at_ns: u64) -> NetworkSeries {
        // The sockets of a fixture are not those of this machine.
        let sockets = if self.system.is_live() { tcp_sockets().unwrap_or_default() } else { Vec::new() };
        self.learn(&sockets);
        let own = sockets.iter().filter(|socket| self.owned.get(&socket.inode) == Some(&true));
        let (peers, samples) = self.connections.take(own, at_ns);
        let mut seen = NetworkSeries::default();
        let mut links: BTreeSet<String> = BTreeSet::new();
        for (peer, sample) in peers.iter().zip(samples) {
            let (local, remote) = peer.ends;
            let about = self.system.link_to(local, remote).unwrap_or_default();
            links.extend(Some(about.clone()).filter(|link| !link.is_empty()));
            seen.peers.push(SampleSeries { name: peer.name.clone(), about, samples: vec![sample] });
        }
        if self.has_mounts() {
            // How the kernel's client reaches its server is not known.
            links.extend(self.system.links());
        }
        for name in links {
            let samples: Vec<_> = self.system.link_sample(&name, at_ns).into_iter().collect();
            seen.links.push(SampleSeries { name, about: String::new(), samples });
        }
        let servers = self.servers.look(&self.system, at_ns).into_iter();
        seen.servers = servers
            .map(|(name, sample)| SampleSeries { name: name.to_owned(), about: String::new(), samples: vec![sample] })
            .collect();
        seen.mounts = self.mounts.clone();
        for mount in &mut seen.mounts {
            mount.samples.extend(self.system.mount_sample(&mount.name, at_ns));
        }
        seen
    }

    /// Finds out whose the sockets are that were not there before.
    fn learn(&mut self, sockets: &[TcpSocket]) {
        self.owned.retain(|inode, _| sockets.iter().any(|socket| socket.inode == *inode) || sockets.is_empty());
        if sockets.iter().any(|socket| !self.owned.contains_key(&socket.inode)) {
            let own: BTreeSet<u64> =
                self.processes.iter().flat_map(|process| self.system.sockets_of(*process)).gather();
            self.owned.extend(sockets.iter().map(|socket| (socket.inode, own.contains(&socket.inode))));
        }
        let by_ends: HashMap<_, _> =
            sockets.iter().map(|socket| ((socket.local, socket.remote), socket.inode)).collect();
        let is_own = |inode: &u64| self.owned.get(inode) == Some(&true);
        let own = sockets.iter().filter(|socket| is_own(&socket.inode));
        let ends = own.filter_map(|socket| by_ends.get(&(socket.remote, socket.local)).copied());
        let ends: BTreeSet<u64> = ends.filter(|inode| !is_own(inode)).gather();
        if !ends.is_subset(&self.ends) {
            self.servers.find(&self.system, &ends, &self.processes);
        }
        self.ends = ends;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn connections_of_a_process_and_the_program_at_their_other_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        // Another process has the other end.
        let end = Stdio::from(std::os::fd::OwnedFd::from(accepted));
        let mut child = Command::new("sleep").arg("100").stdout(end).spawn().unwrap();
        let own = BTreeSet::from([std::process::id() as i32]);
        let mut sampler = NetworkSampler::open(&System::live(), own, &[]);
        let first = sampler.look(1);
        stream.write_all(&[7; 500]).unwrap();
        let second = sampler.look(2);
        let told = child.kill().and_then(|()| child.wait());
        let peer = listener.local_addr().unwrap().to_string();
        let of = |seen: &NetworkSeries| seen.peers.iter().find(|series| series.name == peer).cloned();
        // The kernel of a small machine may not tell of its sockets.
        if let Some((before, after)) = of(&first).zip(of(&second)) {
            let (before, after) = (before.samples[0], after.samples[0]);
            assert_eq!((before.at_ns, after.at_ns, before.opened, after.opened), (1, 2, 1, 1));
            assert_eq!(after.acknowledged_bytes - before.acknowledged_bytes, 500);
            assert!(first.links.iter().any(|link| link.name == "lo" && link.samples.len() == 1), "{first:?}");
            assert!(first.servers.iter().any(|server| server.name == "sleep"), "{first:?}");
        }
        told.unwrap();
    }

    #[test]
    fn a_fixture_has_no_connections() {
        let fixture = crate::Fixture::new();
        let mut sampler = NetworkSampler::open(&fixture.system(), BTreeSet::new(), &[PathBuf::from("/a")]);
        assert!(!sampler.has_mounts() && sampler.look(0).is_empty());
    }
}
