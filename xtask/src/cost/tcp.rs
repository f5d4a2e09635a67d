//! The instructions of a 4 KiB read by NVMe/TCP at either end, 128 reads at a time.
//!
//! Both ends run in one process, on loopback. callgrind counts the functions that drive one of
//! them; the kernel's part is not counted. The number of reads that arrive at once depends slightly
//! on the machine, and so do the counts.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::programs::Workshop;

/// One end.
struct End {
    name: &'static str,
    /// Counts what this function takes with all that it calls.
    within: &'static str,
    target: u64,
    /// Most user instructions for a read; a tenth more fails.
    budget: u64,
}

const ENDS: [End; 2] = [
    End { name: "NVMe/TCP initiator, depth 128", within: "*count_initiator*", target: 1200, budget: 760 },
    End { name: "NVMe/TCP target, depth 128", within: "*Poller*serve_events*", target: 1500, budget: 920 },
];

/// Both ends, and a sentence for each that takes too many.
pub(super) fn table(workshop: &Workshop) -> Result<(String, Vec<String>), String> {
    let program = workshop.example("iolab-nvme-tcp", "loopback")?;
    let mut table = String::from(
        "| user instructions a read of 4 KiB by NVMe/TCP (callgrind) | found | budget | target |\n\
         | --- | ---: | ---: | ---: |\n",
    );
    let mut exceeded = Vec::new();
    for end in &ENDS {
        let spent = instructions(&program, end)?;
        let _ = writeln!(table, "| {} | {spent} | {} | {} |", end.name, end.budget, end.target);
        exceeded.extend(super::excess(end.name, spent, end.budget));
    }
    Ok((table, exceeded))
}

/// Reads that the program makes (its `COUNTED`).
const READS: u64 = 20_000;

fn instructions(program: &Path, end: &End) -> Result<u64, String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(format!("--toggle-collect={}", end.within)).arg(program).arg("count");
    Ok(super::collected(&mut valgrind)? / READS)
}
