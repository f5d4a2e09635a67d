//! A virtual NVMe device driven from user space: in one thread, and across shared memory from
//! another processor.
//!
//! The figures come from the engine's examples `cost` and `served`; the targets are defined here.

use std::path::Path;
use std::process::Command;

use super::sheet::{Bound, Sheet};
use super::{Bench, Size};
use crate::cost::nvme::{SHAPES, instructions, program};
use crate::programs::is_installed;
use crate::spread::{Spread, spread};

const COLUMNS: [&str; 7] = ["IOPS", "p50 ns", "p99 ns", "p50 late ns", "p99 late ns", "away %", "user instructions"];

/// The targets: shape, column, limit.
const TARGETS: [(&str, &str, Bound); 8] = [
    ("direct media=null model=ideal depth=32", "IOPS", Bound::AtLeast(6e6)),
    ("direct media=ram model=ideal depth=32", "IOPS", Bound::AtLeast(1.9e6)),
    ("served media=null model=ideal depth=1", "p50 ns", Bound::AtMost(600.0)),
    ("served media=null model=ideal depth=1", "IOPS", Bound::AtLeast(1.5e6)),
    ("served media=null model=ideal depth=128", "IOPS", Bound::AtLeast(5e6)),
    ("served media=ram model=ideal depth=32", "IOPS", Bound::AtLeast(1.9e6)),
    ("inline media=null model=simple depth=1", "p99 late ns", Bound::AtMost(2000.0)),
    ("served media=null model=simple depth=1", "p99 late ns", Bound::AtMost(2000.0)),
];

/// The values of one figure, one for each round.
#[derive(Debug)]
struct Figure {
    shape: String,
    column: String,
    values: Vec<f64>,
}

/// Both examples in turn, then the instructions.
pub(super) fn run(bench: &Bench) -> Result<Sheet, String> {
    let mut sheet = Sheet::new("nvme", &COLUMNS);
    let small = bench.size == Size::Small;
    let size = if small { "size=64M" } else { "size=256M" };
    let words = [size.to_owned(), format!("ms={}", bench.runtime_ms)];
    let reads = if small { "reads=200" } else { "reads=200000" };
    let alone = program(&bench.workshop)?;
    let served = bench.workshop.example("iolab-engine-nvme", "served")?;
    let has_two = std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
    if !has_two {
        sheet.skip("a device on a processor of its own: there is only one processor");
    }
    let mut figures = Vec::new();
    for _ in 0..bench.rounds {
        take(&mut figures, Command::new(&alone).args(&words))?;
        if has_two {
            take(&mut figures, Command::new(&served).args(&words).arg(reads))?;
        }
    }
    fill(&mut sheet, &figures);
    count(bench, &mut sheet, &alone)?;
    Ok(sheet)
}

/// Adds what a program prints: shape, column and value in each line, with tabs between.
fn take(figures: &mut Vec<Figure>, command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let [shape, column, value] = words[..] else { return Err(format!("{command:?} printed: {line}")) };
        let value: f64 = value.parse().map_err(|error| format!("{line}: {error}"))?;
        match figures.iter_mut().find(|figure| figure.shape == shape && figure.column == column) {
            Some(figure) => figure.values.push(value),
            None => figures.push(Figure { shape: shape.to_owned(), column: column.to_owned(), values: vec![value] }),
        }
    }
    Ok(())
}

/// Rows in the order of their first figures, and the targets.
fn fill(sheet: &mut Sheet, figures: &[Figure]) {
    let mut shapes: Vec<&str> = Vec::new();
    for figure in figures {
        if !shapes.contains(&figure.shape.as_str()) {
            shapes.push(&figure.shape);
        }
    }
    let found = |shape: &str, column: &str| -> Option<Spread> {
        let figure = figures.iter().find(|figure| figure.shape == shape && figure.column == column)?;
        Some(spread(&figure.values))
    };
    for shape in shapes {
        sheet.row(shape, "iolab", COLUMNS.iter().map(|column| found(shape, column)).collect());
    }
    for (shape, column, bound) in TARGETS {
        sheet.target(format!("{shape}: {column}"), bound, found(shape, column));
    }
}

fn count(bench: &Bench, sheet: &mut Sheet, program: &Path) -> Result<(), String> {
    if !is_installed("valgrind") {
        sheet.skip("user instructions: valgrind is not installed");
        return Ok(());
    }
    let lengths = if bench.size == Size::Small { (200, 400) } else { (10_000, 40_000) };
    // In a debug build, laying out a drive takes hundreds of times as many instructions: one shape
    // shows that it works.
    let shapes = if bench.size == Size::Small { &SHAPES[..1] } else { &SHAPES[..] };
    for shape in shapes {
        let spent = Some(spread(&[instructions(program, shape, lengths)? as f64]));
        sheet.row(shape.name, "iolab", vec![None, None, None, None, None, None, spent]);
        let what = format!("{}: user instructions", shape.name);
        sheet.target(what, Bound::AtMost(shape.target as f64), spent);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_several_rounds_are_gathered_and_judged() {
        let mut figures = Vec::new();
        for value in ["5000000", "7000000", "6500000"] {
            let line = format!("{}\tIOPS\t{value}", TARGETS[0].0);
            take(&mut figures, Command::new("echo").arg(line)).unwrap();
        }
        let mut sheet = Sheet::new("nvme", &COLUMNS);
        fill(&mut sheet, &figures);
        assert_eq!((sheet.rows.len(), sheet.rows[0].cells[0].unwrap().median), (1, 6.5e6));
        let text = sheet.markdown();
        assert!(text.contains("reached") && text.contains("not measured"), "{text}");
        assert!(take(&mut figures, Command::new("echo").arg("nonsense")).is_err());
        assert!(take(&mut figures, &mut Command::new("false")).is_err());
    }
}
