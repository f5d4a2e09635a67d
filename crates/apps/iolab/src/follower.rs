//! `--web` and `--metrics`: processes that follow a run, or the trials of a study, while it lasts.
//!
//! They read the partial recordings, as `iolab web` does. A process can be moved away from the
//! workers' processors as a whole, and what is wrong with it cannot become wrong with the run. It
//! has a pipe as its standard input, which ends when this program does, however that happens.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::exit::ExitFailure;

/// How long a follower may take to end, ns.
const PATIENCE_NS: u64 = 3_000_000_000;

/// What is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Followed<'a> {
    /// The run that appends to this partial recording; `None` if it has none.
    Run(Option<&'a Path>),
    /// The runs in this folder of a study.
    Trials(&'a Path),
}

/// A process that follows.
#[derive(Debug)]
pub(crate) struct Follower {
    process: Child,
}

impl Follower {
    /// Starts the server of a page.
    pub(crate) fn page(of: Followed<'_>) -> Result<Follower, ExitFailure> {
        if !cfg!(feature = "web") {
            return Err(ExitFailure::mistake(
                "iolab: --web: this build has no pages: build it with `cargo build --release --features web`",
            ));
        }
        Follower::start("--web", &["web".as_ref()], of)
    }

    /// Starts what keeps a textfile of metrics up to date.
    pub(crate) fn metrics(of: Followed<'_>, path: &Path, force: bool) -> Result<Follower, ExitFailure> {
        let mut words: Vec<&OsStr> = vec!["internal-metrics".as_ref(), path.as_os_str()];
        if force {
            words.push("--force".as_ref());
        }
        Follower::start("--metrics", &words, of)
    }

    fn start(option: &str, words: &[&OsStr], of: Followed<'_>) -> Result<Follower, ExitFailure> {
        let (word, path) = match of {
            Followed::Run(partial) => {
                let none = || {
                    ExitFailure::mistake(format!(
                        "iolab: {option} needs a recording in a file: use --record=FILE, or the folder of recordings"
                    ))
                };
                ("--follow", partial.ok_or_else(none)?)
            }
            Followed::Trials(folder) => ("--trials", folder),
        };
        let failed =
            |error: std::io::Error| ExitFailure::failed(format!("iolab: {option}: starting its process: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command.args(words).arg(word).arg(path).stdin(Stdio::piped()).stdout(Stdio::null());
        Ok(Follower { process: command.spawn().map_err(failed)? })
    }
}

impl Drop for Follower {
    /// The end of its standard input tells it to end; it is given the time to say its last words.
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        iolab_process::end_or_kill(&mut self.process, PATIENCE_NS);
    }
}

/// Whether the program that started this follower has ended, or wants it to.
pub(crate) fn has_parent_ended() -> bool {
    ends_within(0)
}

/// Waits for that at most this long, ns. A signal ends the wait early.
pub(crate) fn ends_within(longest_ns: u64) -> bool {
    let longest =
        Timespec { tv_sec: (longest_ns / 1_000_000_000) as i64, tv_nsec: (longest_ns % 1_000_000_000) as i64 };
    let stdin = std::io::stdin();
    let mut ends = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut ends, Some(&longest)).is_ok_and(|ready| ready > 0)
}
