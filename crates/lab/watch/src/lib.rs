//! Watches block devices as `iostat` does, column by column, and shows what iostat does not:
//! depths, settings, pressure, latencies.
//!
//! The columns are those of iostat(1) of sysstat, to the last digit if both read the same counters.
//! Dates are in UTC. Other figures are on separate lines, in JSON lines or on the full screen. The
//! program handles the command line.

mod groups;
mod live;
mod looks;
mod more;
mod naming;
mod process_tree;
mod program_recording;
mod recorder;
mod request;
mod screen;
mod selection;
mod text;
mod watched;

use std::sync::atomic::Ordering;

use iolab_aggregate::DeviceFigures;
use iolab_clock::Clock;
use iolab_observe::System;

use looks::Looker;
use text::Printer;

pub use live::LiveScreen;
pub use program_recording::describe_program;
pub use recorder::{RecordError, RecordRequest, Recorded, record};
pub use request::{Wanted, WatchError, WatchFormat};
pub use watched::{ProgramEnd, Watched};

/// Where reports go.
pub trait WatchOutput {
    /// Prints; `Ok(false)` when there is no reader any more.
    ///
    /// # Errors
    /// The output cannot be written.
    fn print(&mut self, text: &str) -> std::io::Result<bool>;

    /// Takes the devices of a report as metrics, if they are wanted: their counters since boot.
    ///
    /// # Errors
    /// They cannot be written.
    fn metrics(&mut self, _devices: &[DeviceFigures]) -> std::io::Result<()> {
        Ok(())
    }

    /// Prints a line for people that is not part of the reports.
    fn warn(&mut self, text: &str);
}

/// Watches until the reports are printed, there is no reader any more, or a signal comes.
///
/// # Errors
/// An invalid device, name or number; an output that cannot be written.
pub fn watch(wanted: &Wanted, output: &mut dyn WatchOutput) -> Result<(), WatchError> {
    let system = System::live();
    let (selection, pace) = selection::read(wanted, &system)?;
    iolab_process::count_signals();
    let clock = Clock::monotonic();
    let mut looker = Looker::new(system, selection, pace, clock.clone());
    let untraced = if wanted.form.more || wanted.full_screen { looker.trace() } else { None };
    if wanted.full_screen {
        return screen::show(looker, pace, wanted.form.layout.unit, untraced);
    }
    if let Some(why) = untraced {
        output.warn(&format!("no request latencies: {why}"));
    }
    let print = |output: &mut dyn WatchOutput, text: &str| output.print(text).map_err(WatchError::terminal("printing"));
    let mut printer = Printer::new(wanted.form, looker.facts());
    let mut before = None;
    let mut lines = Lines { clock: &clock, next_ns: clock.now_ns() };
    if !print(output, &printer.begin())? {
        return Ok(());
    }
    let mut left = pace.reports.map(|reports| reports + u64::from(wanted.skip_first));
    loop {
        let look = looker.look();
        let skipped = before.is_none() && wanted.skip_first;
        let text = if skipped { printer.skip() } else { printer.report(before.as_ref(), &look, &looker) };
        if !print(output, &text)? {
            return Ok(());
        }
        if wanted.metrics {
            output.metrics(&look.figures(before.as_ref())).map_err(WatchError::terminal("writing the metrics"))?;
        }
        before = Some(look);
        left = left.map(|left| left.saturating_sub(1));
        if left == Some(0) || pace.interval_ns == 0 || !lines.wait(pace.interval_ns, &mut looker) {
            break;
        }
    }
    print(output, &printer.end()).map(|_| ())
}

/// The moments at which reports are due: lines an interval apart, whatever printing takes.
struct Lines<'a> {
    clock: &'a Clock,
    next_ns: u64,
}

/// How long a signal may go unnoticed, and events of traced requests wait.
const NOTICE_NS: u64 = 20_000_000;

impl Lines<'_> {
    /// Sleeps until the next line; false when the user ends it.
    fn wait(&mut self, interval_ns: u64, looker: &mut Looker) -> bool {
        self.next_ns += interval_ns;
        loop {
            let now_ns = self.clock.now_ns();
            looker.fetch();
            if iolab_process::INTERRUPTS.load(Ordering::Relaxed) > 0 {
                return false;
            }
            if now_ns >= self.next_ns {
                // Intervals during a suspend of the machine are skipped.
                self.next_ns += (now_ns - self.next_ns) / interval_ns * interval_ns;
                return true;
            }
            self.clock.sleep_until(self.next_ns.min(now_ns + NOTICE_NS), 0);
        }
    }
}
