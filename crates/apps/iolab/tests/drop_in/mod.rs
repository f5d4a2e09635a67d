//! A temporary folder to run our `fio` in. Every run ends: no job of a test is long, and each is
//! waited for.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder of its own for each test.
pub(crate) struct Folder {
    directory: TempDir,
}

/// The result of a run.
pub(crate) struct Finished {
    /// Exit code; -1 for a signal.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder { directory: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("writable");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A command that will run our `fio` here, without standard input.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fio"));
        command.args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn fio(&self, arguments: &[&str]) -> Finished {
        let output = self.command(arguments).output().expect("fio starts");
        Finished {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Runs `fio`, expects success and an empty standard error, and returns the standard output.
    pub(crate) fn good(&self, arguments: &[&str]) -> String {
        let finished = self.fio(arguments);
        assert_eq!((finished.code, finished.err.as_str()), (0, ""), "{arguments:?}");
        finished.out
    }
}
