//! Keeps the tracing thread and the traced one on one CPU.
//!
//! A traced thread and its tracer run in turns. On two CPUs, each turn wakes a CPU that has just
//! gone to sleep, which takes several times as long as the rest of a stop; above all in a virtual
//! machine: 96 us per call there, and 16 us on one CPU. On one CPU, one continues where the other
//! has stopped.
//!
//! ```text
//!  tracer   ── stays on the CPU it is on ───────────────────── is let go now and then, stays where it wakes
//!  program  ── anywhere ── one thread alone makes calls: comes to the tracer ── another one does: anywhere again
//! ```
//! The scheduler may have good reasons to run both somewhere else, so both are released from time
//! to time. A program whose threads make calls concurrently keeps all of its CPUs.
//!
//! The program does not see this: before a thread reads or sets its affinity, or makes a thread
//! that would inherit it, its own affinity is restored. Only `Cpus_allowed` of procfs shows the
//! change.

/// Stops between two releases: so rare that it costs nothing.
const STOPS_ON_ONE: u32 = 1000;
/// After this number of stops without one of another thread, a thread is kept with its tracer.
const STOPS_ALONE: u32 = 32;

/// Keeps the creating thread on one CPU until it is dropped.
#[derive(Debug)]
pub(crate) struct OneCpu {
    /// The thread's own affinity.
    allowed: Vec<usize>,
    stops: u32,
    /// The thread that stopped last, and how often it did in a row.
    last: i32,
    in_a_row: u32,
    kept: Option<Kept>,
}

/// The traced thread that is kept on the tracer's CPU.
#[derive(Debug)]
struct Kept {
    thread: i32,
    /// Its own affinity.
    allowed: Vec<usize>,
}

impl OneCpu {
    /// Stays on the current CPU.
    pub(crate) fn stay() -> OneCpu {
        let allowed = iolab_process::cpus_allowed();
        let one = OneCpu { allowed, stops: 0, last: 0, in_a_row: 0, kept: None };
        one.stay_here();
        one
    }

    /// A thread stopped, and was not yet resumed.
    pub(crate) fn stopped(&mut self, thread: i32) {
        if thread == self.last {
            self.in_a_row += 1;
        } else {
            self.part();
            self.last = thread;
        }
        self.stops += 1;
        if self.stops == STOPS_ON_ONE {
            self.let_go();
        } else if self.stops > STOPS_ON_ONE {
            self.stops = 0;
            self.stay_here();
        } else if self.in_a_row >= STOPS_ALONE && self.kept.is_none() {
            self.keep(thread);
        }
    }

    /// A thread made another one, which inherits its affinity.
    pub(crate) fn made(&mut self, parent: i32, made: i32) {
        if let Some(kept) = self.kept.as_ref().filter(|kept| kept.thread == parent) {
            iolab_process::set_cpus_of(made, &kept.allowed).ok();
        }
        self.part();
    }

    /// A thread has another number now.
    pub(crate) fn renumbered(&mut self, before: i32, now: i32) {
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.thread == before) {
            kept.thread = now;
        }
    }

    /// A thread is gone.
    pub(crate) fn ended(&mut self, thread: i32) {
        if self.kept.as_ref().is_some_and(|kept| kept.thread == thread) {
            self.kept = None;
        }
    }

    /// Restores the traced thread's affinity; it must be alone again for a while.
    pub(crate) fn part(&mut self) {
        self.in_a_row = 0;
        if let Some(kept) = self.kept.take() {
            iolab_process::set_cpus_of(kept.thread, &kept.allowed).ok();
        }
    }

    /// Moves a traced thread to the tracer's CPU, or the tracer to its CPU if it may not run there.
    /// A failure only makes tracing slower.
    fn keep(&mut self, thread: i32) {
        let allowed = iolab_process::cpus_allowed_to(thread);
        let Some(here) = iolab_process::cpu_now() else { return };
        let shared = |cpu: &&usize| self.allowed.contains(cpu);
        let Some(cpu) = allowed.iter().find(|cpu| **cpu == here).or_else(|| allowed.iter().find(shared)) else {
            return;
        };
        if *cpu != here {
            iolab_process::set_cpus(&[*cpu]).ok();
        }
        if allowed.len() > 1 {
            iolab_process::set_cpus_of(thread, &[*cpu]).ok();
        }
        self.kept = Some(Kept { thread, allowed });
    }

    fn stay_here(&self) {
        if let Some(cpu) = iolab_process::cpu_now().filter(|_| self.allowed.len() > 1) {
            iolab_process::set_cpus(&[cpu]).ok();
        }
    }

    fn let_go(&mut self) {
        let in_a_row = self.in_a_row;
        self.part();
        self.in_a_row = in_a_row;
        if self.allowed.len() > 1 {
            iolab_process::set_cpus(&self.allowed).ok();
        }
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process that waits for its input to end.
    fn waiting() -> Child {
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn it_stays_is_let_go_and_gives_back_what_was_allowed() {
        let allowed = iolab_process::cpus_allowed();
        let mut one = OneCpu::stay();
        assert_eq!(iolab_process::cpus_allowed().len(), 1);
        (0..STOPS_ON_ONE).for_each(|stop| one.stopped(-1 - (stop % 2) as i32));
        assert_eq!(iolab_process::cpus_allowed(), allowed);
        one.stopped(-1);
        assert_eq!(iolab_process::cpus_allowed().len(), 1);
        drop(one);
        assert_eq!(iolab_process::cpus_allowed(), allowed);
    }

    #[test]
    fn a_thread_that_is_alone_is_kept_and_freed_by_another_a_child_or_the_end() {
        let (mut program, mut other) = (waiting(), waiting());
        let (thread, child) = (program.id() as i32, other.id() as i32);
        let allowed = iolab_process::cpus_allowed();
        let of = iolab_process::cpus_allowed_to;
        let mut one = OneCpu::stay();
        let alone = |one: &mut OneCpu| (0..=STOPS_ALONE).for_each(|_| one.stopped(thread));

        alone(&mut one);
        assert_eq!(of(thread), iolab_process::cpus_allowed(), "on the CPU of the tracer");
        one.stopped(child);
        assert_eq!(of(thread), allowed, "another thread made a call");

        alone(&mut one);
        iolab_process::set_cpus_of(child, &of(thread)).unwrap();
        one.made(thread, child);
        assert_eq!((of(thread), of(child)), (allowed.clone(), allowed.clone()), "it made a process");

        alone(&mut one);
        one.part();
        assert_eq!(of(thread), allowed, "it asks where it may run");

        alone(&mut one);
        drop(one);
        assert_eq!(of(thread), allowed, "the capture ended");
        for process in [&mut program, &mut other] {
            drop(process.stdin.take());
            process.wait().unwrap();
        }
    }

    #[test]
    fn the_tracer_goes_to_a_thread_that_may_not_come_to_it() {
        let allowed = iolab_process::cpus_allowed();
        if allowed.len() < 2 {
            // With one CPU, there is no other place.
            return;
        }
        let mut program = waiting();
        let thread = program.id() as i32;
        let mut one = OneCpu::stay();
        let here = iolab_process::cpus_allowed()[0];
        let there = *allowed.iter().find(|cpu| **cpu != here).unwrap();
        iolab_process::set_cpus_of(thread, &[there]).unwrap();
        (0..=STOPS_ALONE).for_each(|_| one.stopped(thread));
        assert_eq!(iolab_process::cpus_allowed(), [there]);
        drop(one);
        assert_eq!(iolab_process::cpus_allowed_to(thread), [there]);
        drop(program.stdin.take());
        program.wait().unwrap();
    }
}
