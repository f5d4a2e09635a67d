//! A folder to run `iolab` in, and functions that examine what it did.

#![allow(dead_code, reason = "each test file uses its own part of this module")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use iolab_clock::Clock;
use iolab_recording::Recording;
use tempfile::TempDir;

/// A step that takes longer than this hangs, even on a busy machine, ns.
pub(crate) const PATIENCE_NS: u64 = 180_000_000_000;

pub(crate) fn now_ns() -> u64 {
    Clock::monotonic().now_ns()
}

/// A separate folder: jobs run in it, and recordings and virtual devices are kept in it.
pub(crate) struct Lab {
    folder: TempDir,
    /// The number of programs started so far: each prints into its own files.
    started: AtomicU32,
}

impl Lab {
    pub(crate) fn new() -> Lab {
        // Not in a tmpfs, if possible: jobs usually run on file systems with all features.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Lab { folder, started: AtomicU32::new(0) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its name.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// Runs a job file with `--record=it.iolab` and a JSON report.
    pub(crate) fn job(&self, text: &str) -> Done {
        self.file("job.fio", text);
        self.run(["run", "job.fio", "--output-format=json", "--record=it.iolab"])
    }

    /// Runs the program with these arguments to its end.
    pub(crate) fn run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, arguments: I) -> Done {
        self.start(arguments).finish()
    }

    /// Does the same, with additional environment variables.
    pub(crate) fn run_with<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(
        &self,
        arguments: I,
        environment: &[(&str, PathBuf)],
    ) -> Done {
        self.start_program(env!("CARGO_BIN_EXE_iolab"), arguments, environment).finish()
    }

    /// Runs a shell command line.
    pub(crate) fn shell(&self, line: &str) -> Done {
        self.start_program("/bin/sh", ["-c", line], &[]).finish()
    }

    /// Runs the program as `fio`.
    pub(crate) fn fio<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, arguments: I) -> Done {
        self.start_program(env!("CARGO_BIN_EXE_fio"), arguments, &[]).finish()
    }

    /// Starts the program with these arguments.
    pub(crate) fn start<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, arguments: I) -> Running {
        self.start_program(env!("CARGO_BIN_EXE_iolab"), arguments, &[])
    }

    /// Starts a shell command line.
    pub(crate) fn start_shell(&self, line: &str) -> Running {
        self.start_program("/bin/sh", ["-c", line], &[])
    }

    /// Starts the program with additional environment variables.
    pub(crate) fn start_with<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(
        &self,
        arguments: I,
        environment: &[(&str, PathBuf)],
    ) -> Running {
        self.start_program(env!("CARGO_BIN_EXE_iolab"), arguments, environment)
    }

    fn start_program<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(
        &self,
        program: &str,
        arguments: I,
        environment: &[(&str, PathBuf)],
    ) -> Running {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let (stdout, stderr) = (self.path(&format!(".stdout-{number}")), self.path(&format!(".stderr-{number}")));
        let child = Command::new(program)
            .args(arguments)
            .current_dir(self.folder.path())
            .env("IOLAB_CONFIG", "none")
            .env("IOLAB_RECORDINGS", self.path("recordings"))
            .env("IOLAB_DEVICES", self.path("devices"))
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::from(std::fs::File::create(&stdout).unwrap()))
            .stderr(Stdio::from(std::fs::File::create(&stderr).unwrap()))
            .spawn()
            .unwrap();
        Running { child, stdout, stderr, begun_ns: now_ns() }
    }

    /// The recording that the last `job` made.
    pub(crate) fn recording(&self) -> Recording {
        read_recording(&self.path("it.iolab"))
    }
}

pub(crate) fn read_recording(path: &Path) -> Recording {
    Recording::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A running program.
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    begun_ns: u64,
}

/// The child processes that the main thread of a process has forked.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The processor time of a process or thread in ticks of 10 ms (utime and stime, proc(5)).
fn processor_ticks(task: &Path) -> u64 {
    let stat = std::fs::read_to_string(task.join("stat")).unwrap_or_default();
    // The name, in parentheses, may contain spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

impl Running {
    pub(crate) fn signal(&self, signal: i32) {
        iolab_process::kill(self.child.id() as i32, signal);
    }

    /// Its process ID.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child processes that it has forked.
    pub(crate) fn children(&self) -> Vec<i32> {
        children(self.child.id() as i32)
    }

    /// Whether the program or one of its child processes has mapped a file of this name.
    pub(crate) fn maps(&self, name: &str) -> bool {
        let mut processes = self.children().into_iter().chain([self.child.id() as i32]);
        processes.any(|pid| std::fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains(name)))
    }

    /// The processes and threads that it has made; while it runs jobs, these are its workers.
    pub(crate) fn workers(&self) -> usize {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).map_or(0, Iterator::count);
        self.children().len() + threads.saturating_sub(1)
    }

    /// How many of its workers have run for 100 ms of processor time: on a busy machine, one that
    /// exists may not have run at all.
    pub(crate) fn workers_that_ran(&self) -> usize {
        let pid = self.child.id();
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let threads = threads.map(|entry| entry.path()).filter(|path| !path.ends_with(pid.to_string()));
        let children = self.children().into_iter().map(|child| PathBuf::from(format!("/proc/{child}")));
        threads.chain(children).filter(|task| processor_ticks(task) >= 10).count()
    }

    /// Waits until `ready` returns true.
    pub(crate) fn until(&self, ready: impl Fn(&Running) -> bool) {
        while !ready(self) {
            assert!(now_ns() - self.begun_ns < PATIENCE_NS, "{}", self.errors());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn printed(&self) -> String {
        std::fs::read_to_string(&self.stdout).unwrap()
    }

    pub(crate) fn errors(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap()
    }

    pub(crate) fn finish(mut self) -> Done {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if now_ns() - self.begun_ns > PATIENCE_NS {
                self.child.kill().unwrap();
                panic!("it hangs: {}", self.errors());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let read = |path: &Path| std::fs::read(path).unwrap();
        Done(Output { status, stdout: read(&self.stdout), stderr: read(&self.stderr) })
    }
}

/// A test that fails ends what it has started: a job of many minutes would slow down all that
/// follow.
impl Drop for Running {
    fn drop(&mut self) {
        let has_ended = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        if has_ended(&mut self.child) {
            return;
        }
        iolab_process::kill(self.child.id() as i32, 15);
        for _ in 0..400 {
            if has_ended(&mut self.child) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The result of a program.
#[derive(Debug)]
pub(crate) struct Done(Output);

impl Done {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    pub(crate) fn printed(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    pub(crate) fn errors(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// The report that was printed as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.0.stdout).unwrap_or_else(|error| panic!("{error}\n{self:?}"))
    }

    /// Asserts the exit code and that standard error contains a text.
    #[track_caller]
    pub(crate) fn ended(self, code: i32, said: &str) -> Done {
        assert!(self.code() == code && self.errors().contains(said), "wanted {code} and {said:?}: {self:#?}");
        self
    }
}

/// A small separate file system, if the test may mount one; otherwise reports that it cannot.
pub(crate) struct TinyDisk {
    folder: TempDir,
}

impl TinyDisk {
    pub(crate) fn mount(kib: u64) -> Option<TinyDisk> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={kib}k");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tiny"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            skipped("a small tmpfs cannot be mounted here (root only)");
            return None;
        }
        Some(TinyDisk { folder })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

/// Reports, past the output capture of the test harness, that a part of a test did not run.
pub(crate) fn skipped(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
