//! The instructions of a 4 KiB read of a virtual NVMe device: the driver alone, driver and device
//! in one thread, and both with a model of flash.
//!
//! The device's time is simulated, so that a run takes the same instructions every time. The cost
//! of the driver alone is what callgrind counts within the two functions of the example that call
//! it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::Workshop;

/// A part of the way of a read, at a depth.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    words: &'static [&'static str],
    /// Counts what these functions take with all that they call, instead of everything.
    within: &'static [&'static str],
    /// What is asked for.
    pub(crate) target: u64,
    /// Most user instructions for a read; a tenth more fails.
    budget: u64,
}

const DRIVER: &[&str] = &["*driver_submit*", "*driver_reap*"];

pub(crate) const SHAPES: [Shape; 7] = [
    Shape { name: "driver, depth 1", words: &["depth=1"], within: DRIVER, target: 280, budget: 275 },
    Shape { name: "driver, depth 32", words: &["depth=32"], within: DRIVER, target: 280, budget: 190 },
    Shape { name: "driver and ideal device, depth 1", words: &["depth=1"], within: &[], target: 700, budget: 695 },
    Shape { name: "driver and ideal device, depth 32", words: &["depth=32"], within: &[], target: 700, budget: 445 },
    Shape { name: "driver and ideal device, depth 128", words: &["depth=128"], within: &[], target: 700, budget: 440 },
    Shape {
        name: "driver and device with flash, depth 32",
        words: &["model=nand", "depth=32"],
        within: &[],
        target: 1300,
        budget: 1255,
    },
    Shape {
        name: "driver and device with flash, depth 128",
        words: &["model=nand", "depth=128"],
        within: &[],
        target: 1300,
        budget: 1285,
    },
];

/// The program whose instructions are counted.
pub(crate) fn program(workshop: &Workshop) -> Result<PathBuf, String> {
    workshop.example("iolab-engine-nvme", "cost")
}

/// User instructions for each read, from the slope between two lengths of run.
pub(crate) fn instructions(program: &Path, shape: &Shape, (short, long): (u64, u64)) -> Result<u64, String> {
    let counted = |reads: u64| {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        valgrind.args(shape.within.iter().map(|function| format!("--toggle-collect={function}")));
        valgrind.arg(program).args(shape.words).args(["size=64M".to_owned(), format!("ops={reads}")]);
        super::collected(&mut valgrind)
    };
    Ok(counted(long)?.saturating_sub(counted(short)?) / (long - short))
}

/// All shapes, and a sentence for every budget that was exceeded.
pub(super) fn table(workshop: &Workshop) -> Result<(String, Vec<String>), String> {
    let program = program(workshop)?;
    let mut table = String::from(
        "| user instructions a read of a virtual NVMe device (callgrind) | found | budget | target |\n\
         | --- | ---: | ---: | ---: |\n",
    );
    let mut exceeded = Vec::new();
    for shape in &SHAPES {
        let spent = instructions(&program, shape, (10_000, 40_000))?;
        let _ = writeln!(table, "| {} | {spent} | {} | {} |", shape.name, shape.budget, shape.target);
        exceeded.extend(super::excess(shape.name, spent, shape.budget));
    }
    Ok((table, exceeded))
}
