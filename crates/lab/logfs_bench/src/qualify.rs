//! Whether a file system is asynchronous: does submitting a read or a write block the thread?
//!
//! An operation that is asynchronous for a program may block in the kernel. io_submit(2) cannot
//! defer an operation, so a file system that must allocate, or waits for a lock, makes the caller
//! wait. io_uring passes such an operation to a worker thread instead. Both can be observed from
//! outside: by the voluntary context switches of the thread between submission and its return
//! (proc_pid_status(5)), and by those of the kernel's workers (`iou-wrk`). Seastar's `fsqual` tests
//! some of these cases in the same way.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use iolab_engine::{
    Completions, Engine, Lane, LaneError, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait,
};
use iolab_engine_libaio::Libaio;
use iolab_engine_uring::Uring;
use iolab_memory::Backing;
use iolab_options::Settings;
use rustix::fs::{FallocateFlags, OFlags};

use crate::BenchError;

/// The repeated operation, and what is prepared before each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Overwrite,
    /// Behind the end.
    Append,
    /// Behind the end, with a gap of a block.
    Extend,
    /// Into a hole, within the size.
    Hole,
    /// Into a hole, after the size was just set.
    Truncate,
    /// Into what fallocate(2) set aside.
    Preallocated,
}

/// Name, operation, operations at once.
const CASES: [(&str, Kind, usize); 9] = [
    ("read", Kind::Read, 1),
    ("overwrite", Kind::Overwrite, 1),
    ("append", Kind::Append, 1),
    ("append, 4 at once", Kind::Append, 4),
    ("extend over a gap", Kind::Extend, 1),
    ("fill a hole", Kind::Hole, 1),
    ("fill a hole, 4 at once", Kind::Hole, 4),
    ("truncate up, then write", Kind::Truncate, 1),
    ("fill preallocated space", Kind::Preallocated, 1),
];

/// What to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QualifyOptions {
    /// Operations of each case.
    pub operations: u32,
    /// Bytes of each.
    pub unit_bytes: u32,
}

/// How operations were submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmissionWay {
    /// The thread continued at once.
    Asynchronous,
    /// The kernel passed them to worker threads; the thread continued at once.
    ByWorkers,
    /// The thread waited in the kernel.
    Blocks,
}

/// The result of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct QualifyCase {
    /// What was done.
    pub name: &'static str,
    /// The engine by which it was submitted.
    pub interface: &'static str,
    /// Its counts, or why there are none.
    pub outcome: Result<QualifyCounts, String>,
}

/// Counts of a case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QualifyCounts {
    /// Submissions, each of one or several operations.
    pub submissions: u64,
    /// Those in which the thread gave up the processor.
    pub blocked: u64,
    /// How often worker threads of the kernel went to sleep again.
    pub worker_switches: u64,
}

impl QualifyCounts {
    /// Blocks if more than one in twenty did; by workers if they were used for every second one.
    pub fn way(&self) -> SubmissionWay {
        match (self.blocked * 20 > self.submissions, self.worker_switches * 2 >= self.submissions) {
            (true, _) => SubmissionWay::Blocks,
            (false, true) => SubmissionWay::ByWorkers,
            (false, false) => SubmissionWay::Asynchronous,
        }
    }
}

/// All cases.
#[derive(Debug, Clone, PartialEq)]
pub struct QualifyResult {
    /// Whether files were opened with `O_DIRECT`; without it, the page cache is involved.
    pub direct: bool,
    /// By case, then by interface.
    pub cases: Vec<QualifyCase>,
}

/// Tries every case with a file in a folder, which is removed again.
///
/// # Errors
/// [`BenchError::Folder`] when no file can be made there.
pub fn qualify(folder: &Path, options: &QualifyOptions) -> Result<QualifyResult, BenchError> {
    let path = folder.join(format!("iolab-qualify.{}", std::process::id()));
    let direct = match open(&path, true) {
        Ok(_) => true,
        Err(error) if error.raw_os_error() == Some(libc_einval()) => false,
        Err(source) => return Err(BenchError::Folder { path, doing: "creating a file", source }),
    };
    let _scratch = Scratch(path.clone());
    let mut cases = Vec::new();
    for (name, kind, depth) in CASES {
        let trial = Trial { path: &path, kind, depth, direct, options };
        cases.push(QualifyCase { name, interface: Libaio::DESCRIPTION.name, outcome: trial.run::<Libaio>() });
        cases.push(QualifyCase { name, interface: Uring::DESCRIPTION.name, outcome: trial.run::<Uring>() });
    }
    Ok(QualifyResult { direct, cases })
}

fn libc_einval() -> i32 {
    rustix::io::Errno::INVAL.raw_os_error()
}

/// An empty file.
fn open(path: &Path, direct: bool) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | if direct { OFlags::DIRECT } else { OFlags::empty() };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).custom_flags(flags.bits() as i32).open(path)
}

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that cannot be removed is no reason to lose a result.
        let _left = std::fs::remove_file(&self.0);
    }
}

struct Trial<'a> {
    path: &'a Path,
    kind: Kind,
    depth: usize,
    direct: bool,
    options: &'a QualifyOptions,
}

impl Trial<'_> {
    fn run<E: Engine>(&self) -> Result<QualifyCounts, String> {
        let file = self.prepare().map_err(|error| error.to_string())?;
        let unit = self.options.unit_bytes;
        let mut pool = SlotPool::new(self.depth, unit as usize, 0, &Backing::Anonymous)
            .map_err(|error| error.source.to_string())?;
        (0..self.depth).for_each(|slot| pool.slot_mut(slot).fill(0x5a));
        let size_bytes = u64::from(unit) * u64::from(self.options.operations);
        let target =
            TargetFile { path: self.path.to_owned(), fd: file.as_raw_fd(), size_bytes, is_block_device: false };
        let request = LaneRequest {
            files: std::slice::from_ref(&target),
            depth: self.depth,
            buffers: pool.view(),
            options: &Settings::default(),
            direct: self.direct,
            seed: 0,
            worker: 0,
        };
        let mut lane = E::open(&request).map_err(|error| error.message)?;
        let mut counts = QualifyCounts::default();
        let workers = worker_switches();
        let mut done = Completions::with_room(self.depth);
        let mut number = 0;
        while number < u64::from(self.options.operations) {
            self.before(&file, number).map_err(|error| error.to_string())?;
            let before = own_switches();
            for slot in 0..self.depth {
                let op = self.operation(number + slot as u64, slot);
                if let Submission::Refused(errno) = lane.submit(&op) {
                    return Err(io::Error::from_raw_os_error(errno).to_string());
                }
            }
            lane.flush().map_err(failed)?;
            counts.blocked += u64::from(own_switches() != before);
            counts.submissions += 1;
            number += self.depth as u64;
            done.clear();
            let wait = Wait { at_least: self.depth, timeout_ns: u64::MAX };
            lane.reap(wait, &mut done).map_err(failed)?;
            if let Some(completion) = done.as_slice().iter().find(|completion| completion.result < 0) {
                return Err(io::Error::from_raw_os_error(-completion.result).to_string());
            }
        }
        counts.worker_switches = worker_switches().saturating_sub(workers);
        Ok(counts)
    }

    /// A file as the case wants it, on the device.
    fn prepare(&self) -> io::Result<File> {
        let file = open(self.path, self.direct)?;
        let size = u64::from(self.options.unit_bytes) * u64::from(self.options.operations);
        match self.kind {
            Kind::Read | Kind::Overwrite => {
                let plain = OpenOptions::new().write(true).open(self.path)?;
                let piece = vec![0xa5; self.options.unit_bytes as usize];
                for _ in 0..self.options.operations {
                    io::Write::write_all(&mut &plain, &piece)?;
                }
                plain.sync_all()?;
            }
            Kind::Hole => file.set_len(size + u64::from(self.options.unit_bytes) * self.depth as u64)?,
            Kind::Preallocated => rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size)?,
            Kind::Append | Kind::Extend | Kind::Truncate => {}
        }
        file.sync_all()?;
        Ok(file)
    }

    fn before(&self, file: &File, number: u64) -> io::Result<()> {
        match self.kind {
            Kind::Truncate => file.set_len((number + 1) * u64::from(self.options.unit_bytes)),
            _ => Ok(()),
        }
    }

    fn operation(&self, number: u64, slot: usize) -> Op {
        let place = if self.kind == Kind::Extend { 2 * number + 1 } else { number };
        Op {
            offset: place * u64::from(self.options.unit_bytes),
            length: self.options.unit_bytes,
            buffer_offset: 0,
            file: 0,
            slot: slot as u16,
            kind: if self.kind == Kind::Read { OpKind::Read } else { OpKind::Write },
            priority: 0,
        }
    }
}

fn failed(error: LaneError) -> String {
    format!("{}: {}", error.call, io::Error::from_raw_os_error(error.errno))
}

/// How often this thread gave up the processor.
fn own_switches() -> u64 {
    std::fs::read_to_string("/proc/thread-self/status").map_or(0, |status| voluntary(&status))
}

/// The context switches of the kernel's workers for this process.
fn worker_switches() -> u64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let status = |task: io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.ok()?.path().join("status")).ok();
    tasks
        .filter_map(status)
        .filter(|status| status.starts_with("Name:\tiou-wrk"))
        .map(|status| voluntary(&status) + 1)
        .sum()
}

fn voluntary(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_tried_by_both_interfaces_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let found = qualify(folder.path(), &QualifyOptions { operations: 8, unit_bytes: 4096 }).unwrap();
        assert_eq!(found.cases.len(), 2 * CASES.len());
        for case in &found.cases {
            // Sandboxes may forbid an interface, and not every file system preallocates.
            if let Ok(counts) = &case.outcome {
                let depth = if case.name.ends_with("4 at once") { 4 } else { 1 };
                assert_eq!(counts.submissions, 8 / depth, "{case:?}");
                assert!(counts.blocked <= counts.submissions, "{case:?}");
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let missing = qualify(&folder.path().join("missing"), &QualifyOptions { operations: 1, unit_bytes: 4096 });
        assert!(matches!(missing, Err(BenchError::Folder { .. })));
    }

    #[test]
    fn ways_follow_from_counts() {
        let counts = |blocked, worker_switches| QualifyCounts { submissions: 100, blocked, worker_switches };
        assert_eq!(counts(5, 0).way(), SubmissionWay::Asynchronous);
        assert_eq!(counts(6, 100).way(), SubmissionWay::Blocks);
        assert_eq!(counts(0, 50).way(), SubmissionWay::ByWorkers);
        assert_eq!(voluntary("Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n"), 12);
    }
}
