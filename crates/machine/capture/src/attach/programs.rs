//! Processor time by program during a watch: of the program, its clients, the kernel, this tracer,
//! and others.
//!
//! The time of a process that ends is that of the last sample. Its time since then, and the time of
//! processes that began and ended between two samples, is not attributed.

use std::collections::{BTreeSet, HashMap};

use iolab_observe::{ProcessTime, RunAndWait, System, descendants};
use iolab_order::{Arrange, Gather};
use iolab_trace::{ProcessorShares, ProgramBeside};

use super::clients::Clients;

/// Largest number of other programs that are named.
const MOST_BESIDE: usize = 5;

/// A process by its number and its beginning.
type Identity = (i32, u64);

/// The processes of the machine, from the first look on.
pub(super) struct Programs {
    heads: Vec<i32>,
    children: bool,
    own: i32,
    clients: Clients,
    /// Those that are traced or clients, once they were found to be.
    ours: HashMap<Identity, Ours>,
    /// The time used by each at the last sample; `None` before the first one.
    before: Option<HashMap<Identity, u64>>,
    shares: ProcessorShares,
    beside_ns: HashMap<String, u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Program,
    Client,
}

struct Ours {
    kind: Kind,
    /// At the last look.
    times: Option<RunAndWait>,
}

impl Programs {
    pub(super) fn of(processes: &[i32], children: bool) -> Programs {
        Programs {
            heads: processes.to_vec(),
            children,
            own: std::process::id() as i32,
            clients: Clients::default(),
            ours: HashMap::new(),
            before: None,
            shares: ProcessorShares::default(),
            beside_ns: HashMap::new(),
        }
    }

    /// What was used since the first look.
    pub(super) fn look(&mut self, system: &System) -> ProcessorShares {
        let all = system.processes();
        self.find_ours(system, &all);
        let before = self.before.take();
        let mut now = HashMap::with_capacity(all.len());
        for one in &all {
            let identity = (one.id, one.started);
            now.insert(identity, one.used_ns);
            // At the first look, everything before it; later on, a new process began since then.
            let Some(before) = &before else { continue };
            let used_ns = one.used_ns.saturating_sub(before.get(&identity).copied().unwrap_or(0));
            let sum = match self.ours.get(&identity).map(|ours| ours.kind) {
                _ if one.id == self.own => &mut self.shares.tracer_ns,
                Some(Kind::Program) => &mut self.shares.program_ns,
                Some(Kind::Client) => &mut self.shares.clients_ns,
                None if one.is_kernel => &mut self.shares.kernel_ns,
                None if used_ns == 0 => continue,
                None => self.beside_ns.entry(one.name.clone()).or_default(),
            };
            *sum += used_ns;
        }
        self.count_waiting(system, &now, before.is_some());
        self.before = Some(now);
        self.shares
    }

    /// Finds traced processes and clients; a process once found stays one.
    fn find_ours(&mut self, system: &System, all: &[ProcessTime]) {
        let known = all.iter().filter(|one| self.kind_of(one) == Some(Kind::Program)).map(|one| one.id);
        let mut program: BTreeSet<i32> = self.heads.iter().copied().chain(known).gather();
        if self.children {
            program = descendants(all, &program.into_iter().collect::<Vec<_>>());
        }
        let clients = self.clients.find(system, &program, all);
        for one in all.iter().filter(|one| one.id != self.own && !one.is_kernel) {
            let kind = match () {
                () if program.contains(&one.id) => Kind::Program,
                () if clients.contains(&one.id) => Kind::Client,
                () => continue,
            };
            self.ours.entry((one.id, one.started)).or_insert(Ours { kind, times: None }).kind = kind;
        }
    }

    fn kind_of(&self, one: &ProcessTime) -> Option<Kind> {
        self.ours.get(&(one.id, one.started)).map(|ours| ours.kind)
    }

    /// How long traced processes and clients ran, and waited for a processor. For a thread that
    /// ends, the time since the last sample is lost.
    fn count_waiting(&mut self, system: &System, now: &HashMap<Identity, u64>, is_later: bool) {
        self.ours.retain(|identity, _| now.contains_key(identity));
        for (identity, ours) in &mut self.ours {
            let Some(times) = system.run_and_wait(identity.0) else { continue };
            let before = ours.times.replace(times).unwrap_or(if is_later { RunAndWait::default() } else { times });
            self.shares.ran_ns += times.ran_ns.saturating_sub(before.ran_ns);
            self.shares.waited_ns += times.waited_ns.saturating_sub(before.waited_ns);
        }
    }

    /// The other programs that used most, in descending order.
    pub(super) fn beside(self) -> Vec<ProgramBeside> {
        let mut all: Vec<ProgramBeside> =
            self.beside_ns.into_iter().map(|(name, used_ns)| ProgramBeside { name, used_ns }).collect();
        all.arrange_by(|a, b| (b.used_ns, &a.name).cmp(&(a.used_ns, &b.name)));
        all.truncate(MOST_BESIDE);
        all
    }
}

#[cfg(test)]
mod tests {
    use iolab_observe::Fixture;

    use super::*;

    const TICK_NS: u64 = 10_000_000;

    /// Number, name, parent, flags, ticks used.
    type Line<'l> = (i32, &'l str, i32, u64, u64);

    fn system(lines: &[Line<'_>]) -> (Fixture, System) {
        let mut fixture = Fixture::new();
        for (id, name, parent, flags, ticks) in lines {
            let text = format!("{id} ({name}) S {parent} 1 1 0 -1 {flags} 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5{id} 1 1");
            fixture.file(&format!("proc/{id}/stat"), &text);
            let times = format!("{} {} 1\n", ticks * TICK_NS, ticks * TICK_NS / 4);
            fixture.file(&format!("proc/{id}/task/{id}/schedstat"), &times);
        }
        let system = fixture.system();
        (fixture, system)
    }

    #[test]
    fn work_is_of_the_program_its_children_the_kernel_and_others() {
        const KERNEL: u64 = 0x0020_0000;
        let mut programs = Programs::of(&[100], true);
        let first =
            [(100, "server", 1, 0, 50), (101, "part", 100, 0, 10), (2, "kworker", 0, KERNEL, 7), (9, "cc", 1, 0, 3)];
        let (_fixture, one) = system(&first);
        assert_eq!(programs.look(&one), ProcessorShares::default(), "what was before does not count");
        // A child has come, one has gone, and a program beside has worked.
        let second = [
            (100, "server", 1, 0, 60),
            (102, "part", 100, 0, 5),
            (2, "kworker", 0, KERNEL, 8),
            (9, "cc", 1, 0, 23),
            (10, "ld", 1, 0, 2),
        ];
        let (_fixture, other) = system(&second);
        let shares = programs.look(&other);
        let expected = ProcessorShares {
            program_ns: 15 * TICK_NS,
            kernel_ns: TICK_NS,
            ran_ns: 15 * TICK_NS,
            waited_ns: 15 * TICK_NS / 4,
            ..ProcessorShares::default()
        };
        assert_eq!(shares, expected);
        assert_eq!(shares.ran_share(), Some(0.8));
        assert_eq!(shares.others_ns(50 * TICK_NS), 34 * TICK_NS);
        let beside: Vec<(String, u64)> =
            programs.beside().into_iter().map(|one| (one.name, one.used_ns / TICK_NS)).collect();
        assert_eq!(beside, [("cc".to_owned(), 20), ("ld".to_owned(), 2)]);
    }

    #[test]
    fn without_children_only_the_processes_themselves_are_the_program() {
        let mut programs = Programs::of(&[100], false);
        let (_fixture, one) = system(&[(100, "server", 1, 0, 50), (101, "part", 100, 0, 10)]);
        programs.look(&one);
        let (_fixture, other) = system(&[(100, "server", 1, 0, 52), (101, "part", 100, 0, 19)]);
        assert_eq!(programs.look(&other).program_ns, 2 * TICK_NS);
    }
}
