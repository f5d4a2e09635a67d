//! The comparison as text and Markdown.

use std::fmt::Write;

use super::Turn;
use crate::spread::{Spread, digits, ratios, spread};

/// The calls of both programs; the same place is the same pair.
pub(super) type Pairs = [Vec<Turn>; 2];

/// A line for a terminal, after each pair.
pub(super) fn progress(load: [&str; 2], done: usize, pairs: &Pairs) -> String {
    let mut text = format!("pair {done}:");
    for (place, name) in load.iter().enumerate() {
        let last = |side: usize| pairs[side].last().map_or(f64::NAN, |turn| turn.micros[place]);
        text += &format!("  {name} {}/{} µs", digits(last(0)), digits(last(1)));
    }
    text
}

/// One figure of every pair, by both, and how they compare.
struct Compared {
    theirs: Spread,
    ours: Spread,
    ratio: Spread,
}

fn compared(pairs: &Pairs, figure: impl Fn(&Turn) -> f64) -> Compared {
    let [theirs, ours] = pairs.each_ref().map(|turns| turns.iter().map(&figure).collect::<Vec<f64>>());
    Compared { ratio: spread(&ratios(&ours, &theirs)), theirs: spread(&theirs), ours: spread(&ours) }
}

/// A row: the middles, the ratio of neighbours with its ends, and that of the least of each, which
/// other work on the machine disturbs least.
fn row(text: &mut String, name: &str, figure: &Compared) {
    let Compared { theirs, ours, ratio } = figure;
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "| {name} | {} | {} | {:.3} ({:.2}–{:.2}) | {:.3} |",
        digits(theirs.median),
        digits(ours.median),
        ratio.median,
        ratio.min,
        ratio.max,
        ours.min / theirs.min
    );
}

/// All loads, and what the loop costs by itself.
pub(super) fn markdown(all: &[([&str; 2], Pairs)], num: u64, loop_ns: &[(&'static str, f64)]) -> String {
    let mut text = String::from("| middle of all | db_bench | iolab | ratio, of neighbours | ratio of the least |\n");
    text += "| --- | ---: | ---: | ---: | ---: |\n";
    for (load, pairs) in all {
        for (place, name) in load.iter().enumerate() {
            row(&mut text, &format!("{name}, µs an operation"), &compared(pairs, |turn| turn.micros[place]));
        }
    }
    for (load, pairs) in all {
        let name = format!("{}: processor, µs an operation", load.join(" and "));
        let operations = 2.0 * num as f64;
        row(&mut text, &name, &compared(pairs, |turn| turn.processor_s * 1e6 / operations));
    }
    for (load, pairs) in all {
        if pairs.iter().flatten().any(|turn| turn.device.is_none()) {
            continue;
        }
        let of = |place: usize| move |turn: &Turn| turn.device.map_or(0.0, |bytes| bytes[place] as f64 / 1_048_576.0);
        row(&mut text, &format!("{}: MiB written by the device", load.join(" and ")), &compared(pairs, of(0)));
    }
    text.push('\n');
    for (load, pairs) in all {
        text += &found(load[1], pairs);
    }
    let costs: Vec<String> = loop_ns.iter().map(|(name, ns)| format!("{name} {ns:.0}")).collect();
    text + &format!("The loop by itself, on the store `null`, ns an operation: {}.\n", costs.join(", "))
}

/// Whether both found the same keys, each time.
fn found(name: &str, pairs: &Pairs) -> String {
    let mut words: Vec<&str> = pairs.iter().flatten().map(|turn| turn.found.as_str()).collect();
    words.dedup();
    match words[..] {
        [""] | [] => String::new(),
        [same] => format!("Keys of {name}: {same}, by both, each time. "),
        _ => format!("Keys of {name} differ: {}. ", words.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(micros: [f64; 2], found: &str) -> Turn {
        Turn { micros, found: found.to_owned(), processor_s: 2.0, device: Some([3 << 20, 0]) }
    }

    #[test]
    fn neighbours_and_the_least_are_compared() {
        let found = "63 of 100 found";
        let pairs = [
            vec![turn([2.0, 5.0], found), turn([4.0, 5.0], found)],
            vec![turn([2.2, 5.0], found), turn([4.0, 5.0], found)],
        ];
        let text = markdown(&[(["fillrandom", "readrandom"], pairs.clone())], 1_000_000, &[("fillseq", 41.4)]);
        assert!(text.contains("| fillrandom, µs an operation | 3.00 | 3.10 | 1.050 (1.00–1.10) | 1.100 |"), "{text}");
        assert!(text.contains("processor, µs an operation | 1.00 | 1.00 | 1.000"), "{text}");
        assert!(text.contains("MiB written by the device | 3.00 | 3.00 |"), "{text}");
        assert!(text.contains("Keys of readrandom: 63 of 100 found, by both, each time."), "{text}");
        assert!(text.contains("fillseq 41."), "{text}");
        assert!(progress(["fillrandom", "readrandom"], 2, &pairs).contains("fillrandom 4.00/4.00 µs"));
    }

    #[test]
    fn other_keys_and_unknown_bytes_are_said() {
        let mut other = turn([1.0, 1.0], "7 of 100 found");
        other.device = None;
        let pairs = [vec![turn([1.0, 1.0], "8 of 100 found")], vec![other]];
        let text = markdown(&[(["fillrandom", "readrandom"], pairs)], 100, &[]);
        assert!(text.contains("differ: 8 of 100 found; 7 of 100 found") && !text.contains("MiB"), "{text}");
    }
}
