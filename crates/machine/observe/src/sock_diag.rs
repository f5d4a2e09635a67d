//! Asks the kernel for the sockets of this network namespace (sock_diag(7), netlink(7)).
//!
//! One dump for each question. What cannot be asked or understood is no answer; a broken answer
//! ends the list.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

use crate::System;
use crate::block_tree::folder_names;

/// `SOCK_DIAG_BY_FAMILY`, and request and dump.
const BY_FAMILY: u16 = 20;
const REQUEST_ALL: u16 = 0x301;
/// `NLMSG_ERROR`, `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `UDIAG_SHOW_PEER`, and the attribute with the answer, `UNIX_DIAG_PEER`.
const SHOW_PEER: u32 = 4;
const UNIX_PEER: u16 = 2;
/// `INET_DIAG_INFO`: the attribute, and its bit in a request.
const TCP_INFO: u16 = 2;
const SHOW_TCP_INFO: u8 = 1 << (TCP_INFO - 1);
const TCP: u8 = 6;
const ALL_STATES: u32 = u32::MAX;
/// All states but LISTEN (10), TIME_WAIT (6), NEW_SYN_RECV (12) (`net/tcp_states.h`): connections.
const CONNECTIONS: u32 = 0xfff & !(1 << 10 | 1 << 6);
const HEADER_BYTES: usize = 16;
/// `struct unix_diag_msg` and `struct inet_diag_msg`.
const UNIX_BYTES: usize = 16;
const INET_BYTES: usize = 72;
/// Room for one answer, which the kernel keeps below 32 KiB.
const ANSWER_BYTES: usize = 64 << 10;

/// One TCP connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TcpSocket {
    pub(crate) inode: u64,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) receive_queue_bytes: u32,
    pub(crate) send_queue_bytes: u32,
    pub(crate) counts: TcpCounts,
}

/// What is used of `struct tcp_info` (`linux/tcp.h`). Times are µs; what an older kernel does not
/// have is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TcpCounts {
    pub(crate) round_trip_us: u64,
    pub(crate) retransmitted: u64,
    pub(crate) acknowledged_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) segments_out: u64,
    pub(crate) segments_in: u64,
    pub(crate) unsent_bytes: u64,
    pub(crate) least_round_trip_us: u64,
    pub(crate) busy_us: u64,
    pub(crate) peer_limited_us: u64,
    pub(crate) buffer_limited_us: u64,
    pub(crate) out_of_order: u64,
}

impl TcpCounts {
    fn parse(info: &[u8]) -> TcpCounts {
        let word = |at| long(info, at).map_or(0, u64::from);
        let wide =
            |at: usize| info.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes);
        TcpCounts {
            round_trip_us: word(68),
            retransmitted: word(100),
            acknowledged_bytes: wide(120),
            received_bytes: wide(128),
            segments_out: word(136),
            segments_in: word(140),
            unsent_bytes: word(144),
            // Without a measurement it is all ones.
            least_round_trip_us: Some(word(148)).filter(|us| *us != u64::from(u32::MAX)).unwrap_or(0),
            busy_us: wide(168),
            peer_limited_us: wide(176),
            buffer_limited_us: wide(184),
            out_of_order: word(224),
        }
    }
}

/// All connected Unix sockets, each with its other end, by their inodes.
pub fn unix_socket_ends() -> Vec<(u64, u64)> {
    let states_and_what = [ALL_STATES, 0, SHOW_PEER].map(u32::to_ne_bytes).concat();
    let request = [&[AddressFamily::UNIX.as_raw() as u8, 0, 0, 0][..], &states_and_what, &[0xff; 8]].concat();
    let mut found = Vec::new();
    let take = |message: &[u8]| {
        if let (Some(socket), Some(end)) = (long(message, 4), attribute(message, UNIX_BYTES, UNIX_PEER)) {
            found.extend(long(end, 0).map(|end| (u64::from(socket), u64::from(end))));
        }
    };
    // Without an answer there are none.
    let _ = dump(&request, take);
    found
}

/// All TCP connections of both families; `None` where the kernel does not tell.
pub(crate) fn tcp_sockets() -> Option<Vec<TcpSocket>> {
    let mut found = Vec::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let what = [family.as_raw() as u8, TCP, SHOW_TCP_INFO, 0];
        let request = [&what[..], &CONNECTIONS.to_ne_bytes(), &[0; 48]].concat();
        let answer = dump(&request, |message| found.extend(tcp_socket(message)));
        // A machine may lack one of the families.
        if answer.is_err() && family == AddressFamily::INET {
            return None;
        }
    }
    Some(found)
}

/// One `inet_diag_msg` with its attributes.
fn tcp_socket(message: &[u8]) -> Option<TcpSocket> {
    let is_v6 = *message.first()? == AddressFamily::INET6.as_raw() as u8;
    let port = |at: usize| Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?));
    let address = |at: usize| -> Option<IpAddr> {
        let bytes: [u8; 16] = message.get(at..at + 16)?.try_into().ok()?;
        // An IPv6 socket may have an IPv4 connection.
        let (v4, v6) = (Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]), Ipv6Addr::from(bytes));
        Some(if is_v6 { v6.to_canonical() } else { IpAddr::V4(v4) })
    };
    let number = |at| long(message, at);
    Some(TcpSocket {
        local: SocketAddr::new(address(8)?, port(4)?),
        remote: SocketAddr::new(address(24)?, port(6)?),
        receive_queue_bytes: number(56)?,
        send_queue_bytes: number(60)?,
        inode: u64::from(number(68)?),
        counts: attribute(message, INET_BYTES, TCP_INFO).map(TcpCounts::parse).unwrap_or_default(),
    })
}

impl System {
    /// The sockets that a process has open, by their inodes.
    pub fn sockets_of(&self, process: i32) -> Vec<u64> {
        let folder = self.path(&format!("proc/{process}/fd"));
        let links = folder_names(&folder).into_iter().filter_map(|name| std::fs::read_link(folder.join(name)).ok());
        links.filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()).collect()
    }
}

/// Asks with the part of a request behind the header, and passes on each message without its
/// header.
fn dump(request: &[u8], mut take: impl FnMut(&[u8])) -> rustix::io::Result<()> {
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    let length = (HEADER_BYTES + request.len()) as u32;
    let kind = [BY_FAMILY, REQUEST_ALL].map(u16::to_ne_bytes).concat();
    // Behind the kind are sequence and port.
    let request = [&length.to_ne_bytes()[..], &kind, &[0; 8], request].concat();
    net::sendto(&socket, &request, SendFlags::empty(), &netlink::SocketAddrNetlink::new(0, 0))?;
    let mut answer = vec![0_u8; ANSWER_BYTES];
    loop {
        let (_, length) = net::recv(&socket, answer.as_mut_slice(), RecvFlags::empty())?;
        match messages(answer.get(..length).unwrap_or_default(), &mut take) {
            Piece::More if length > 0 => {}
            Piece::Refused(errno) => return Err(rustix::io::Errno::from_raw_os_error(errno)),
            Piece::More | Piece::Last => return Ok(()),
        }
    }
}

/// What follows a piece of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    More,
    Last,
    Refused(i32),
}

fn messages(mut piece: &[u8], take: &mut impl FnMut(&[u8])) -> Piece {
    while let (Some(length), Some(kind)) = (long(piece, 0), short(piece, 4)) {
        match kind {
            DONE => return Piece::Last,
            ERROR => return Piece::Refused(long(piece, HEADER_BYTES).map_or(0, |errno| (errno as i32).wrapping_neg())),
            _ => {}
        }
        let Some(message) = piece.get(HEADER_BYTES..length as usize) else { return Piece::Last };
        take(message);
        piece = piece.get((length as usize).next_multiple_of(4)..).unwrap_or_default();
    }
    Piece::More
}

/// The attribute of this kind behind the fixed part of a message.
fn attribute(message: &[u8], fixed_bytes: usize, wanted: u16) -> Option<&[u8]> {
    let mut attributes = message.get(fixed_bytes..)?;
    loop {
        let (size, kind) = (usize::from(short(attributes, 0)?).max(4), short(attributes, 2)?);
        if kind == wanted {
            return attributes.get(4..size);
        }
        attributes = attributes.get(size.next_multiple_of(4)..)?;
    }
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn broken_answers_end_the_list() {
        let mut found = Vec::new();
        let mut take = |message: &[u8]| found.push(message.to_vec());
        let header = |length: u32, kind: u16| [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10]].concat();
        assert_eq!(messages(&header(16, DONE), &mut take), Piece::Last);
        assert_eq!(messages(&header(3, 20), &mut take), Piece::Last);
        assert_eq!(messages(&header(400, 20), &mut take), Piece::Last);
        let refusal = [header(20, ERROR), (-2_i32).to_ne_bytes().to_vec()].concat();
        assert_eq!(messages(&refusal, &mut take), Piece::Refused(2));
        assert_eq!(messages(&[1, 2], &mut take), Piece::More);
        assert_eq!(messages(&[header(18, 20), vec![7, 8, 0, 0], header(16, 20)].concat(), &mut take), Piece::More);
        assert_eq!(found, [vec![7, 8], vec![]]);
    }

    #[test]
    fn attributes_are_found_behind_the_fixed_part() {
        let of = |size: u16, kind: u16, text: &[u8]| [&size.to_ne_bytes()[..], &kind.to_ne_bytes(), text].concat();
        let message = [vec![9; 4], of(5, 1, &[1, 0, 0, 0]), of(8, 2, &[4, 3, 2, 1])].concat();
        assert_eq!(attribute(&message, 4, 2), Some(&[4, 3, 2, 1][..]));
        assert_eq!(attribute(&message, 4, 1), Some(&[1][..]));
        assert_eq!(attribute(&message, 4, 3), None);
        assert_eq!(attribute(&of(200, 2, &[0; 4]), 0, 2), None);
        assert_eq!(attribute(&[], 4, 2), None);
    }

    #[test]
    fn a_connection_of_this_process_has_its_counts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut accepted, _) = listener.accept().unwrap();
        stream.write_all(&[7; 1000]).unwrap();
        accepted.read_exact(&mut [0; 600]).unwrap();
        // The kernel of a small machine may not have been built with it.
        let Some(all) = tcp_sockets() else { return };
        let of = |ends: &TcpStream| {
            let place = |socket: &&TcpSocket| Some(socket.local) == ends.local_addr().ok();
            all.iter().find(|socket| place(socket) && Some(socket.remote) == ends.peer_addr().ok()).unwrap()
        };
        assert_eq!((of(&accepted).counts.received_bytes, of(&accepted).receive_queue_bytes), (1000, 400));
        assert!(of(&stream).counts.segments_out >= 2 && of(&stream).counts.round_trip_us > 0, "{:?}", of(&stream));
        let own = System::live().sockets_of(std::process::id() as i32);
        assert!(own.contains(&of(&stream).inode) && own.contains(&of(&accepted).inode));
    }
}
