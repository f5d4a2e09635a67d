//! Clients of the watched processes: processes of this machine with the other end of one of their
//! sockets.
//!
//! For a Unix socket, the kernel reports the other end by `sock_diag` (sock_diag(7)); for a TCP
//! connection within the machine, both ends are in `/proc/net/tcp`. If the kernel reports nothing,
//! or the processes have another network namespace, there are no clients.

use std::collections::{BTreeSet, HashMap, HashSet};

use iolab_observe::{ProcessTime, System, folder_names};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

/// `SOCK_DIAG_BY_FAMILY`, and request and dump (netlink(7)).
const BY_FAMILY: u16 = 20;
const REQUEST_ALL: u16 = 0x301;
/// `NLMSG_ERROR`, `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `UDIAG_SHOW_PEER`, and the attribute with the answer, `UNIX_DIAG_PEER`.
const SHOW_PEER: u32 = 4;
const PEER: u16 = 2;
const ALL_STATES: u32 = u32::MAX;
const HEADER_BYTES: usize = 16;
const SOCKET_BYTES: usize = 16;
/// Room for one answer, which the kernel keeps below 32 KiB.
const ANSWER_BYTES: usize = 64 << 10;

/// Finds clients, and remembers the processes whose sockets it has found.
#[derive(Debug, Default)]
pub(super) struct Clients {
    owners: HashMap<u64, i32>,
}

impl Clients {
    /// The processes that communicate with the program's processes.
    pub(super) fn find(&mut self, system: &System, program: &BTreeSet<i32>, all: &[ProcessTime]) -> BTreeSet<i32> {
        let own: HashSet<u64> = program.iter().flat_map(|process| sockets_of(system, *process)).collect();
        if own.is_empty() {
            return BTreeSet::new();
        }
        let mut others = tcp_ends(system, program, &own);
        if system.is_live() {
            others.extend(unix_ends(&own));
        }
        others.retain(|socket| !own.contains(socket));
        self.owners.retain(|socket, _| others.contains(socket));
        if others.iter().any(|socket| !self.owners.contains_key(socket)) {
            for one in all.iter().filter(|one| !one.is_kernel && !program.contains(&one.id)) {
                let found = sockets_of(system, one.id).into_iter().filter(|socket| others.contains(socket));
                self.owners.extend(found.map(|socket| (socket, one.id)));
            }
        }
        self.owners.values().copied().collect()
    }
}

/// The sockets that a process has open, by their inodes.
fn sockets_of(system: &System, process: i32) -> Vec<u64> {
    let folder = system.path(&format!("proc/{process}/fd"));
    let links = folder_names(&folder).into_iter().filter_map(|name| std::fs::read_link(folder.join(name)).ok());
    links.filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()).collect()
}

/// The other ends of TCP connections of these sockets, in the network that the program has.
fn tcp_ends(system: &System, program: &BTreeSet<i32>, own: &HashSet<u64>) -> HashSet<u64> {
    let Some(process) = program.first() else { return HashSet::new() };
    let texts = ["tcp", "tcp6"].map(|name| system.read(&format!("proc/{process}/net/{name}")).unwrap_or_default());
    let mut by_ends: HashMap<(&str, &str), u64> = HashMap::new();
    let lines = texts.iter().flat_map(|text| text.lines().skip(1));
    for fields in lines.map(|line| line.split_ascii_whitespace().collect::<Vec<_>>()) {
        if let [_, local, remote, _, _, _, _, _, _, inode, ..] = fields[..]
            && let Ok(inode) = inode.parse::<u64>()
            && inode > 0
        {
            by_ends.insert((local, remote), inode);
        }
    }
    let ends = by_ends.iter().filter(|(_, inode)| own.contains(inode));
    ends.filter_map(|((local, remote), _)| by_ends.get(&(*remote, *local)).copied()).collect()
}

/// The other ends of Unix sockets.
fn unix_ends(own: &HashSet<u64>) -> HashSet<u64> {
    ask_for_peers()
        .unwrap_or_default()
        .into_iter()
        .filter(|(socket, _)| own.contains(socket))
        .map(|(_, end)| end)
        .collect()
}

/// All connected Unix sockets of this network namespace, each with its other end.
fn ask_for_peers() -> rustix::io::Result<Vec<(u64, u64)>> {
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    let mut request = Vec::with_capacity(HEADER_BYTES + 24);
    request.extend(40_u32.to_ne_bytes());
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_ALL.to_ne_bytes());
    // Sequence and port; then family, protocol and padding, states, one inode or all, what to show,
    // and a cookie.
    request.extend([0; 8]);
    request.extend([AddressFamily::UNIX.as_raw() as u8, 0, 0, 0]);
    request.extend(ALL_STATES.to_ne_bytes());
    request.extend(0_u32.to_ne_bytes());
    request.extend(SHOW_PEER.to_ne_bytes());
    request.extend([0xff; 8]);
    net::sendto(&socket, &request, SendFlags::empty(), &netlink::SocketAddrNetlink::new(0, 0))?;
    let mut found = Vec::new();
    let mut answer = vec![0_u8; ANSWER_BYTES];
    loop {
        let (_, length) = net::recv(&socket, answer.as_mut_slice(), RecvFlags::empty())?;
        if length == 0 || take_answers(answer.get(..length).unwrap_or_default(), &mut found) {
            return Ok(found);
        }
    }
}

/// Parses the answers of one piece. Returns whether they were the last ones.
fn take_answers(mut piece: &[u8], found: &mut Vec<(u64, u64)>) -> bool {
    while let (Some(length), Some(kind)) = (long(piece, 0), short(piece, 4)) {
        if [ERROR, DONE].contains(&kind) || (length as usize) < HEADER_BYTES {
            return true;
        }
        let Some(message) = piece.get(HEADER_BYTES..length as usize) else { return true };
        let mut attributes = message.get(SOCKET_BYTES..).unwrap_or_default();
        while let (Some(size), Some(kind)) = (short(attributes, 0), short(attributes, 2)) {
            if let (PEER, Some(socket), Some(end)) = (kind, long(message, 4), long(attributes, 4)) {
                found.push((u64::from(socket), u64::from(end)));
            }
            attributes = attributes.get(aligned(usize::from(size.max(4)))..).unwrap_or_default();
        }
        piece = piece.get(aligned(length as usize)..).unwrap_or_default();
    }
    false
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_with_the_other_end_of_a_socket_is_a_client() {
        let own = BTreeSet::from([std::process::id() as i32]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_accepted, _) = listener.accept().unwrap();
        let (_ours, theirs) = UnixStream::pair().unwrap();
        for end in [Stdio::from(std::os::fd::OwnedFd::from(stream)), Stdio::from(std::os::fd::OwnedFd::from(theirs))] {
            // Only the child has the other end: this process has closed its own.
            let mut child = Command::new("sleep").arg("100").stdin(end).spawn().unwrap();
            let all = System::live().processes();
            let found = Clients::default().find(&System::live(), &own, &all);
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(found.contains(&(child.id() as i32)), "{found:?}");
        }
    }

    #[test]
    fn broken_answers_end_the_search() {
        let mut found = Vec::new();
        let header = |length: u32, kind: u16| [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10]].concat();
        assert!(take_answers(&header(16, DONE), &mut found));
        assert!(take_answers(&header(3, 20), &mut found));
        assert!(take_answers(&header(400, 20), &mut found));
        assert!(!take_answers(&[1, 2], &mut found));
        let mut answer = header(16 + 16 + 8, 20);
        answer.extend([1, 1, 1, 0]);
        answer.extend(77_u32.to_ne_bytes());
        answer.extend([0; 8]);
        answer.extend([8_u16.to_ne_bytes(), PEER.to_ne_bytes()].concat());
        answer.extend(99_u32.to_ne_bytes());
        assert!(!take_answers(&answer, &mut found));
        assert_eq!(found, [(77, 99)]);
    }
}
