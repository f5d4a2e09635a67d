//! What a person sees during a run: layout progress, the status line, reports of the run so far.

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use iolab_activity::{ProgressUnit, RateEstimate};
use iolab_clock::Clock;
use iolab_plan::{Direction, Plan, WorkerPlan};
use iolab_process::REPORTS_ASKED;
use iolab_recording::Recording;
use iolab_report::Snapshot;
use iolab_runner::{Event, Progress, RunObserver, State, Wish};

use crate::eta;
use crate::printing::shown;
use crate::snapshot_file::SnapshotFile;

/// Where the status line goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusTo {
    /// Nowhere.
    Nowhere,
    /// Standard error: iolab's own choice, so that standard output contains only data.
    Stderr,
    /// Standard output, as fio does.
    Stdout,
}

/// How the run is shown.
#[derive(Debug, Clone)]
pub(crate) struct Display {
    pub(crate) status: StatusTo,
    /// The time between two status lines.
    pub(crate) every: Duration,
    /// A new line starts after this much time, instead of overwriting the last one.
    pub(crate) new_line_every: Option<Duration>,
    /// A report of the run so far is printed this often.
    pub(crate) snapshot_every: Option<Duration>,
    /// A file whose appearance asks for a report of the run so far (fio's `fio-dump-status`).
    pub(crate) snapshot_file: Option<SnapshotFile>,
    /// Whether something else has the terminal now: no line is shown meanwhile.
    pub(crate) is_covered: Rc<Cell<bool>>,
}

/// The observer of the command line.
pub(crate) struct Terminal<'a> {
    plan: &'a Plan,
    display: Display,
    on_snapshot: &'a mut dyn FnMut(&Recording),
    last: Option<Progress>,
    rates_from: Option<Progress>,
    next_status_ns: u64,
    next_snapshot_ns: u64,
    next_new_line_ns: u64,
    reports_given: u32,
    wants_snapshot: bool,
    line_is_open: bool,
    /// The file that is being laid out, and the progress.
    layout: Option<(PathBuf, RateEstimate)>,
    clock: Clock,
}

impl<'a> Terminal<'a> {
    pub(crate) fn new(plan: &'a Plan, display: Display, on_snapshot: &'a mut dyn FnMut(&Recording)) -> Terminal<'a> {
        let next_snapshot_ns = display.snapshot_every.map_or(u64::MAX, |every| every.as_nanos() as u64);
        Terminal {
            plan,
            display,
            on_snapshot,
            last: None,
            rates_from: None,
            next_status_ns: 0,
            next_snapshot_ns,
            next_new_line_ns: 0,
            reports_given: REPORTS_ASKED.load(Ordering::Relaxed),
            wants_snapshot: false,
            line_is_open: false,
            layout: None,
            clock: Clock::monotonic(),
        }
    }

    /// Moves the terminal to a new line.
    pub(crate) fn finish(&mut self) {
        if self.line_is_open {
            self.write("\n");
            self.line_is_open = false;
        }
    }

    fn write(&self, text: &str) {
        // A failure to show the status line must not end the measurement.
        let _ = match self.display.status {
            StatusTo::Nowhere => Ok(()),
            StatusTo::Stderr => std::io::stderr().write_all(text.as_bytes()),
            StatusTo::Stdout => std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush()),
        };
    }

    fn show_status(&mut self, progress: &Progress) {
        let line = iolab_report::status_line(&snapshot_of(self.plan, progress, self.rates_from.as_ref()));
        let new_line = self.display.new_line_every.is_some_and(|every| {
            let due = progress.elapsed_ns >= self.next_new_line_ns;
            if due {
                self.next_new_line_ns = progress.elapsed_ns + every.as_nanos() as u64;
            }
            due
        });
        let clear = if std::io::stderr().is_terminal() { "\x1b[K" } else { "" };
        self.write(&if new_line { format!("{line}\n") } else { format!("{line}{clear}\r") });
        self.line_is_open = !new_line;
        self.rates_from = Some(progress.clone());
    }

    fn note_snapshot_wishes(&mut self, elapsed_ns: u64) {
        if elapsed_ns >= self.next_snapshot_ns {
            let every_ns = self.display.snapshot_every.map_or(u64::MAX, |every| every.as_nanos() as u64);
            self.next_snapshot_ns = self.next_snapshot_ns.saturating_add(every_ns);
            self.wants_snapshot = true;
        }
        let asked = REPORTS_ASKED.load(Ordering::Relaxed);
        if asked != self.reports_given {
            self.reports_given = asked;
            self.wants_snapshot = true;
        }
        if let Some(file) = &mut self.display.snapshot_file {
            self.wants_snapshot |= file.asks();
        }
    }
}

impl Terminal<'_> {
    fn laying_out(&mut self, path: &Path, done: u64, total: u64) {
        if self.display.status != StatusTo::Stderr {
            return;
        }
        let now_ns = self.clock.now_ns();
        if self.layout.as_ref().is_none_or(|(known, _)| known != path) {
            let name = path.display().to_string();
            let pace =
                RateEstimate::new(format!("laying out {}", shown(&name)), ProgressUnit::Bytes, Some(total), now_ns);
            self.layout = Some((path.to_owned(), pace));
        }
        let line = self.layout.as_mut().and_then(|(_, pace)| pace.due(done, now_ns));
        if let Some(line) = line {
            self.write(&format!("{line}\x1b[K\r"));
            self.line_is_open = true;
        }
    }

    fn progress(&mut self, progress: &Progress) {
        let is_shown = self.display.status != StatusTo::Nowhere && !self.display.is_covered.get();
        if is_shown && progress.elapsed_ns >= self.next_status_ns {
            self.next_status_ns = progress.elapsed_ns + self.display.every.as_nanos() as u64;
            self.show_status(progress);
        }
        self.note_snapshot_wishes(progress.elapsed_ns);
        self.last = Some(progress.clone());
    }
}

impl RunObserver for Terminal<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        match event {
            Event::LaidOut { path, done_bytes, total_bytes } => self.laying_out(path, *done_bytes, *total_bytes),
            Event::Progress(progress) => {
                self.progress(progress);
                if std::mem::take(&mut self.wants_snapshot) {
                    return Wish::SoFar;
                }
            }
            Event::SoFar(recording) => (self.on_snapshot)(recording),
            _ => {}
        }
        Wish::Nothing
    }
}

/// Where a run stands, for the title of the live screen.
pub(crate) fn standing(plan: &Plan, progress: &Progress) -> String {
    let forecast = eta::forecast(plan, progress);
    let seconds = progress.elapsed_ns as f64 / 1e9;
    let percent = forecast.percent.map_or(String::new(), |percent| format!(", {percent:.0} %"));
    let left = forecast.seconds_left.map_or(String::new(), |left| format!(", {left} s left"));
    let active = progress.workers.iter().filter(|worker| worker.state > State::Waiting && worker.state < State::Done);
    format!("{seconds:.1} s{percent}{left}, {}", iolab_text::counted(active.count() as u64, "worker"))
}

/// Computes the facts of the status line from two observations of the run.
fn snapshot_of(plan: &Plan, progress: &Progress, before: Option<&Progress>) -> Snapshot {
    let seconds = before.map_or(progress.elapsed_ns, |before| progress.elapsed_ns - before.elapsed_ns) as f64 / 1e9;
    let sum = |progress: &Progress, pick: fn(&iolab_runner::WorkerProgress) -> [u64; 3], index: usize| {
        progress.workers.iter().map(|worker| pick(worker)[index]).sum::<u64>()
    };
    let rate = |pick: fn(&iolab_runner::WorkerProgress) -> [u64; 3]| {
        [0, 1, 2].map(|index| {
            let used = plan
                .workers
                .iter()
                .any(|worker| worker.workload.pattern.directions.iter().any(|direction| direction.index() == index));
            let since = before.map_or(0, |before| sum(before, pick, index));
            let amount = sum(progress, pick, index).saturating_sub(since);
            (used && seconds > 0.0).then(|| (amount as f64 / seconds) as u64)
        })
    };
    let running = |state: State| state > State::Waiting && state < State::Done;
    let first = plan.workers.first().map(|worker| &worker.measurement);
    let forecast = eta::forecast(plan, progress);
    let active = plan.workers.iter().zip(&progress.workers).filter(|(_, worker)| running(worker.state));
    Snapshot {
        running: active.clone().count() as u32,
        open_files: active.map(|(plan, _)| plan.files.len() as u32).sum(),
        states: plan.workers.iter().zip(&progress.workers).map(|(plan, worker)| letter(plan, worker.state)).collect(),
        iops_limits: limits(plan, |worker| worker.pacing.rate_iops),
        byte_limits: limits(plan, |worker| worker.pacing.rate_bytes),
        percent: forecast.percent,
        bytes_per_second: rate(|worker| worker.bytes),
        ios_per_second: rate(|worker| worker.ios),
        eta_seconds: forecast.seconds_left,
        kb_base: first.map_or(1024, |measurement| measurement.kb_base),
        unit_base: first.map_or(0, |measurement| measurement.unit_base),
        significant_figures: first.map_or(4, |measurement| measurement.significant_figures),
    }
}

/// The sum of the requested rates, in the form of fio's `least-most`; the least is always 0 here.
fn limits(plan: &Plan, rates: fn(&WorkerPlan) -> [u64; 3]) -> Option<(u64, u64)> {
    let most: u64 = plan.workers.iter().flat_map(rates).sum();
    (most > 0).then_some((0, most))
}

/// fio's state letters.
fn letter(plan: &WorkerPlan, state: State) -> char {
    let directions = &plan.workload.pattern.directions;
    let (reads, writes) = (directions.contains(&Direction::Read), directions.contains(&Direction::Write));
    let random = plan.workload.pattern.random;
    match state {
        State::Waiting => 'P',
        State::SettingUp => 'C',
        State::Ready => 'I',
        State::Ramping => '/',
        State::Finishing => 'F',
        State::Done => '_',
        State::Running => match (reads, writes, random) {
            (true, true, true) => 'm',
            (true, true, false) => 'M',
            (true, false, true) => 'r',
            (true, false, false) => 'R',
            (false, true, true) => 'w',
            (false, true, false) => 'W',
            (false, false, true) => 'd',
            (false, false, false) => 'D',
        },
    }
}
