//! The hosts of a run of several, each with what it did, and what they did together.

use iolab_aggregate::{HostFigures, SpanFigures, hosts_figures, start_skew_ns};
use iolab_recording::{Host, Recording};

use super::writer::Writer;

/// Writes the list of hosts, and what they did together.
pub(super) fn write(writer: &mut Writer, recording: &Recording) {
    let beside = hosts_figures(recording);
    let done = |host: u32| beside.iter().flat_map(|beside| &beside.hosts).find(move |figures| figures.host == host);
    let hosts: Vec<(&Host, Option<&HostFigures>)> =
        (0..).zip(&recording.hosts).map(|(number, host)| (host, done(number))).collect();
    writer.array("hosts", &hosts, |writer, (host, done)| write_host(writer, host, *done));
    let Some(beside) = &beside else { return };
    let name = |host: u32| recording.host_name(host).unwrap_or_default();
    writer.object("hosts_together", |writer| {
        writer.text("slowest", name(beside.slowest().host));
        writer.text("fastest", name(beside.fastest().host));
        writer.float("imbalance", beside.imbalance());
        writer.number("skew_ns", beside.skew_ns);
        if let Some(skew_ns) = start_skew_ns(recording) {
            writer.number("start_skew_ns", skew_ns);
        }
        if let Some(together) = &beside.together {
            writer.object("while_all_ran", |writer| write_span(writer, together));
        }
        writer.object("until_the_last_ended", |writer| write_span(writer, &beside.whole));
    });
}

fn write_host(writer: &mut Writer, host: &Host, done: Option<&HostFigures>) {
    writer.text("name", &host.name);
    writer.text("hostname", &host.facts.hostname);
    writer.text("kernel", &host.facts.kernel);
    writer.text("cpu_model", &host.facts.cpu_model);
    writer.number("cpus", host.facts.cpus);
    writer.number("memory_bytes", host.facts.memory_bytes);
    writer.number("clock_offset_ns", host.clock_offset_ns);
    writer.number("clock_error_ns", host.clock_error_ns);
    if host.port.is_some() || host.rank.is_some() {
        writer.number("began_late_ns", host.began_late_ns);
    }
    if let Some(skew_ns) = host.start_skew_ns {
        writer.number("start_skew_ns", skew_ns);
    }
    if let Some(drift_ns) = host.clock_drift_ns {
        writer.number("clock_drift_ns", drift_ns);
    }
    if let Some(rank) = host.rank {
        writer.number("rank", rank);
    }
    if let Some(done) = done {
        writer.number("total_ios", done.done.ios);
        writer.number("io_bytes", done.done.bytes);
        writer.float("iops", done.done.ios_per_second());
        writer.float("bw_bytes", done.done.bytes_per_second());
        writer.number("ended_ns", done.ended_ns);
    }
}

fn write_span(writer: &mut Writer, span: &SpanFigures) {
    writer.number("start_ns", span.start_ns);
    writer.number("length_ns", span.length_ns);
    writer.float("iops", span.ios_per_second);
    writer.float("bw_bytes", span.bytes_per_second);
}
