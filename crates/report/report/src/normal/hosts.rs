//! The hosts of a run of several: how well their clocks agree, what each did, and what they did
//! together.

use std::fmt::Write;

use iolab_aggregate::{HostsFigures, SpanFigures, hosts_figures, start_skew_ns};
use iolab_recording::Recording;
use iolab_text::{counted, rounded_bytes};
use iolab_units::rounded_ns;

/// Writes nothing for a run of one host.
pub(super) fn write(text: &mut String, recording: &Recording) {
    if !recording.has_several_hosts() {
        return;
    }
    let beside = hosts_figures(recording);
    let _ = writeln!(text, "\nHosts (clocks against the first):");
    for (number, host) in (0..).zip(&recording.hosts) {
        let workers = recording.plan.workers.iter().filter(|plan| plan.host == number).count();
        let clock = match (number, host.clock_error_ns) {
            // Host 0 is the reference. A comparison without an error was none.
            (0, _) | (_, 0) => String::new(),
            _ => format!(
                ", clock {} +- {}{}",
                signed(host.clock_offset_ns),
                rounded_ns(host.clock_error_ns as f64),
                // What is within the error of both comparisons is none that is known of.
                host.clock_drift_ns
                    .filter(|drift_ns| drift_ns.unsigned_abs() > host.clock_error_ns)
                    .map_or(String::new(), |drift_ns| format!(", drifted {}", signed(drift_ns)))
            ),
        };
        let late = match host.began_late_ns {
            0 => String::new(),
            late_ns => format!(", began {} after the first", rounded_ns(late_ns as f64)),
        };
        let done = beside.iter().flat_map(|beside| &beside.hosts).find(|figures| figures.host == number);
        let did = done.map_or(String::new(), |figures| {
            format!(", {}", rates(figures.done.ios_per_second(), figures.done.bytes_per_second()))
        });
        let facts = &host.facts;
        let _ = writeln!(
            text,
            "  {}: {}, Linux {}, {} x {}{clock}{late}{did}",
            host.name,
            counted(workers as u64, "worker"),
            facts.kernel,
            facts.cpus,
            facts.cpu_model
        );
    }
    if let Some(beside) = beside {
        write_together(text, recording, &beside);
    }
}

fn write_together(text: &mut String, recording: &Recording, beside: &HostsFigures) {
    let name = |host: u32| recording.host_name(host).unwrap_or_default();
    let (slowest, fastest) = (beside.slowest(), beside.fastest());
    let _ = writeln!(
        text,
        "  slowest {}, fastest {}: {:.1} % of the mean apart; began within {}{}",
        name(slowest.host),
        name(fastest.host),
        beside.imbalance() * 100.0,
        rounded_ns(beside.skew_ns as f64),
        start_skew_ns(recording)
            .map_or(String::new(), |skew_ns| format!(", {} from the agreed start", rounded_ns(skew_ns as f64)))
    );
    match &beside.together {
        Some(together) => writeln!(text, "  while all ran: {}", span(together)),
        None => writeln!(text, "  they never ran at the same time"),
    }
    .and_then(|()| writeln!(text, "  until the last ended: {}", span(&beside.whole)))
    .unwrap_or_default();
}

/// A time with its sign.
fn signed(ns: i64) -> String {
    format!("{}{}", if ns < 0 { "-" } else { "+" }, rounded_ns(ns.unsigned_abs() as f64))
}

fn span(span: &SpanFigures) -> String {
    format!("{}, {}", rounded_ns(span.length_ns as f64), rates(span.ios_per_second, span.bytes_per_second))
}

fn rates(ios: f64, bytes: f64) -> String {
    format!("{ios:.0} IOPS, {}/s", rounded_bytes(bytes))
}
