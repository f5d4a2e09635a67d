//! `cargo xtask cost`: the cost of an operation in iolab itself, compared with fio, and in
//! instructions.
//!
//! Two measurements, both on the null engine, which isolates the cost of the program. *Speed*: the
//! release build and the installed fio in turn, several rounds, every statistic on; medians and the
//! ratio of medians. *Instructions*: user instructions for each operation, counted by callgrind,
//! from the difference of a long and a short run, so that start and end cancel. Instruction counts
//! do not depend on the machine's load, so they have budgets, and exceeding one by a tenth is a
//! failure. There, too, the clock is the time stamp counter (valgrind reads the real one), so that
//! the counted code is the real code. [`nvme`] also counts a read through the NVMe driver and
//! device, [`tcp`] a read by NVMe/TCP, [`verify`] a verified block.

pub(crate) mod nvme;
mod tcp;
mod verify;

use std::fmt::Write;
use std::process::{Command, Stdio};

use crate::page;
use crate::programs::{Profile, Workshop};
use crate::repository::Repository;

const PAGE: &str = "docs/cost.md";
const BEGIN: &str = "<!-- tables: written by cargo xtask cost --write -->";

const USAGE: &str = "usage: cargo xtask cost [--instructions] [--rounds=5] [--runtime-ms=1000] [--write]";

/// One shape of load on the null engine.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) depth: u32,
    pub(crate) map: bool,
    /// Most user instructions for an operation; a tenth more fails.
    budget: u64,
}

pub(crate) const SHAPES: [Shape; 6] = [
    Shape { name: "depth 1, no random map", depth: 1, map: false, budget: 190 },
    Shape { name: "depth 1, random map", depth: 1, map: true, budget: 225 },
    Shape { name: "depth 32, no random map", depth: 32, map: false, budget: 135 },
    Shape { name: "depth 32, random map", depth: 32, map: true, budget: 165 },
    Shape { name: "depth 128, no random map", depth: 128, map: false, budget: 115 },
    Shape { name: "depth 128, random map", depth: 128, map: true, budget: 150 },
];

impl Shape {
    fn words(&self) -> Vec<String> {
        let fixed = "--name=cost --ioengine=null --size=1t --rw=randread --bs=4k --thread --minimal";
        let mut words: Vec<String> = fixed.split(' ').map(str::to_owned).collect();
        words.push(format!("--iodepth={}", self.depth));
        words.push(format!("--norandommap={}", u8::from(!self.map)));
        words
    }
}

/// Runs what the words ask for and prints the tables.
pub(crate) fn run(repository: &Repository, words: &[&str]) -> Result<(), String> {
    let mut rounds = 5;
    let mut runtime_ms = 1000;
    let (mut only_instructions, mut write) = (false, false);
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<u64>().ok().filter(|number| *number > 0).ok_or(USAGE.to_owned());
        match name {
            "--instructions" => only_instructions = true,
            "--write" => write = true,
            "--rounds" => rounds = number()?,
            "--runtime-ms" => runtime_ms = number()?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let workshop = Workshop::open(repository, Profile::Release)?;
    let ours = workshop.iolab()?.display().to_string();
    let mut tables = String::new();
    if !only_instructions {
        tables += &speed_table(&ours, rounds, runtime_ms)?;
        tables.push('\n');
    }
    let (table, mut exceeded) = instruction_table(&ours)?;
    tables += &table;
    let (table, more) = nvme::table(&workshop)?;
    tables = tables + "\n" + &table;
    exceeded.extend(more);
    let (table, more) = tcp::table(&workshop)?;
    tables = tables + "\n" + &table;
    exceeded.extend(more);
    let (table, more) = verify::table(&workshop)?;
    tables = tables + "\n" + &table;
    exceeded.extend(more);
    print!("{tables}");
    if write {
        page::put(repository, PAGE, BEGIN, &tables)?;
    }
    if exceeded.is_empty() { Ok(()) } else { Err(exceeded.join("\n")) }
}

/// IOPS of both programs in turn.
fn speed_table(ours: &str, rounds: u64, runtime_ms: u64) -> Result<String, String> {
    let mut table = String::from(
        "| null engine, 4 KiB, one core, all statistics | fio IOPS | iolab IOPS | ns an operation | times fio |\n",
    );
    table += "| --- | ---: | ---: | ---: | ---: |\n";
    for shape in &SHAPES {
        let (mut theirs, mut our) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            // The order changes, so that neither has an advantage.
            if round % 2 == 0 {
                theirs.push(iops("fio", shape, runtime_ms)?);
                our.push(iops(ours, shape, runtime_ms)?);
            } else {
                our.push(iops(ours, shape, runtime_ms)?);
                theirs.push(iops("fio", shape, runtime_ms)?);
            }
        }
        let (theirs, our) = (median(theirs), median(our));
        let _ = writeln!(
            table,
            "| {} | {:.2} M | {:.1} M | {:.1} | {:.1} |",
            shape.name,
            theirs / 1e6,
            our / 1e6,
            1e9 / our,
            our / theirs
        );
    }
    Ok(table)
}

/// Read IOPS of one run: the eighth field of the terse report.
fn iops(program: &str, shape: &Shape, runtime_ms: u64) -> Result<f64, String> {
    let mut command = Command::new(program);
    command.args(shape.words()).args(["--time_based".to_owned(), format!("--runtime={runtime_ms}ms")]);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let field = text.lines().find(|line| line.starts_with('3')).and_then(|line| line.split(';').nth(7));
    field.and_then(|field| field.parse().ok()).ok_or_else(|| format!("{program} gave no terse report: {text}"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// User instructions of each shape, and a sentence for every budget that was exceeded.
fn instruction_table(ours: &str) -> Result<(String, Vec<String>), String> {
    let mut table =
        String::from("| user instructions an operation (callgrind) | iolab | budget |\n| --- | ---: | ---: |\n");
    let mut exceeded = Vec::new();
    for shape in &SHAPES {
        let spent = instructions(ours, shape)?;
        let _ = writeln!(table, "| {} | {spent} | {} |", shape.name, shape.budget);
        exceeded.extend(excess(shape.name, spent, shape.budget));
    }
    Ok((table, exceeded))
}

/// A sentence about a budget that was exceeded by too much.
fn excess(name: &str, spent: u64, budget: u64) -> Option<String> {
    (spent * 10 > budget * 11)
        .then(|| format!("{name}: {spent} instructions exceed the budget of {budget} by over a tenth"))
}

/// From the slope between two lengths of run.
fn instructions(ours: &str, shape: &Shape) -> Result<u64, String> {
    const SHORT: u64 = 100_000;
    const LONG: u64 = 500_000;
    let short = counted(ours, shape, SHORT)?;
    let long = counted(ours, shape, LONG)?;
    Ok(long.saturating_sub(short) / (LONG - SHORT))
}

fn counted(ours: &str, shape: &Shape, operations: u64) -> Result<u64, String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", ours]).args(shape.words());
    valgrind.arg(format!("--number_ios={operations}"));
    collected(&mut valgrind)
}

/// The instructions that callgrind reports.
fn collected(valgrind: &mut Command) -> Result<u64, String> {
    let output = valgrind.output().map_err(|error| format!("valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split_once("Collected : ").map(|(_, count)| count.trim().to_owned()));
    line.and_then(|count| count.parse().ok()).ok_or_else(|| format!("callgrind gave no count: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_rounds_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn a_tenth_above_the_budget_is_too_much() {
        assert_eq!(excess("a", 110, 100), None);
        assert!(excess("a", 111, 100).unwrap().starts_with("a: 111"));
    }

    #[test]
    fn a_shape_says_its_depth_and_map() {
        let words = SHAPES[3].words();
        assert!(words.contains(&"--iodepth=32".to_owned()) && words.contains(&"--norandommap=0".to_owned()));
    }
}
