//! The server: listens, judges who connects, and serves each client in a thread of its own.
//!
//! Who reaches the server can run jobs with the rights of its user. So without a secret it listens
//! only where other machines cannot reach it: on loopback addresses and on UNIX sockets, which only
//! their owner may open. On every other address it demands a secret and a list of the hosts that
//! may connect.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use iolab_activity::{Console, Failure};
use iolab_process::INTERRUPTS;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::umask;

use crate::address::{Fallback, HostAddress, Network};
use crate::channel::Channel;
use crate::fence::Fence;
use crate::message::JobRules;
use crate::seal::SharedSecret;
use crate::session::{self, SessionRules};

/// Most clients at a time; further ones are turned away.
const MOST_CLIENTS: u32 = 64;
/// How often to look whether the server is to end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// What a server does.
#[derive(Debug, Clone)]
pub struct ServerRequest {
    /// Where it listens; without a host, on all interfaces if it has a secret, and on loopback if
    /// not.
    pub address: HostAddress,
    /// The secret.
    pub secret: Option<SharedSecret>,
    /// Hosts that may connect, beside this machine: names, addresses, networks.
    pub hosts: Vec<String>,
    /// Files, devices and folders that jobs may touch; the working folder if there are none.
    pub allowed: Vec<PathBuf>,
    /// Most workers of a job.
    pub max_jobs: Option<u32>,
}

/// A server that listens.
#[derive(Debug)]
pub struct JobServer {
    listener: Listener,
    secret: Option<SharedSecret>,
    networks: Vec<Network>,
    rules: JobRules,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    /// With the file to remove at the end.
    Unix(UnixListener, PathBuf),
}

impl JobServer {
    /// Begins to listen.
    ///
    /// # Errors
    /// The address cannot be had, or it would be open to hosts that nobody named.
    pub fn listen(request: &ServerRequest) -> Result<JobServer, Failure> {
        Fence::new(&request.allowed)?;
        let mut networks = Vec::new();
        for host in &request.hosts {
            networks.extend(Network::parse(host).map_err(|why| Failure::mistake(format!("--allow-host: {why}")))?);
        }
        let listener = match &request.address {
            HostAddress::Unix(path) => Listener::Unix(listen_unix(path)?, path.clone()),
            address => Listener::Tcp(listen_tcp(address, request.secret.is_some(), !networks.is_empty())?),
        };
        let rules =
            JobRules { allowed: request.allowed.clone(), max_jobs: request.max_jobs, address: None, is_rank: false };
        Ok(JobServer { listener, secret: request.secret.clone(), networks, rules })
    }

    /// Where it listens, as a client names it; with the port that the kernel chose.
    pub fn address(&self) -> String {
        match &self.listener {
            Listener::Tcp(listener) => {
                let address = listener.local_addr();
                address.map_or_else(|error| error.to_string(), |address| format!("{},{}", address.ip(), address.port()))
            }
            Listener::Unix(_, path) => format!("sock:{}", path.display()),
        }
    }

    /// Serves clients until a signal ends it. `job_command` makes the command that runs a job.
    ///
    /// # Errors
    /// The socket failed.
    pub fn serve(self, job_command: fn() -> io::Result<Command>, console: &dyn Console) -> Result<(), Failure> {
        let clients = AtomicU32::new(0);
        let server = &self;
        let served = std::thread::scope(|scope| {
            while INTERRUPTS.load(Ordering::Relaxed) == 0 {
                let Some(Connected { socket, peer, own }) = server.accept()? else { continue };
                if let Err(why) = server.judge(peer) {
                    console.note(&format!("{}: turned away: {why}", peer_text(peer)));
                    continue;
                }
                if clients.load(Ordering::Relaxed) >= MOST_CLIENTS {
                    console.note(&format!("{}: turned away: {MOST_CLIENTS} clients are served", peer_text(peer)));
                    continue;
                }
                clients.fetch_add(1, Ordering::Relaxed);
                let clients = &clients;
                scope.spawn(move || {
                    console.note(&format!("{}: connected", peer_text(peer)));
                    let rules = SessionRules {
                        secret: server.secret.as_ref(),
                        job: &server.rules,
                        address: own.map(|own| own.ip().to_canonical().to_string()),
                        job_command: &job_command,
                        is_ending: &|| INTERRUPTS.load(Ordering::Relaxed) > 0,
                    };
                    let how = session::serve(Channel::new(socket), &rules);
                    console.note(&format!("{}: {how}", peer_text(peer)));
                    clients.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok::<(), Failure>(())
        });
        if let Listener::Unix(_, path) = &server.listener {
            // Somebody else may have removed it.
            let _ = std::fs::remove_file(path);
        }
        served
    }

    /// The next client; `None` if none came for a while.
    fn accept(&self) -> Result<Option<Connected>, Failure> {
        let fd = match &self.listener {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener, _) => listener.as_fd(),
        };
        if !matches!(poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&LOOK)), Ok(ready) if ready > 0) {
            return Ok(None);
        }
        let accepted = match &self.listener {
            Listener::Tcp(listener) => listener.accept().map(|(stream, peer)| prepared(stream, peer)),
            Listener::Unix(listener, _) => {
                listener.accept().map(|(stream, _)| Connected { socket: stream.into(), peer: None, own: None })
            }
        };
        match accepted {
            Ok(client) => Ok(Some(client)),
            // The client has gone again, or there are no descriptors for it now (accept(2)).
            Err(error) if error.raw_os_error() != Some(libc_einval()) => {
                std::thread::sleep(std::time::Duration::from_millis(20));
                Ok(None)
            }
            Err(error) => Err(Failure::failed(format!("the server's socket: {error}"))),
        }
    }

    /// Whether a host may connect.
    fn judge(&self, peer: Option<SocketAddr>) -> Result<(), String> {
        match peer.map(|peer| peer.ip().to_canonical()) {
            Some(address)
                if !address.is_loopback() && !self.networks.iter().any(|network| network.contains(address)) =>
            {
                Err(format!("start the server with --allow-host={address} to let it in"))
            }
            _ => Ok(()),
        }
    }
}

/// `EINVAL`: the socket does not listen.
fn libc_einval() -> i32 {
    rustix::io::Errno::INVAL.raw_os_error()
}

fn peer_text(peer: Option<SocketAddr>) -> String {
    peer.map_or_else(|| "a client on this machine".to_owned(), |peer| format!("client {peer}"))
}

/// A client that has connected.
struct Connected {
    socket: OwnedFd,
    /// Its address; `None` on a UNIX socket.
    peer: Option<SocketAddr>,
    /// The address that it has connected to.
    own: Option<SocketAddr>,
}

fn prepared(stream: TcpStream, peer: SocketAddr) -> Connected {
    // Small messages go at once; it is only slower without.
    let _ = stream.set_nodelay(true);
    let own = stream.local_addr().ok();
    Connected { socket: stream.into(), peer: Some(peer), own }
}

fn listen_tcp(address: &HostAddress, has_secret: bool, has_hosts: bool) -> Result<TcpListener, Failure> {
    let is_open = has_secret && has_hosts;
    let fallback = if is_open { Fallback::Any } else { Fallback::Loopback };
    let failed = |error: io::Error| Failure::mistake(format!("--server={address}: {error}"));
    let found = address.resolve(fallback).map_err(failed)?;
    let reachable = found.iter().find(|address| !is_local(address.ip()));
    if let Some(reachable) = reachable.filter(|_| !is_open) {
        let missing = match (has_secret, has_hosts) {
            (false, false) => "--secret=FILE and --allow-host=HOST",
            (false, true) => "--secret=FILE",
            _ => "--allow-host=HOST",
        };
        return Err(Failure::mistake(format!(
            "--server={address}: other machines can reach {}, and who reaches this server can run jobs as its user: add {missing}, or serve on 127.0.0.1 or sock:PATH",
            reachable.ip()
        )));
    }
    TcpListener::bind(&found[..]).map_err(failed)
}

fn is_local(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// A socket that only its owner may open. One that a dead server left is replaced.
fn listen_unix(path: &Path) -> Result<UnixListener, Failure> {
    let failed = |error: io::Error| Failure::mistake(format!("--server=sock:{}: {error}", path.display()));
    if let Ok(there) = path.symlink_metadata() {
        if !there.file_type().is_socket() {
            return Err(Failure::mistake(format!(
                "--server=sock:{}: a file of that name exists, and is no socket: choose another name",
                path.display()
            )));
        }
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(Failure::mistake(format!("--server=sock:{}: another server listens there", path.display())));
        }
        std::fs::remove_file(path).map_err(failed)?;
    }
    // Nobody may open it, not even for a moment.
    let before = umask(Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(path);
    umask(before);
    listener.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn request(address: &str) -> ServerRequest {
        let address = HostAddress::parse(address).unwrap();
        ServerRequest { address, secret: None, hosts: Vec::new(), allowed: Vec::new(), max_jobs: None }
    }

    #[test]
    fn other_machines_reach_it_only_with_a_secret_and_a_list() {
        let secret = Some(SharedSecret::of(&[7; 16]).unwrap());
        let hosts = vec!["10.0.0.0/8".to_owned()];
        let open = |secret: &Option<SharedSecret>, hosts: &[String]| {
            let request = ServerRequest { secret: secret.clone(), hosts: hosts.to_vec(), ..request("0.0.0.0,0") };
            JobServer::listen(&request)
        };
        for (secret, hosts, missing) in [
            (&None, &[][..], "--secret=FILE and --allow-host=HOST"),
            (&None, &hosts[..], "add --secret=FILE,"),
            (&secret, &[][..], "add --allow-host=HOST,"),
        ] {
            let message = open(secret, hosts).unwrap_err().message;
            assert!(message.contains(missing) && message.contains("127.0.0.1"), "{message}");
        }
        let server = open(&secret, &hosts).unwrap();
        assert!(server.judge(Some("10.1.2.3:5".parse().unwrap())).is_ok());
        assert!(server.judge(Some("127.0.0.1:5".parse().unwrap())).is_ok());
        assert!(server.judge(Some("11.1.2.3:5".parse().unwrap())).unwrap_err().contains("--allow-host=11.1.2.3"));
        assert!(server.judge(None).is_ok());
    }

    #[test]
    fn without_a_host_it_is_loopback() {
        let server = JobServer::listen(&request(",0")).unwrap();
        assert!(server.address().starts_with("127.0.0.1,") && !server.address().ends_with(",0"));
    }

    #[test]
    fn sockets_are_private_and_no_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let named = request(&format!("sock:{}", path.display()));
        let server = JobServer::listen(&named).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(JobServer::listen(&named).unwrap_err().message.contains("another server"));
        drop(server);
        // What a dead server left is replaced.
        JobServer::listen(&named).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "data").unwrap();
        assert!(JobServer::listen(&named).unwrap_err().message.contains("no socket"));
        assert_eq!(std::fs::read(&path).unwrap(), b"data");
    }
}
