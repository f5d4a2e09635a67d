//! Runs that go on: their partial recordings, which they keep locked.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use iolab_order::Arrange;
use iolab_plan::Plan;
use iolab_recording::partial::GrowingRecording;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;

use crate::recordings::is_locked;

/// The partial recording of a run that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningFile {
    /// The name that its recording will have.
    pub name: String,
    /// The partial recording.
    pub path: PathBuf,
}

impl RunningFile {
    /// The partial recording at `path`.
    pub fn at(path: PathBuf) -> Option<RunningFile> {
        let name = path.file_name()?.to_str()?.strip_suffix(".partial")?.to_owned();
        Some(RunningFile { name, path })
    }
}

/// The runs that record into a folder now, by name. A folder that cannot be read has none.
pub fn running(folder: &Path) -> Vec<RunningFile> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // A link could lead anywhere.
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut found: Vec<RunningFile> = files
        .filter_map(|entry| RunningFile::at(entry.path()))
        .filter(|run| File::open(&run.path).is_ok_and(|file| is_running(&file)))
        .collect();
    found.arrange_by(|one, other| one.name.cmp(&other.name));
    found
}

/// Whether a run still appends to this file.
pub fn is_running(file: &File) -> bool {
    is_locked(file)
}

/// Leaves the processors of a run to its workers: uses others where there are some, and only what
/// is left of them otherwise. For a process that follows one run: its children would inherit that.
pub fn stay_away_from(plan: &Plan) {
    // Neither is worth a word if the system refuses it: the run is right in any case.
    let _ = iolab_process::set_nice(10);
    let of_workers = plan.workers.iter().filter_map(|worker| worker.process.cpus.as_ref());
    let taken: Vec<usize> = of_workers.flatten().copied().collect();
    let spare: Vec<usize> = iolab_process::cpus_allowed().into_iter().filter(|cpu| !taken.contains(cpu)).collect();
    if !taken.is_empty() && !spare.is_empty() {
        let _ = iolab_process::set_cpus(&spare);
    }
}

/// What a follower may take of a processor, so that its run does not notice: some milliseconds at
/// once, and in the long run this part of the time, however long the run has been.
#[derive(Debug, Default)]
pub struct Allowance {
    /// What was taken and is not earned yet, ns, as of `at_ns`.
    debt_ns: u64,
    at_ns: u64,
}

impl Allowance {
    /// 0.1 % of a processor.
    const PART: u64 = 1000;
    /// Most of what may be taken before it is earned, ns: short runs are followed closely.
    const AT_ONCE_NS: u64 = 100_000_000;

    /// Adds the processor time that was taken until now. Taking more than was allowed, as pages do
    /// that are loaded, delays the next time by no more than the last one deserves.
    pub fn take(&mut self, now_ns: u64, took_ns: u64) {
        self.debt_ns = self.owed_ns(now_ns).min(Self::AT_ONCE_NS).saturating_add(took_ns);
        self.at_ns = now_ns;
    }

    /// How long from now on nothing may be taken, ns; 0 if something may.
    pub fn rest_ns(&self, now_ns: u64) -> u64 {
        self.owed_ns(now_ns).saturating_sub(Self::AT_ONCE_NS).saturating_mul(Self::PART)
    }

    fn owed_ns(&self, now_ns: u64) -> u64 {
        self.debt_ns.saturating_sub(now_ns.saturating_sub(self.at_ns) / Self::PART)
    }
}

/// Most bytes read at once.
const MOST_BYTES: usize = 16 << 20;

/// Reads a partial recording while a run appends to it.
#[derive(Debug)]
pub struct RunReader {
    file: File,
    path: PathBuf,
    at_byte: u64,
    /// What has been read.
    pub growing: GrowingRecording,
    /// What is wrong with the file: nothing after it is read.
    pub trouble: Option<String>,
}

impl RunReader {
    /// A reader of the file at `path`; `None` if it cannot be opened.
    pub fn open(path: &Path) -> Option<RunReader> {
        let file = File::open(path).ok()?;
        Some(RunReader { file, path: path.to_owned(), at_byte: 0, growing: GrowingRecording::default(), trouble: None })
    }

    /// Whether a run still appends to the file.
    pub fn goes_on(&self) -> bool {
        is_running(&self.file)
    }

    /// Reads what is new. Returns whether that changes anything.
    pub fn read(&mut self) -> bool {
        let mut has_changed = false;
        while self.trouble.is_none() {
            let length = self.file.metadata().map_or(0, |metadata| metadata.len());
            let left = usize::try_from(length.saturating_sub(self.at_byte)).unwrap_or(MOST_BYTES).min(MOST_BYTES);
            let mut bytes = vec![0; left];
            if left == 0 || self.file.read_exact_at(&mut bytes, self.at_byte).is_err() {
                break;
            }
            self.at_byte += left as u64;
            match self.growing.feed(&bytes) {
                Ok(changed) => has_changed |= changed,
                Err(error) => self.trouble = Some(error.to_string()),
            }
        }
        has_changed || self.trouble.is_some()
    }
}

/// Longest wait for a file that cannot be watched, ns.
const UNWATCHED_NS: u64 = 100_000_000;

/// Waits for what happens to the file of a run.
#[derive(Debug)]
pub struct RunWatch(Option<OwnedFd>);

impl RunWatch {
    /// Watches the file of a reader. What happens from now on ends a wait.
    pub fn begin(reader: &RunReader) -> RunWatch {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        // It loses its name and its lock when the run ends.
        let events = inotify::WatchFlags::MODIFY | inotify::WatchFlags::CLOSE_WRITE | inotify::WatchFlags::ATTRIB;
        let watch = inotify::init(flags).ok();
        RunWatch(watch.filter(|watch| inotify::add_watch(watch, &reader.path, events).is_ok()))
    }

    /// Waits until something has happened since the last wait, or for `longest_ns`. Where files
    /// cannot be watched, it waits at most a tenth of a second.
    pub fn wait(&self, longest_ns: u64) {
        let longest_ns = if self.0.is_some() { longest_ns } else { longest_ns.min(UNWATCHED_NS) };
        let longest =
            Timespec { tv_sec: (longest_ns / 1_000_000_000) as i64, tv_nsec: (longest_ns % 1_000_000_000) as i64 };
        let mut wanted: Vec<PollFd<'_>> = self.0.iter().map(|watch| PollFd::new(watch, PollFlags::IN)).collect();
        let _ = poll(&mut wanted, Some(&longest));
        // All that has happened so far is one reason to look.
        let mut events = [0; 4096];
        while self.0.as_ref().is_some_and(|watch| rustix::io::read(watch, &mut events).is_ok_and(|read| read > 0)) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follower_takes_a_bit_at_once_and_little_in_the_long_run() {
        const TOOK_NS: u64 = 7_000_000;
        let (mut allowance, mut now_ns, mut taken_ns) = (Allowance::default(), 1_000_000_000_u64, Vec::new());
        while now_ns < 3_601_000_000_000 {
            if allowance.rest_ns(now_ns) == 0 {
                taken_ns.push(now_ns);
                allowance.take(now_ns, TOOK_NS);
            }
            now_ns += 150_000_000 + allowance.rest_ns(now_ns);
        }
        let of_first_minute = taken_ns.iter().filter(|at_ns| **at_ns < 61_000_000_000).count();
        assert_eq!(of_first_minute, 15 + 60_000 / 7000);
        let share = taken_ns.len() as f64 * TOOK_NS as f64 / 3.6e12;
        assert!((0.0009..0.0011).contains(&share), "{share}");
        // What was not used is not saved up.
        assert_eq!(allowance.rest_ns(now_ns + 86_400_000_000_000), 0);
        for _ in 0..15 {
            allowance.take(now_ns + 86_400_000_000_000, TOOK_NS);
        }
        assert!(allowance.rest_ns(now_ns + 86_400_000_000_000) > 0);
        // However many pages were loaded.
        (0..1000).for_each(|_| allowance.take(now_ns + 86_400_000_000_000, TOOK_NS));
        assert_eq!(allowance.rest_ns(now_ns + 86_400_000_000_000), TOOK_NS * Allowance::PART);
    }

    #[test]
    fn only_locked_files_of_the_folder_itself_are_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        for name in ["a.iolab.partial", "left.iolab.partial", "b.iolab", "c.iolab.partial.1"] {
            std::fs::write(place(name), "x").expect("a file");
        }
        std::os::unix::fs::symlink(place("a.iolab.partial"), place("link.iolab.partial")).expect("a link");
        let held = File::open(place("a.iolab.partial")).expect("a file");
        held.lock().expect("a lock");
        let found = running(folder.path());
        assert_eq!(found, [RunningFile { name: "a.iolab".to_owned(), path: place("a.iolab.partial") }]);
        drop(held);
        assert!(running(folder.path()).is_empty());
        assert!(running(&place("nowhere")).is_empty());
    }
}
