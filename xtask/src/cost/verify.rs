//! The instructions of filling and checking a block of 4 KiB that is verified with crc32c.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::programs::Workshop;

/// What is done, and the most user instructions of it; a tenth more fails.
const BUDGETS: [(&str, u64); 2] = [("filling", 1200), ("checking", 1200)];

/// Both, and a sentence for each that takes too many.
pub(super) fn table(workshop: &Workshop) -> Result<(String, Vec<String>), String> {
    let program = workshop.example("iolab-verify", "verify_cost")?;
    let fill = instructions(&program, "fill")?;
    let check = instructions(&program, "both")?.saturating_sub(fill);
    let mut table = String::from(
        "| user instructions a verified block of 4 KiB, crc32c (callgrind) | found | budget |\n| --- | ---: | ---: |\n",
    );
    let mut exceeded = Vec::new();
    for ((name, budget), spent) in BUDGETS.into_iter().zip([fill, check]) {
        let _ = writeln!(table, "| {name} | {spent} | {budget} |");
        exceeded.extend(super::excess(name, spent, budget));
    }
    Ok((table, exceeded))
}

/// From the slope between two lengths of run.
fn instructions(program: &Path, what: &str) -> Result<u64, String> {
    let counted = |ops: u64| {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
        super::collected(valgrind.args([format!("what={what}"), format!("ops={ops}")]))
    };
    Ok(counted(11_000)?.saturating_sub(counted(1000)?) / 10_000)
}
