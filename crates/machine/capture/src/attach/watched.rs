//! The watched processes as procfs shows them: whether they exist, and the kernel's counters.

use crate::kernel_counts::Counts;

/// Between two looks, which take longer than a look at the rings, ns.
const ASK_EVERY_NS: u64 = 50_000_000;

/// The processes that were there at the beginning.
pub(super) struct Watched {
    /// Each with its counts then, and when it was seen last.
    processes: Vec<(i32, Counts, Counts)>,
    ask_at_ns: u64,
}

impl Watched {
    pub(super) fn new(processes: &[i32]) -> Watched {
        let with_counts = |process: &i32| {
            let counts = Counts::of_process(*process)?;
            Some((*process, counts, counts))
        };
        Watched { processes: processes.iter().filter_map(with_counts).collect(), ask_at_ns: 0 }
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
        self.have_ended()
    }

    /// Whether none of them runs any more.
    pub(super) fn have_ended(&self) -> bool {
        self.processes.iter().all(|(process, ..)| has_ended(*process))
    }

    /// What the kernel counted from the beginning to the last look.
    pub(super) fn counted(&self) -> Counts {
        let mut counted = Counts::default();
        self.processes.iter().for_each(|(_, before, now)| counted.add(now.since(*before)));
        counted
    }
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
        let mut watched = Watched::new(&[child.id() as i32]);
        assert!(!watched.ask(1, false));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!watched.ask(2, false), "it is not time yet");
        assert!(watched.ask(2, true) && watched.ask(2 + ASK_EVERY_NS, false));
    }
}
