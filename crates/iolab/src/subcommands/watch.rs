//! `iolab watch`: what `iostat` prints of block devices, column by column, and what it does not: depths, settings, pressure, latencies.
//!
//! The letters are those of iostat(1) of sysstat, and so is what they print, to the last digit when both read the same counters. Dates are
//! in UTC. What has no place in iostat's tables stands on lines of its own (`--more`), in JSON lines (`--json`) or on the full screen.

mod arguments;
mod groups;
mod looks;
mod more;
mod naming;
mod screen;
mod selection;
mod text;

use std::sync::atomic::Ordering;

use iolab_block_columns::{Layout, Unit};
use iolab_clock::Clock;
use iolab_observe::System;

use crate::exit::Failure;
use crate::printing::print_to_reader;
pub(crate) use arguments::WatchArguments;
use looks::Looker;
use text::{Form, Printer};

pub(crate) fn main(arguments: &WatchArguments) -> Result<u8, Failure> {
    let system = System::live();
    let (selection, pace) = selection::read(arguments, &system)?;
    let form = form(arguments);
    iolab_process::count_signals();
    let clock = Clock::monotonic();
    let mut looker = Looker::new(system, selection, pace, clock.clone());
    if arguments.more || arguments.full_screen {
        looker.trace();
    }
    if arguments.full_screen {
        return screen::main(looker, pace, form.layout.unit);
    }
    let mut printer = Printer::new(form, looker.facts());
    let mut before = None;
    let mut lines = Lines { clock: &clock, next_ns: clock.now_ns() };
    if !print_to_reader(&printer.begin())? {
        return Ok(0);
    }
    let mut left = pace.reports.map(|reports| reports + u64::from(arguments.skip_first));
    loop {
        let look = looker.look();
        let skipped = before.is_none() && arguments.skip_first;
        let text = if skipped { printer.skip() } else { printer.report(before.as_ref(), &look, &looker) };
        if !print_to_reader(&text)? {
            return Ok(0);
        }
        before = Some(look);
        left = left.map(|left| left.saturating_sub(1));
        if left == Some(0) || pace.interval_ns == 0 || !lines.wait(pace.interval_ns, &mut looker) {
            break;
        }
    }
    print_to_reader(&printer.end())?;
    Ok(0)
}

fn form(arguments: &WatchArguments) -> Form {
    let tables = &arguments.tables;
    let pretty = tables.pretty || tables.for_people || arguments.persistent.is_some();
    Form {
        layout: Layout {
            extended: tables.extended,
            short: tables.short,
            unit: if tables.megabytes { Unit::Megabytes } else { Unit::Kilobytes },
            decimals: tables.decimals,
            human: tables.human || tables.for_people,
            name_last: pretty,
            broken: pretty && !tables.compact,
        },
        cpu: !arguments.devices_only || arguments.cpu_only,
        devices: !arguments.cpu_only || arguments.devices_only || tables.extended || arguments.partitions.is_some(),
        timestamps: arguments.timestamps,
        omit_idle: arguments.omit_idle,
        document: arguments.output.is_some(),
        lines: arguments.json,
        more: arguments.more,
    }
}

/// The moments at which reports are due: lines an interval apart, whatever printing takes.
struct Lines<'a> {
    clock: &'a Clock,
    next_ns: u64,
}

/// How long a signal may go unnoticed, and events of traced requests wait.
const NOTICE_NS: u64 = 20_000_000;

impl Lines<'_> {
    /// Sleeps until the next line; false when the user has had enough.
    fn wait(&mut self, interval_ns: u64, looker: &mut Looker) -> bool {
        self.next_ns += interval_ns;
        loop {
            let now_ns = self.clock.now_ns();
            looker.fetch();
            if iolab_process::INTERRUPTS.load(Ordering::Relaxed) > 0 {
                return false;
            }
            if now_ns >= self.next_ns {
                // A machine that slept has nothing to make up for.
                self.next_ns += (now_ns - self.next_ns) / interval_ns * interval_ns;
                return true;
            }
            self.clock.sleep_until(self.next_ns.min(now_ns + NOTICE_NS), 0);
        }
    }
}
