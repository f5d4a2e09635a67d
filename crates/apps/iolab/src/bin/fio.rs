//! The same program under the name `fio`: executes the `iolab` beside it, with fio's name and
//! command line.
//!
//! It uses no crate of this workspace, so that the one large program is built and installed once.
//! `iolab` is searched in the folder of this file first, so that the two of one build belong
//! together, then on the `PATH`. The process stays the same: its number, open files, exit code and
//! signals are `iolab`'s.
#![allow(clippy::print_stderr, reason = "the one thing that it may have to say itself")]

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The exit code of shells for a missing program.
const NOT_FOUND: u8 = 127;

fn main() -> ExitCode {
    let this = std::env::current_exe().ok();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(iolab) = candidates(this.as_deref(), path).find(|file| is_another_program(file, this.as_deref())) else {
        let folder = this.as_deref().and_then(Path::parent).unwrap_or(Path::new("?")).display();
        eprintln!("fio: cannot find the program iolab in {folder} or on the PATH; install both together");
        return ExitCode::from(NOT_FOUND);
    };
    let error = Command::new(&iolab).arg0("fio").args(std::env::args_os().skip(1)).exec();
    eprintln!("fio: {} cannot be started: {error}", iolab.display());
    ExitCode::from(NOT_FOUND)
}

/// Where `iolab` may be, best first.
fn candidates(this: Option<&Path>, path: OsString) -> impl Iterator<Item = PathBuf> {
    let beside = this.and_then(Path::parent).map(Path::to_owned);
    let folders: Vec<PathBuf> = beside.into_iter().chain(std::env::split_paths(&path)).collect();
    folders.into_iter().map(|folder| folder.join("iolab"))
}

/// Whether it is a file other than this one: a link named `iolab` to this program would execute
/// itself forever.
fn is_another_program(file: &Path, this: Option<&Path>) -> bool {
    file.is_file() && std::fs::canonicalize(file).ok().as_deref() != this
}
