//! How much of what happened a trace has, what seeing it cost, and whether the file is whole: what a
//! reader must know before any figure.

use std::io::Read;

use iolab_text::{grouped, rounded_bytes};
use iolab_trace::Reader;

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
        text += &format!("cost: {:.1} us per call for {} calls{share}{other}\n", traced_ns / 1e3, grouped(operations));
    }
    text
}

fn bytes(count: u64) -> String {
    if count < 1 << 10 { format!("{count} B") } else { rounded_bytes(count as f64) }
}

/// A share with the digits that tell it from none and from all.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent == 0.0 => "0 %".to_owned(),
        _ if percent < 0.01 => "less than 0.01 %".to_owned(),
        _ if percent < 1.0 => format!("{percent:.2} %"),
        _ => format!("{percent:.1} %"),
    }
}
