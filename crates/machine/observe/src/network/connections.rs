//! Sums over the TCP connections to each peer, those that have ended included.
//!
//! The kernel's counts end with a connection, so the last ones that were seen are kept. Pure: takes
//! dumps of sockets, asks nobody.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use iolab_recording::PeerSample;

use crate::sock_diag::{TcpCounts, TcpSocket};

/// Most peers that are listed by themselves.
const MOST_PEERS: usize = 256;
/// The name of all others together.
const OTHERS: &str = "others";

/// All connections that the run has had.
#[derive(Debug, Default)]
pub(super) struct Connections {
    peers: Vec<Peer>,
    /// The peer of each address.
    places: HashMap<SocketAddr, usize>,
}

/// Where connections lead to.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: String,
    /// Addresses of one connection; of `others`, of the first.
    pub(super) ends: (IpAddr, IpAddr),
    open: HashMap<u64, TcpCounts>,
    opened: u64,
    ended: TcpCounts,
}

impl Connections {
    /// Takes the run's sockets as they are now. Returns a sample for each peer, in the order in
    /// which they were first seen; new ones stand at the end.
    pub(super) fn take<'s>(
        &mut self,
        sockets: impl Iterator<Item = &'s TcpSocket>,
        at_ns: u64,
    ) -> (&[Peer], Vec<PeerSample>) {
        let mut samples = vec![PeerSample { at_ns, ..PeerSample::default() }; self.peers.len()];
        let mut round_trips = vec![0; self.peers.len()];
        let mut before: Vec<HashMap<u64, TcpCounts>> =
            self.peers.iter_mut().map(|peer| std::mem::take(&mut peer.open)).collect();
        for socket in sockets {
            let place = self.place_of(socket);
            if place == samples.len() {
                samples.push(PeerSample { at_ns, ..PeerSample::default() });
                before.push(HashMap::new());
                round_trips.push(0);
            }
            let (peer, sample) = (&mut self.peers[place], &mut samples[place]);
            peer.opened += u64::from(before[place].remove(&socket.inode).is_none());
            peer.open.insert(socket.inode, socket.counts);
            sample.send_queue_bytes += u64::from(socket.send_queue_bytes);
            sample.receive_queue_bytes += u64::from(socket.receive_queue_bytes);
            sample.unsent_bytes += socket.counts.unsent_bytes;
            round_trips[place] += socket.counts.round_trip_us;
            let least_ns = socket.counts.least_round_trip_us * 1000;
            if least_ns > 0 && (sample.least_round_trip_ns == 0 || least_ns < sample.least_round_trip_ns) {
                sample.least_round_trip_ns = least_ns;
            }
        }
        for (((peer, sample), gone), round_trip_us) in
            self.peers.iter_mut().zip(&mut samples).zip(before).zip(round_trips)
        {
            gone.values().for_each(|counts| add(&mut peer.ended, counts));
            let mut sum = peer.ended;
            peer.open.values().for_each(|counts| add(&mut sum, counts));
            fill(sample, &sum);
            (sample.open, sample.opened) = (peer.open.len() as u64, peer.opened);
            sample.round_trip_ns = round_trip_us * 1000 / sample.open.max(1);
        }
        (&self.peers, samples)
    }

    fn place_of(&mut self, socket: &TcpSocket) -> usize {
        let known = self.peers.len();
        *self.places.entry(socket.remote).or_insert_with(|| {
            if known > MOST_PEERS {
                return MOST_PEERS;
            }
            let name = if known == MOST_PEERS { OTHERS.to_owned() } else { socket.remote.to_string() };
            let ends = (socket.local.ip(), socket.remote.ip());
            let (open, ended) = (HashMap::new(), TcpCounts::default());
            self.peers.push(Peer { name, ends, open, opened: 0, ended });
            known
        })
    }
}

/// Adds what only grows.
fn add(sum: &mut TcpCounts, counts: &TcpCounts) {
    for (sum, count) in [
        (&mut sum.retransmitted, counts.retransmitted),
        (&mut sum.acknowledged_bytes, counts.acknowledged_bytes),
        (&mut sum.received_bytes, counts.received_bytes),
        (&mut sum.segments_out, counts.segments_out),
        (&mut sum.segments_in, counts.segments_in),
        (&mut sum.busy_us, counts.busy_us),
        (&mut sum.peer_limited_us, counts.peer_limited_us),
        (&mut sum.buffer_limited_us, counts.buffer_limited_us),
        (&mut sum.out_of_order, counts.out_of_order),
    ] {
        *sum = sum.saturating_add(count);
    }
}

fn fill(sample: &mut PeerSample, sum: &TcpCounts) {
    sample.acknowledged_bytes = sum.acknowledged_bytes;
    sample.received_bytes = sum.received_bytes;
    (sample.segments_out, sample.segments_in) = (sum.segments_out, sum.segments_in);
    (sample.retransmitted, sample.out_of_order) = (sum.retransmitted, sum.out_of_order);
    sample.busy_ns = sum.busy_us.saturating_mul(1000);
    sample.peer_limited_ns = sum.peer_limited_us.saturating_mul(1000);
    sample.buffer_limited_ns = sum.buffer_limited_us.saturating_mul(1000);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(inode: u64, remote: &str, received_bytes: u64) -> TcpSocket {
        let counts =
            TcpCounts { received_bytes, round_trip_us: 40, least_round_trip_us: inode, ..TcpCounts::default() };
        TcpSocket {
            inode,
            local: "10.0.0.1:999".parse().unwrap(),
            remote: remote.parse().unwrap(),
            receive_queue_bytes: 1,
            send_queue_bytes: 2,
            counts,
        }
    }

    #[test]
    fn sums_never_fall_although_connections_end() {
        let mut all = Connections::default();
        let first = [socket(7, "10.0.0.2:1", 100), socket(8, "10.0.0.2:1", 50), socket(9, "10.0.0.3:1", 1)];
        let (peers, samples) = all.take(first.iter(), 5);
        assert_eq!(peers.iter().map(|peer| peer.name.as_str()).collect::<Vec<_>>(), ["10.0.0.2:1", "10.0.0.3:1"]);
        assert_eq!((samples[0].received_bytes, samples[0].open, samples[0].opened), (150, 2, 2));
        assert_eq!((samples[0].least_round_trip_ns, samples[0].round_trip_ns), (7000, 40_000));
        assert_eq!((samples[0].receive_queue_bytes, samples[0].send_queue_bytes, samples[0].at_ns), (2, 4, 5));
        // One ends, and another begins.
        let second = [socket(8, "10.0.0.2:1", 70), socket(11, "10.0.0.2:1", 5)];
        let (_, samples) = all.take(second.iter(), 9);
        assert_eq!((samples[0].received_bytes, samples[0].open, samples[0].opened), (175, 2, 3));
        assert_eq!((samples[1].received_bytes, samples[1].open, samples[1].opened), (1, 0, 1));
        let (_, samples) = all.take([].iter(), 10);
        assert_eq!((samples[0].received_bytes, samples[0].open, samples[0].least_round_trip_ns), (175, 0, 0));
    }

    #[test]
    fn too_many_peers_are_one() {
        let sockets: Vec<TcpSocket> = (0..300).map(|port| socket(port, &format!("10.0.0.2:{port}"), 1)).collect();
        let mut all = Connections::default();
        let (peers, samples) = all.take(sockets.iter(), 0);
        assert_eq!((peers.len(), peers[MOST_PEERS].name.as_str()), (MOST_PEERS + 1, OTHERS));
        assert_eq!(samples[MOST_PEERS].received_bytes, 300 - MOST_PEERS as u64);
        assert_eq!(all.take(sockets.iter(), 1).1[MOST_PEERS].opened, 300 - MOST_PEERS as u64);
    }
}
