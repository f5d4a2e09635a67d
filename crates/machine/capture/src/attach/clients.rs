//! Clients of the watched processes: processes of this machine with the other end of one of their
//! sockets.
//!
//! For a Unix socket, the kernel reports the other end by `sock_diag` (sock_diag(7)); for a TCP
//! connection within the machine, both ends are in `/proc/net/tcp`. If the kernel reports nothing,
//! or the processes have another network namespace, there are no clients.

use std::collections::{BTreeSet, HashMap, HashSet};

use iolab_observe::{ProcessTime, System, unix_socket_ends};
use iolab_order::Gather;

/// Finds clients, and remembers the processes whose sockets it has found.
#[derive(Debug, Default)]
pub(super) struct Clients {
    owners: HashMap<u64, i32>,
}

impl Clients {
    /// The processes that communicate with the program's processes.
    pub(super) fn find(&mut self, system: &System, program: &BTreeSet<i32>, all: &[ProcessTime]) -> BTreeSet<i32> {
        let own: HashSet<u64> = program.iter().flat_map(|process| system.sockets_of(*process)).gather();
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
                let found = system.sockets_of(one.id).into_iter().filter(|socket| others.contains(socket));
                self.owners.extend(found.map(|socket| (socket, one.id)));
            }
        }
        self.owners.values().copied().collect()
    }
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
    unix_socket_ends().into_iter().filter(|(socket, _)| own.contains(socket)).map(|(_, end)| end).collect()
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
}
