//! Reads and writes of a program and its descendants, as counted by `/proc/PID/io` and
//! `/proc/PID/stat` (proc(5)).
//!
//! The kernel adds a process's counts to its parent when the parent waits for it. So the sum over
//! the existing processes includes those that were waited for, and no process is lost between two
//! samples. Parents are read before their children: a child that ends in between cannot be counted
//! twice. Its end is noticed, because it cannot be read; then the sample is repeated.
//!
//! Not counted: the activity of a process after its last sample, if its parent never waits for it
//! because it ignores the end of its children.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// How often a sample is repeated because a process ended during it.
const ATTEMPTS: u32 = 20;

/// What is counted, in the order of [`Counts::each`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// `syscr`: calls that read.
    pub(crate) reads: u64,
    /// `syscw`: calls that write.
    pub(crate) writes: u64,
    /// `rchar`: bytes that calls read, from wherever.
    pub(crate) read_bytes: u64,
    /// `wchar`: bytes that calls wrote, to wherever.
    pub(crate) written_bytes: u64,
    /// `read_bytes`: bytes that storage had to deliver.
    pub(crate) from_storage: u64,
    /// `write_bytes`: bytes that storage has to take.
    pub(crate) to_storage: u64,
    /// `cancelled_write_bytes`: bytes of those that were removed before storage took them.
    pub(crate) cancelled: u64,
    /// User time, ticks.
    pub(crate) user_ticks: u64,
    /// System time, ticks.
    pub(crate) system_ticks: u64,
}

impl Counts {
    fn each(&self) -> [u64; 9] {
        let Counts { reads, writes, read_bytes, written_bytes, .. } = *self;
        let Counts { from_storage, to_storage, cancelled, user_ticks, system_ticks, .. } = *self;
        [reads, writes, read_bytes, written_bytes, from_storage, to_storage, cancelled, user_ticks, system_ticks]
    }

    fn of(each: [u64; 9]) -> Counts {
        let [reads, writes, read_bytes, written_bytes, from_storage, to_storage, cancelled, user_ticks, system_ticks] =
            each;
        Counts {
            reads,
            writes,
            read_bytes,
            written_bytes,
            from_storage,
            to_storage,
            cancelled,
            user_ticks,
            system_ticks,
        }
    }

    fn with(&self, other: &Counts, join: fn(u64, u64) -> u64) -> Counts {
        let (own, others) = (self.each(), other.each());
        Counts::of(std::array::from_fn(|place| join(own[place], others[place])))
    }

    pub(crate) fn plus(&self, other: &Counts) -> Counts {
        self.with(other, u64::saturating_add)
    }

    /// The difference to an earlier sample; nothing if a sum decreased.
    pub(crate) fn since(&self, before: &Counts) -> Counts {
        self.with(before, u64::saturating_sub)
    }
}

/// A process as it was seen last.
#[derive(Debug, Clone, Copy)]
struct Member {
    parent: i32,
    /// When it began, ticks since boot: its number may be reused.
    begun: u64,
    counts: Counts,
    is_zombie: bool,
}

/// A process and all that come from it.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    proc: PathBuf,
    root: i32,
    /// Orphans of the tree become children of this process.
    adopts: Option<i32>,
    members: BTreeMap<i32, Member>,
    /// Counts of processes that ended without being waited for by the tree.
    ended: Counts,
    last_sum: Counts,
    total: Counts,
    /// How many processes were seen.
    pub(crate) seen: u64,
    /// How many of them could not be read.
    pub(crate) unreadable: u64,
}

impl ProcessTree {
    /// The tree of a process below `proc`, usually `/proc`; `adopts` is the process that orphans go
    /// to, if they are to be counted.
    pub(crate) fn new(proc: &Path, root: i32, adopts: Option<i32>) -> ProcessTree {
        ProcessTree {
            proc: proc.to_owned(),
            root,
            adopts,
            members: BTreeMap::new(),
            ended: Counts::default(),
            last_sum: Counts::default(),
            total: Counts::default(),
            seen: 0,
            unreadable: 0,
        }
    }

    /// Everything from here on counts, nothing before it.
    pub(crate) fn begin(&mut self) {
        self.look();
        self.total = Counts::default();
    }

    /// What was counted by the last look.
    pub(crate) fn total(&self) -> Counts {
        self.total
    }

    /// Takes a new sample. If the tree changes faster than it can be read, the last figures stay
    /// until the next sample.
    pub(crate) fn look(&mut self) {
        let Some(members) = (0..ATTEMPTS).find_map(|_| self.members_now()) else { return };
        for (process, gone) in &self.members {
            let still_there = members.get(process).is_some_and(|member| member.begun == gone.begun);
            // The parent's sum includes a process that a parent in the tree waited for.
            if !still_there && !self.members.contains_key(&gone.parent) && *process != self.root {
                self.ended = self.ended.plus(&gone.counts);
            }
        }
        self.seen += members.keys().filter(|process| !self.members.contains_key(process)).count() as u64;
        self.members = members;
        let sum = self.members.values().fold(self.ended, |sum, member| sum.plus(&member.counts));
        self.total = self.total.plus(&sum.since(&self.last_sum));
        self.last_sum = sum;
    }

    /// Orphans that have ended and wait for the process that adopted them. Their counts are kept
    /// from now on.
    pub(crate) fn take_ended_orphans(&mut self) -> Vec<i32> {
        let Some(adopter) = self.adopts else { return Vec::new() };
        let is_ended = |(process, member): (&i32, &Member)| {
            (member.is_zombie && member.parent == adopter && *process != self.root).then_some(*process)
        };
        let ended: Vec<i32> = self.members.iter().filter_map(is_ended).collect();
        for process in &ended {
            if let Some(member) = self.members.remove(process) {
                self.ended = self.ended.plus(&member.counts);
            }
        }
        ended
    }

    /// All members with their counts; `None` if one of them ended meanwhile.
    fn members_now(&mut self) -> Option<BTreeMap<i32, Member>> {
        let (mut children, mut listed) = (BTreeMap::<i32, Vec<i32>>::new(), BTreeSet::new());
        for entry in fs::read_dir(&self.proc).ok()?.flatten() {
            let number = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
            let Some(process) = number else { continue };
            if let Some(stat) = self.stat(process) {
                children.entry(stat.parent).or_default().push(process);
                listed.insert(process);
            }
        }
        let mut waiting = vec![self.root];
        waiting.extend(self.adopts.and_then(|adopter| children.get(&adopter)).into_iter().flatten());
        // Those that left the tree with the end of their parents.
        waiting.extend(self.members.keys());
        let mut members = BTreeMap::new();
        let mut next = 0;
        while let Some(&process) = waiting.get(next) {
            next += 1;
            if members.contains_key(&process) {
                continue;
            }
            let Some(member) = self.member(process) else {
                if listed.contains(&process) {
                    return None;
                }
                continue;
            };
            if self.members.get(&process).is_some_and(|known| known.begun != member.begun) {
                // Another process has its number; the next sample finds a child of the tree.
                continue;
            }
            members.insert(process, member);
            waiting.extend(children.get(&process).into_iter().flatten());
        }
        Some(members)
    }

    fn stat(&self, process: i32) -> Option<Member> {
        parse_stat(&fs::read_to_string(self.proc.join(format!("{process}/stat"))).ok()?)
    }

    fn member(&mut self, process: i32) -> Option<Member> {
        let mut member = self.stat(process)?;
        match fs::read_to_string(self.proc.join(format!("{process}/io"))) {
            Ok(text) => parse_io(&text, &mut member.counts),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                self.unreadable += u64::from(!self.members.contains_key(&process));
            }
            Err(_) => return None,
        }
        Some(member)
    }
}

/// The name of a process, its parent and its times, from `/proc/PID/stat`. The name may hold spaces
/// and brackets.
fn parse_stat(text: &str) -> Option<Member> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |place: usize| fields.get(place).and_then(|field| field.parse::<u64>().ok());
    // The fields behind the name begin with the state, the third of proc(5).
    let counts =
        Counts { user_ticks: number(11)? + number(13)?, system_ticks: number(12)? + number(14)?, ..Counts::default() };
    Some(Member { parent: fields.get(1)?.parse().ok()?, begun: number(19)?, counts, is_zombie: fields[0] == "Z" })
}

fn parse_io(text: &str, counts: &mut Counts) {
    for (name, value) in text.lines().filter_map(|line| line.split_once(": ")) {
        let value = value.trim().parse().unwrap_or(0);
        match name {
            "rchar" => counts.read_bytes = value,
            "wchar" => counts.written_bytes = value,
            "syscr" => counts.reads = value,
            "syscw" => counts.writes = value,
            "read_bytes" => counts.from_storage = value,
            "write_bytes" => counts.to_storage = value,
            "cancelled_write_bytes" => counts.cancelled = value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture(tempfile::TempDir);

    impl Fixture {
        /// Puts a process there: its parent, the state, and what it wrote.
        fn process(&self, process: i32, parent: i32, state: &str, wrote: u64) {
            let folder = self.0.path().join(process.to_string());
            fs::create_dir_all(&folder).unwrap();
            let zeros = "0 ".repeat(9);
            let stat = format!("{process} (a b) c) {state} {parent} {zeros}7 3 1 1 0 0 0 0 {process}00 0");
            fs::write(folder.join("stat"), stat).unwrap();
            let io = format!("rchar: 1\nwchar: {wrote}\nsyscr: 0\nsyscw: 2\nread_bytes: 0\nwrite_bytes: 4096\n");
            fs::write(folder.join("io"), io).unwrap();
        }

        fn ends(&self, process: i32) {
            fs::remove_dir_all(self.0.path().join(process.to_string())).unwrap();
        }
    }

    #[test]
    fn a_tree_counts_all_that_come_from_its_root_once() {
        let proc = Fixture(tempfile::tempdir().unwrap());
        proc.process(1, 0, "S", 1_000_000);
        proc.process(10, 1, "S", 100);
        proc.process(11, 10, "S", 20);
        proc.process(12, 11, "S", 3);
        proc.process(20, 1, "S", 5_000);
        let mut tree = ProcessTree::new(proc.0.path(), 10, Some(1));
        // Another child of the adopter is of the tree as well; the adopter is not.
        tree.look();
        assert_eq!((tree.total().written_bytes, tree.seen), (5_123, 4));
        assert_eq!((tree.total().user_ticks, tree.total().system_ticks), (4 * 8, 4 * 4));
        // The parent waited for 11, whose child 12 becomes an orphan.
        proc.ends(11);
        proc.process(10, 1, "S", 120);
        proc.process(12, 1, "S", 4);
        tree.look();
        assert_eq!(tree.total().written_bytes, 5_124);
        // The orphan ends.
        proc.process(12, 1, "Z", 9);
        tree.look();
        assert_eq!(tree.take_ended_orphans(), [12]);
        proc.ends(12);
        proc.process(10, 1, "S", 121);
        tree.look();
        assert_eq!(tree.total().written_bytes, 5_130);
    }

    #[test]
    fn what_a_process_did_before_is_not_counted_and_a_new_one_with_its_number_is_another() {
        let proc = Fixture(tempfile::tempdir().unwrap());
        proc.process(10, 1, "S", 100);
        proc.process(11, 10, "S", 50);
        let mut tree = ProcessTree::new(proc.0.path(), 10, None);
        tree.begin();
        proc.process(10, 1, "S", 107);
        tree.look();
        assert_eq!(tree.total().written_bytes, 7);
        // It leaves the tree, goes on and ends; nobody of the tree waits for it.
        proc.process(11, 1, "S", 60);
        tree.look();
        proc.ends(11);
        tree.look();
        assert_eq!(tree.total().written_bytes, 17);
    }
}
