//! The loop that handles every stop of every traced thread, until none is left.
//!
//! A request to end goes to the program first, and ends the capture when it is repeated.

use iolab_clock::Clock;
use iolab_process::INTERRUPTS;
use iolab_trace::Unseen;

use crate::calls::Shape;
use crate::capture::Recorder;
use crate::one_cpu::OneCpu;
use crate::processes::Processes;
use crate::tracee::{self, Child, Resume, Stop, Waited};

/// How long to wait for a sign that a signal reached the program, before it is forwarded, ns.
const SIGNAL_REACHES_NS: u64 = 200_000_000;
const BETWEEN_LOOKS_NS: u64 = 1_000_000;
/// After this number of requests to end, the capture ends regardless of the program.
const PATIENCE: u32 = 3;

/// What the loop found.
pub(crate) struct LoopEnd {
    pub(crate) status: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) gave_up: bool,
    /// Whether the child ran a program.
    pub(crate) ran: bool,
    pub(crate) elapsed_ns: u64,
    pub(crate) counts: crate::kernel_counts::Counts,
    pub(crate) unseen: Vec<Unseen>,
}

/// The loop over stops.
pub(crate) struct StopLoop<'r, 'w> {
    processes: Processes<'r, 'w>,
    /// Where tracer and program run.
    place: OneCpu,
    root: i32,
    ended: (Option<i32>, Option<i32>),
    /// A signal that would end the program has reached it.
    was_told: bool,
    interrupts: u32,
    /// When to forward a request to end.
    pass_on_ns: Option<u64>,
}

impl<'r, 'w> StopLoop<'r, 'w> {
    /// Starts a child, and follows it and all its descendants to the end.
    pub(crate) fn run(child: &Child, clock: &'r Clock, recorder: &'r mut Recorder<'w>) -> LoopEnd {
        let mut this = StopLoop {
            processes: Processes::new(clock, recorder, child.pid),
            // After the fork: the program may run wherever this process may.
            place: OneCpu::stay(),
            root: child.pid,
            ended: (None, None),
            was_told: false,
            interrupts: INTERRUPTS.load(std::sync::atomic::Ordering::Relaxed),
            pass_on_ns: None,
        };
        child.begin();
        let mut gave_up = false;
        loop {
            match tracee::wait(this.pass_on_ns.is_none()) {
                Waited::For(thread, stop) => this.stopped(thread, stop),
                Waited::NoneLeft => break,
                Waited::Nothing => clock.sleep_until(clock.now_ns() + BETWEEN_LOOKS_NS, 0),
                Waited::Interrupted => {}
            }
            if this.is_to_give_up(clock) {
                gave_up = true;
                break;
            }
        }
        let (status, signal) = this.ended;
        let elapsed_ns = this.processes.elapsed_ns();
        let ran = this.processes.ran;
        let (counts, unseen) = this.processes.end();
        LoopEnd { status, signal, gave_up, ran, elapsed_ns, counts, unseen }
    }

    /// Handles requests to end; returns true if the capture ends before the program.
    fn is_to_give_up(&mut self, clock: &Clock) -> bool {
        let interrupts = INTERRUPTS.load(std::sync::atomic::Ordering::Relaxed);
        if interrupts.wrapping_sub(self.interrupts) >= PATIENCE {
            return true;
        }
        if interrupts != self.interrupts && self.pass_on_ns.is_none() && !self.was_told {
            self.pass_on_ns = Some(clock.now_ns() + SIGNAL_REACHES_NS);
        }
        if let Some(at_ns) = self.pass_on_ns {
            if self.was_told {
                self.pass_on_ns = None;
            } else if clock.now_ns() >= at_ns {
                iolab_process::kill(self.root, libc::SIGTERM);
                self.was_told = true;
                self.pass_on_ns = None;
            }
        }
        false
    }

    fn stopped(&mut self, thread: i32, stop: Stop) {
        let mut signal = 0;
        self.place.stopped(thread);
        match stop {
            Stop::Ended { status, signal } => {
                self.place.ended(thread);
                if thread == self.root {
                    self.ended = (status, signal);
                }
                self.processes.gone(thread);
                return;
            }
            Stop::CallBegins => {
                if self.processes.call_begins(thread) == Some(Shape::Affinity) {
                    self.place.part();
                }
            }
            Stop::CallEnds => self.processes.call_ends(thread),
            Stop::Makes(made) => {
                self.place.made(thread, made);
                self.processes.made(thread, made);
            }
            Stop::Runs(before) => {
                self.place.renumbered(before, thread);
                self.processes.runs(thread, before);
            }
            Stop::Ends => self.processes.ends(thread),
            Stop::StandsStill => {
                tracee::resume(thread, Resume::Listen, 0);
                return;
            }
            Stop::Other => {
                if !self.processes.may_begin(thread) {
                    return;
                }
            }
            Stop::Signal(delivered) => {
                self.was_told |= [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT].contains(&delivered);
                signal = delivered;
            }
        }
        tracee::resume(thread, self.processes.way_on(thread), signal);
    }
}
