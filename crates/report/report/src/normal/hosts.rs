//! The hosts of a run of several, and how well their clocks agree.

use std::fmt::Write;

use iolab_recording::Recording;
use iolab_text::counted;
use iolab_units::rounded_ns;

/// Writes nothing for a run of one host.
pub(super) fn write(text: &mut String, recording: &Recording) {
    if !recording.has_several_hosts() {
        return;
    }
    let _ = writeln!(text, "\nHosts (clocks against the first):");
    for (number, host) in (0..).zip(&recording.hosts) {
        let workers = recording.plan.workers.iter().filter(|plan| plan.host == number).count();
        let clock = match number {
            0 => String::new(),
            _ => format!(
                ", clock {}{} +- {}",
                if host.clock_offset_ns < 0 { "-" } else { "+" },
                rounded_ns(host.clock_offset_ns.unsigned_abs() as f64),
                rounded_ns(host.clock_error_ns as f64)
            ),
        };
        let late = match host.began_late_ns {
            0 => String::new(),
            late_ns => format!(", began {} after the first", rounded_ns(late_ns as f64)),
        };
        let facts = &host.facts;
        let _ = writeln!(
            text,
            "  {}: {}, Linux {}, {} x {}{clock}{late}",
            host.name,
            counted(workers as u64, "worker"),
            facts.kernel,
            facts.cpus,
            facts.cpu_model
        );
    }
}
