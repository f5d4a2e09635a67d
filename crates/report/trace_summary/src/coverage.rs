//! How complete a trace is, what capturing it cost, and whether the file is whole: what a reader
//! must know before any figure.

use std::io::Read;

use iolab_text::{counted, grouped, rounded_bytes};
use iolab_trace::{DeviceBytes, End, Reader};

/// Lines about a trace that was read to its end.
pub fn coverage<R: Read>(reader: &Reader<R>, operations: u64) -> String {
    let facts = reader.facts();
    let mut text = String::new();
    match reader.end() {
        Some(end) => {
            match (end.unseen_share(), end.read_bytes, end.written_bytes) {
                (Some(share), Some((read, seen_read)), Some((written, seen_written))) => {
                    let of = |all: u64, seen: u64| format!("{} of {}", bytes(all.saturating_sub(seen)), bytes(all));
                    text += &format!(
                        "not seen: {} of the bytes that calls moved ({} read, {} written)\n",
                        percent(share),
                        of(read, seen_read),
                        of(written, seen_written)
                    );
                }
                _ => text += "not seen: unknown, because the bytes the program moved were not counted\n",
            }
            end.devices.iter().for_each(|device| text += &beneath(device));
            text += &processors(end);
            for unseen in &end.unseen {
                let count = unseen.count.map_or(String::new(), |count| format!("{} ", grouped(count)));
                let size = unseen.bytes.map_or(String::new(), |size| format!(" ({})", bytes(size)));
                text += &format!("not seen: {count}{}{size}\n", unseen.what);
            }
        }
        None => {
            let damage = reader.damage();
            let what = damage.map_or("it is still being written", |damage| damage.what);
            let at = damage.map_or(String::new(), |damage| format!(" at byte {}", grouped(damage.at_byte)));
            text += &format!("incomplete: {what}{at}; everything before it is valid\n");
        }
    }
    if let Some(traced_ns) = facts.traced_call_ns {
        let all_ns = traced_ns * operations as f64;
        let share = reader.end().filter(|end| end.elapsed_ns > 0).map(|end| all_ns / end.elapsed_ns as f64);
        let share = share.map_or(String::new(), |share| format!(", {} of the time captured", percent(share)));
        let other = facts.other_call_ns.map_or(String::new(), |ns| format!("; {ns:.0} ns per other call"));
        text +=
            &format!("cost: {:.1} us per call for {}{share}{other}\n", traced_ns / 1e3, counted(operations, "call"));
    }
    text
}

/// The bytes that reached devices, compared with those that the calls transferred.
fn beneath(device: &DeviceBytes) -> String {
    let DeviceBytes { name, parts, read, written, calls_read, calls_written } = device;
    let of = if parts.is_empty() { String::new() } else { format!(" (on {})", parts.join(", ")) };
    format!(
        "device {name}{of}: {} written and {} read during the capture, by all programs; calls of this one wrote {} and \
         read {} there\n",
        bytes(*written),
        bytes(*read),
        bytes(*calls_written),
        bytes(*calls_read)
    )
}

/// For whom the processors worked during the whole capture.
fn processors(end: &End) -> String {
    let (Some(first), Some(last)) = (end.processors.first(), end.processors.last()) else { return String::new() };
    let busy_ns = last.busy_ns.saturating_sub(first.busy_ns);
    let all_ns = busy_ns.saturating_add(last.idle_ns.saturating_sub(first.idle_ns));
    let Some((before, after)) = first.shares.zip(last.shares).filter(|_| all_ns > 0) else { return String::new() };
    let did = after.since(before);
    let of = |ns: u64| percent(ns as f64 / all_ns as f64);
    let names: Vec<&str> = end.beside.iter().map(|one| one.name.as_str()).collect();
    let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let so = if did.is_disturbed(busy_ns, all_ns) {
        "\ndisturbed: those others made calls and the time between them longer"
    } else {
        ""
    };
    format!(
        "processors: {} of their time for the program, {} for its clients, {} for the kernel, {} for this capture, {} for \
         other programs{names}{so}\n",
        of(did.program_ns),
        of(did.clients_ns),
        of(did.kernel_ns),
        of(did.tracer_ns),
        of(did.others_ns(busy_ns))
    )
}

fn bytes(count: u64) -> String {
    if count < 1 << 10 { format!("{count} B") } else { rounded_bytes(count as f64) }
}

/// A share with enough digits to distinguish it from 0 and 1.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent == 0.0 => "0 %".to_owned(),
        _ if percent < 0.01 => "less than 0.01 %".to_owned(),
        _ if percent < 1.0 => format!("{percent:.2} %"),
        _ => format!("{percent:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use iolab_trace::{Facts, ProcessorSample, ProcessorShares, ProgramBeside, Writer};

    use super::*;

    /// The unseen share comes first, then the devices, then what else was not seen.
    #[test]
    fn devices_stand_behind_the_share_that_was_not_seen() {
        let device = |name: &str, parts: &[&str]| DeviceBytes {
            name: name.to_owned(),
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            read: 0,
            written: 3 << 20,
            calls_read: 100,
            calls_written: 2 << 20,
        };
        let sample = |time: u64| ProcessorSample {
            busy_ns: 6 * time,
            idle_ns: 4 * time,
            shares: Some(ProcessorShares { program_ns: 5 * time, ..ProcessorShares::default() }),
            ..ProcessorSample::default()
        };
        let end = End {
            read_bytes: Some((100, 100)),
            written_bytes: Some((2 << 20, 2 << 20)),
            devices: vec![device("dm-0", &["sda", "sdb"]), device("sda", &[])],
            processors: vec![sample(0), sample(10)],
            beside: vec![ProgramBeside { name: "cc".to_owned(), used_ns: 10 }],
            unseen: vec![iolab_trace::Unseen { what: "mappings".to_owned(), count: Some(1), bytes: None }],
            ..End::default()
        };
        let mut trace = Vec::new();
        Writer::new(&mut trace, &Facts::default()).unwrap().finish(end).unwrap();
        let mut reader = Reader::new(trace.as_slice()).unwrap();
        assert!(reader.next_operation().unwrap().is_none());
        let text = coverage(&reader, 0);
        let told = "processors: 50.0 % of their time for the program, 0 % for its clients, 0 % for the kernel, 0 % for \
                    this capture, 10.0 % for other programs (cc)\ndisturbed: those others made calls and the time \
                    between them longer\n";
        let moved = "3.0 MiB written and 0 B read during the capture, by all programs; calls of this one wrote 2.0 MiB \
                     and read 100 B there";
        let expected = format!(
            "not seen: 0 % of the bytes that calls moved (0 B of 100 B read, 0 B of 2.0 MiB written)\n\
             device dm-0 (on sda, sdb): {moved}\ndevice sda: {moved}\n{told}not seen: 1 mappings\n"
        );
        assert_eq!(text, expected);
    }
}
