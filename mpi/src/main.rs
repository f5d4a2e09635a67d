//! `iolab-rank`: one run of iolab on all ranks of an MPI job.
//!
//! MPI starts threads, and a run of iolab forks its workers, so the two are never in one process:
//! this program starts `iolab` beside itself on every rank, carries the messages between them, and
//! has no part in the measurement.
//!
//! ```text
//!  mpirun -n 8 iolab-rank run job.fio
//!      rank 0:   iolab hosts run --socket=… job.fio   the client: start, status line, recording, report
//!      each:     iolab internal-rank                  the server of the rank, which runs its part of the job
//! ```

mod carrier;
mod relay;
mod stream;

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::Ordering;

use iolab_clock::Clock;
use iolab_process::INTERRUPTS;
use mpi::Threading;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Root};

use carrier::Carrier;
use relay::{ROOT, Relay};
use stream::Stream;

/// Bytes for the name of a host.
const NAME_BYTES: usize = 256;
/// How long the client may take to connect, ns.
const CONNECT_NS: u64 = 30_000_000_000;
/// How long a server may take to end when the run is over, ns.
const END_NS: u64 = 10_000_000_000;
/// The interrupt of a terminal.
const SIGINT: i32 = 2;
/// The user's mistake.
const MISTAKE: u8 = 2;

const USAGE: &str = "Usage: mpirun -n RANKS iolab-rank [--program=PATH] run|plan JOB FILE | --OPTION=VALUE …

`run` runs a job of iolab on all ranks: they begin at one moment and make one recording.
`plan` prints what all ranks would do, as JSON, and does nothing.
The words after it are those of `iolab run`.

  --program=PATH  iolab; without it, the one beside this program, or the one in PATH
  --help          Print this page
  --version       Print the version
";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Run { program: Option<PathBuf>, words: Vec<String> },
    Print(String),
}

fn main() -> ExitCode {
    let asked = match read(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(reason) => return failed(MISTAKE, &reason),
    };
    match asked {
        Asked::Print(text) => {
            // A reader that has gone needs no more text.
            let _ = io::Write::write_all(&mut io::stdout(), text.as_bytes());
            ExitCode::SUCCESS
        }
        Asked::Run { program, words } => match run(&program.unwrap_or_else(beside), &words) {
            Ok(code) => ExitCode::from(code),
            Err(reason) => failed(1, &reason),
        },
    }
}

fn failed(code: u8, reason: &str) -> ExitCode {
    let _ = io::Write::write_all(&mut io::stderr(), format!("iolab-rank: {reason}\n").as_bytes());
    ExitCode::from(code)
}

fn read(words: impl Iterator<Item = String>) -> Result<Asked, String> {
    let (mut program, mut words) = (None, words);
    loop {
        match words.next().as_deref() {
            Some("--help" | "-h") => return Ok(Asked::Print(USAGE.to_owned())),
            Some("--version" | "-v") => return Ok(Asked::Print(format!("iolab-rank {}\n", env!("CARGO_PKG_VERSION")))),
            Some(action @ ("run" | "plan")) => {
                let job: Vec<String> = words.collect();
                if job.is_empty() {
                    return Err(format!("no job to run: name a job file after `{action}`"));
                }
                // An option of `iolab hosts run`, before its words.
                let plan = (action == "plan").then(|| "--plan".to_owned());
                return Ok(Asked::Run { program, words: plan.into_iter().chain(job).collect() });
            }
            Some(word) => match word.strip_prefix("--program=") {
                Some(path) if !path.is_empty() => program = Some(PathBuf::from(path)),
                _ => return Err(format!("`{word}` is not known here: write `iolab-rank run JOB` (--help)")),
            },
            None => return Err(USAGE.to_owned()),
        }
    }
}

/// iolab beside this program, else by its name.
fn beside() -> PathBuf {
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|own| Some(own.parent()?.join("iolab")));
    beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from("iolab"))
}

/// This rank's part of the run. Returns the exit code.
fn run(program: &Path, words: &[String]) -> Result<u8, String> {
    iolab_process::count_signals();
    // Before MPI has threads.
    let (own, mut server) = server(program).map_err(|error| format!("{}: {error}", program.display()))?;
    let (universe, _) = mpi::initialize_with_threading(Threading::Funneled).ok_or("MPI cannot be initialised twice")?;
    let world = universe.world();
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    if let Some(started) = started(|name| std::env::var(name).ok()).filter(|started| *started > 1 && ranks == 1) {
        return Err(format!(
            "the launcher started {started} ranks, but each of them sees only itself: it is of another MPI than this program, which was built with {}",
            mpi::environment::library_version().unwrap_or_default().lines().next().unwrap_or_default()
        ));
    }
    let names = names(&world);
    let code = if rank == ROOT {
        let folder = private_folder().map_err(|error| format!("a folder for the socket: {error}"))?;
        let ran = lead(program, words, &names, &folder, Carrier::new(&world), own);
        // Only the socket is in it.
        let _ = std::fs::remove_dir_all(&folder);
        // Without its client no rank can go on: the end of this one is that of all.
        ran.unwrap_or_else(|reason| {
            failed(1, &reason);
            world.abort(1)
        })
    } else {
        let mut relay = Relay::new(Carrier::new(&world), rank, own, Vec::new());
        loop {
            if let Some(code) = relay.step() {
                break code;
            }
        }
    };
    debug_assert_eq!(names.len(), if rank == ROOT { ranks } else { 0 });
    end(&mut server);
    Ok(code)
}

/// How many ranks the launcher says that it has started: Open MPI's, then Hydra's.
fn started(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].iter().find_map(|name| variable(name)?.parse().ok())
}

/// The server of this rank: both directions are one socket.
fn server(program: &Path) -> io::Result<(Stream, Child)> {
    let (own, theirs) = UnixStream::pair()?;
    let theirs = OwnedFd::from(theirs);
    let mut command = Command::new(program);
    command.arg("internal-rank").stdin(Stdio::from(theirs.try_clone()?)).stdout(Stdio::from(theirs));
    // Signals of the launcher are for this program. What the server has is saved when the client
    // says so, or when this program has gone.
    command.process_group(0);
    Ok((Stream::new(own)?, command.spawn()?))
}

/// Of the root: the host of each rank. Nothing elsewhere.
fn names(world: &SimpleCommunicator) -> Vec<String> {
    let name = mpi::environment::processor_name().unwrap_or_default();
    let mut own = [0_u8; NAME_BYTES];
    let length = name.len().min(NAME_BYTES);
    own[..length].copy_from_slice(&name.as_bytes()[..length]);
    let root = world.process_at_rank(ROOT as i32);
    if world.rank() as usize != ROOT {
        root.gather_into(&own[..]);
        return Vec::new();
    }
    let mut all = vec![0_u8; NAME_BYTES * world.size() as usize];
    root.gather_into_root(&own[..], &mut all[..]);
    let text = |bytes: &[u8]| {
        let bytes: Vec<u8> = bytes.iter().copied().take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    all.chunks(NAME_BYTES).map(text).collect()
}

/// A folder that only this user may enter.
fn private_folder() -> io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    let folder = std::env::temp_dir().join(format!("iolab-rank-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Of the root: starts the client, carries its messages, and returns its exit code.
fn lead(
    program: &Path,
    words: &[String],
    names: &[String],
    folder: &Path,
    carrier: Carrier<'_>,
    own: Stream,
) -> Result<u8, String> {
    let path = folder.join("socket");
    let listener = UnixListener::bind(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut command = Command::new(program);
    command.args(["hosts", "run", &format!("--hosts={}", names.join(",")), &format!("--socket={}", path.display())]);
    command.args(words).process_group(0);
    let mut client = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
    let accepted = accept(&listener, &mut client, names.len());
    // Connections outlive their socket's name, and this process may be killed.
    let _ = std::fs::remove_dir_all(folder);
    let clients = match accepted? {
        Connected::All(clients) => clients,
        Connected::Ended(code) => {
            Relay::new(carrier, ROOT, own, Vec::new()).end(names.len(), code);
            return Ok(code);
        }
    };
    let mut relay = Relay::new(carrier, ROOT, own, clients);
    let mut passed_on = 0;
    loop {
        relay.step();
        let asked = INTERRUPTS.load(Ordering::Relaxed);
        for _ in passed_on..asked {
            iolab_process::kill(client.id() as i32, SIGINT);
        }
        passed_on = asked;
        if let Some(code) = ended(&mut client)? {
            relay.end(names.len(), code);
            return Ok(code);
        }
    }
}

/// The client's exit code, if it has ended.
fn ended(client: &mut Child) -> Result<Option<u8>, String> {
    let status = client.try_wait().map_err(|error| format!("the client: {error}"))?;
    Ok(status.map(|status| status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

enum Connected {
    All(Vec<Stream>),
    /// The client has ended instead, with this code.
    Ended(u8),
}

/// The client's connections, one for each rank.
fn accept(listener: &UnixListener, client: &mut Child, ranks: usize) -> Result<Connected, String> {
    let wrong = |error: io::Error| format!("the client's connection: {error}");
    listener.set_nonblocking(true).map_err(wrong)?;
    let clock = Clock::monotonic();
    let until_ns = clock.now_ns() + CONNECT_NS;
    let mut streams: Vec<Option<Stream>> = (0..ranks).map(|_| None).collect();
    while streams.iter().any(Option::is_none) {
        match listener.accept() {
            Ok((mut socket, _)) => {
                socket.set_nonblocking(false).map_err(wrong)?;
                let mut rank = [0; 4];
                socket.read_exact(&mut rank).map_err(wrong)?;
                let place = streams.get_mut(u32::from_le_bytes(rank) as usize).ok_or("the client names no rank")?;
                *place = Some(Stream::new(socket).map_err(wrong)?);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if let Some(code) = ended(client)? {
                    return Ok(Connected::Ended(code));
                }
                if clock.now_ns() >= until_ns {
                    return Err("the client did not connect".to_owned());
                }
                clock.sleep_until(clock.now_ns() + 2_000_000, 0);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(wrong(error)),
        }
    }
    Ok(Connected::All(streams.into_iter().flatten().collect()))
}

/// The run is over: the server notices that its client has gone.
fn end(server: &mut Child) {
    iolab_process::end_or_kill(server, END_NS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_how_many_ranks_they_have_started() {
        for (name, value, expected) in [
            ("OMPI_COMM_WORLD_SIZE", "4", Some(4)),
            ("PMI_SIZE", "2", Some(2)),
            ("PMI_SIZE", "x", None),
            ("HOME", "4", None),
        ] {
            assert_eq!(started(|asked| (asked == name).then(|| value.to_owned())), expected, "{name}");
        }
    }

    #[test]
    fn words_are_read() {
        let of = |line: &str| read(line.split_whitespace().map(str::to_owned));
        let run = |program: Option<&str>, words: &[&str]| {
            Ok(Asked::Run {
                program: program.map(PathBuf::from),
                words: words.iter().map(|word| (*word).to_owned()).collect(),
            })
        };
        assert_eq!(of("run job.fio --program=x"), run(None, &["job.fio", "--program=x"]));
        assert_eq!(of("--program=/p run --name=a"), run(Some("/p"), &["--name=a"]));
        assert_eq!(of("plan job.fio"), run(None, &["--plan", "job.fio"]));
        assert!(matches!(of("--version"), Ok(Asked::Print(text)) if text.starts_with("iolab-rank ")));
        for line in ["", "run", "plan", "job.fio", "--program= run x", "--what run x"] {
            assert!(of(line).is_err(), "{line}");
        }
    }
}
