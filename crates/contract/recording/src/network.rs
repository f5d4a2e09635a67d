//! Samples of what lies between the run and its storage when that is behind a network: connections,
//! links, servers on the same machine, mounts of network file systems.
//!
//! ```text
//! job ── mount ── connection ── link ── ··· ── server ── its devices
//! ```
//!
//! Samples hold sums since the connection, the link, the process or the mount began; readers
//! subtract one sample from the next. Only of those that the run uses.

use serde::{Deserialize, Serialize};

/// The network of one host, as its run used it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkSeries {
    /// Its host, an index of [`crate::recording::Recording::hosts`].
    #[serde(default, skip_serializing_if = "crate::host::is_first")]
    pub host: u32,
    /// Whom the run's TCP connections lead to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<SampleSeries<PeerSample>>,
    /// The network interfaces on the way there, and to the servers of mounts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<SampleSeries<LinkSample>>,
    /// Programs on this machine at the other end of the connections, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<SampleSeries<ServerSample>>,
    /// Mounts of network file systems that hold files of the run, by mount point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<SampleSeries<MountSample>>,
}

/// One thing with a name over the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampleSeries<Sample> {
    /// A peer's address with its port, a link's name, a program's name, a mount point.
    pub name: String,
    /// What is known of it besides: the link to a peer, the speed of a link (`1000 Mbit/s`), the
    /// type of a file system.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Ascending in time.
    pub samples: Vec<Sample>,
}

/// All connections to one peer, those that have ended included (`tcp_info` of `linux/tcp.h`; RFC
/// 4898 has the terms).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeerSample {
    /// When, ns since the start of the run.
    pub at_ns: u64,
    /// Connections that are open.
    pub open: u64,
    /// Connections that were ever seen.
    pub opened: u64,
    /// Bytes that the peer has acknowledged.
    pub acknowledged_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Segments sent, repeated ones included.
    pub segments_out: u64,
    /// Segments received.
    pub segments_in: u64,
    /// Segments that were sent again.
    pub retransmitted: u64,
    /// Segments that arrived before others sent earlier: those were lost or overtaken.
    pub out_of_order: u64,
    /// Time with data that was not acknowledged, ns.
    pub busy_ns: u64,
    /// The part of it in which the peer's window was closed, ns.
    pub peer_limited_ns: u64,
    /// The part of it in which this side's buffer was the limit, ns.
    pub buffer_limited_ns: u64,
    /// Bytes that wait in sockets because the network or the peer takes no more.
    pub unsent_bytes: u64,
    /// Bytes that the run has written to sockets and that are not acknowledged.
    pub send_queue_bytes: u64,
    /// Bytes that have arrived and that the run has not read.
    pub receive_queue_bytes: u64,
    /// The shortest round trip of the open connections, ns: the network's own, without a queue.
    pub least_round_trip_ns: u64,
    /// The mean of their smoothed round trips, ns.
    pub round_trip_ns: u64,
}

/// A network interface (`/sys/class/net/NAME/statistics`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkSample {
    /// When, ns since the start of the run.
    pub at_ns: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets that were dropped, in both directions.
    pub dropped: u64,
    /// What it carries at most in each direction, bits a second; 0 if unknown.
    #[serde(default)]
    pub bits_per_second: u64,
}

/// The processes of a program (`/proc/PID/io`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerSample {
    /// When, ns since the start of the run.
    pub at_ns: u64,
    /// How many there are.
    pub processes: u64,
    /// Bytes that they fetched from storage.
    pub read_bytes: u64,
    /// Bytes that they gave to storage, or to the page cache above it.
    pub written_bytes: u64,
}

/// A mount of a network file system (`/proc/self/mountstats`; NFS alone has one).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MountSample {
    /// When, ns since the start of the run.
    pub at_ns: u64,
    /// Bytes that programs read from files.
    pub read_bytes: u64,
    /// Bytes that programs wrote to files.
    pub written_bytes: u64,
    /// Bytes read from the server.
    pub server_read_bytes: u64,
    /// Bytes written to the server.
    pub server_written_bytes: u64,
    /// Requests about names and attributes that the server answered: GETATTR, LOOKUP, ACCESS, OPEN,
    /// READDIR and their kin.
    pub name_requests: u64,
}

impl NetworkSeries {
    /// Adds later samples.
    pub(crate) fn append(&mut self, later: NetworkSeries) {
        join(&mut self.peers, later.peers);
        join(&mut self.links, later.links);
        join(&mut self.servers, later.servers);
        join(&mut self.mounts, later.mounts);
    }

    /// Whether nothing was found that could be sampled.
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty() && self.links.is_empty() && self.servers.is_empty() && self.mounts.is_empty()
    }
}

fn join<Sample>(known: &mut Vec<SampleSeries<Sample>>, later: Vec<SampleSeries<Sample>>) {
    for series in later {
        match known.iter_mut().find(|one| one.name == series.name) {
            Some(one) => one.samples.extend(series.samples),
            None => known.push(series),
        }
    }
}

impl<Sample> SampleSeries<Sample> {
    /// The first and the last sample, if there are two.
    pub fn ends(&self) -> Option<(&Sample, &Sample)> {
        match self.samples.as_slice() {
            [first, .., last] => Some((first, last)),
            _ => None,
        }
    }
}

/// What all samples of this file have.
pub(crate) trait NetworkSample {
    /// When, ns since the start of the run.
    fn at_ns(&self) -> u64;
    /// Every other number.
    fn numbers(&self) -> Vec<u64>;
}

impl NetworkSample for PeerSample {
    fn at_ns(&self) -> u64 {
        self.at_ns
    }

    fn numbers(&self) -> Vec<u64> {
        let Self { at_ns: _, open, opened, acknowledged_bytes, received_bytes, segments_out, segments_in, .. } = *self;
        let Self { retransmitted, out_of_order, busy_ns, peer_limited_ns, buffer_limited_ns, unsent_bytes, .. } = *self;
        let Self { send_queue_bytes, receive_queue_bytes, least_round_trip_ns, round_trip_ns, .. } = *self;
        let counts = [open, opened, acknowledged_bytes, received_bytes, segments_out, segments_in, retransmitted];
        let times = [out_of_order, busy_ns, peer_limited_ns, buffer_limited_ns, least_round_trip_ns, round_trip_ns];
        let queues = [unsent_bytes, send_queue_bytes, receive_queue_bytes];
        [counts.as_slice(), &times, &queues].concat()
    }
}

impl NetworkSample for LinkSample {
    fn at_ns(&self) -> u64 {
        self.at_ns
    }

    fn numbers(&self) -> Vec<u64> {
        vec![self.received_bytes, self.sent_bytes, self.dropped, self.bits_per_second]
    }
}

impl NetworkSample for ServerSample {
    fn at_ns(&self) -> u64 {
        self.at_ns
    }

    fn numbers(&self) -> Vec<u64> {
        vec![self.processes, self.read_bytes, self.written_bytes]
    }
}

impl NetworkSample for MountSample {
    fn at_ns(&self) -> u64 {
        self.at_ns
    }

    fn numbers(&self) -> Vec<u64> {
        let Self { read_bytes, written_bytes, server_read_bytes, server_written_bytes, name_requests, .. } = *self;
        vec![read_bytes, written_bytes, server_read_bytes, server_written_bytes, name_requests]
    }
}
