//! The watched processes as procfs shows them: whether they exist, and the kernel's counters.

use super::family::family;
use crate::kernel_counts::Counts;

/// Time between two reads of procfs, which take longer than reading the rings, ns.
const ASK_EVERY_NS: u64 = 50_000_000;

/// The processes that were there at the beginning.
pub(super) struct Watched {
    /// Each with its counts then, and when it was seen last.
    processes: Vec<(i32, Counts, Counts)>,
    ask_at_ns: u64,
    /// The ancestor of all others, if its children are watched too.
    head: Option<i32>,
    /// The counts of the head and all its descendants, at the last read.
    family: Option<Counts>,
}

impl Watched {
    /// `head` is the process that all others come from, where children are watched, too.
    pub(super) fn new(processes: &[i32], head: Option<i32>) -> Watched {
        let with_counts = |process: &i32| {
            let counts = Counts::of_process(*process)?;
            Some((*process, counts, counts))
        };
        Watched { processes: processes.iter().filter_map(with_counts).collect(), ask_at_ns: 0, head, family: None }
    }

    /// Reads procfs again if it is time, or if `is_last` is set. Returns whether all have ended.
    pub(super) fn ask(&mut self, now_ns: u64, is_last: bool) -> bool {
        if now_ns < self.ask_at_ns && !is_last {
            return false;
        }
        self.ask_at_ns = now_ns.saturating_add(ASK_EVERY_NS);
        for (process, _, now) in &mut self.processes {
            *now = Counts::of_process(*process).unwrap_or(*now);
        }
        if is_last {
            self.family = self.head.and_then(count_family);
        }
        self.have_ended()
    }

    /// Whether none of them runs any more.
    pub(super) fn have_ended(&self) -> bool {
        self.processes.iter().all(|(process, ..)| has_ended(*process))
    }

    /// The kernel's counts from the beginning to the last read. `None` if children are watched and
    /// their ancestor is gone, because their counts are gone with it.
    pub(super) fn counted(&self) -> Option<Counts> {
        let mut counted = Counts::default();
        if self.head.is_none() {
            self.processes.iter().for_each(|(_, before, now)| counted.add(now.since(*before)));
            return Some(counted);
        }
        self.processes.iter().for_each(|(_, before, _)| counted.add(*before));
        self.family.map(|now| now.since(counted))
    }
}

/// The counts of a process and all its descendants. An ended process is included, because the
/// kernel adds its counts to its parent, which has waited for it.
fn count_family(head: i32) -> Option<Counts> {
    let mut counted = Counts::of_process(head)?;
    let others = family(head).into_iter().filter(|process| *process != head);
    others.filter_map(Counts::of_process).for_each(|counts| counted.add(counts));
    Some(counted)
}

/// Whether nothing of a process runs any more.
fn has_ended(process: i32) -> bool {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_asked_when_it_is_time_and_has_ended_when_it_is_gone() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let mut watched = Watched::new(&[child.id() as i32], None);
        assert!(!watched.ask(1, false));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!watched.ask(2, false), "it is not time yet");
        assert!(watched.ask(2, true) && watched.ask(2 + ASK_EVERY_NS, false));
    }

    #[test]
    fn children_that_came_and_went_are_counted_and_a_head_that_is_gone_is_not() {
        use std::io::Write;
        let script = "read _; head -c 100000 /dev/zero >/dev/null; echo; sh -c 'read _; echo'; read _";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let head = shell.id() as i32;
        let mut watched = Watched::new(&[head], Some(head));
        shell.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        // head has ended, and the shell waited for it.
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        assert!(!watched.ask(1, true));
        let counted = watched.counted().unwrap();
        assert!(counted.read >= 100_000 && counted.written >= 100_000, "{counted:?}");
        shell.kill().unwrap();
        shell.wait().unwrap();
        watched.ask(2, true);
        assert!(watched.counted().is_none());
    }
}
