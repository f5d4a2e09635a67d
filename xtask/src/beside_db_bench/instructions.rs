//! User instructions of an operation, counted by callgrind: independent of other load on the
//! machine.
//!
//! Each benchmark runs twice, with operations and with twice as many, on stores of the same keys.
//! The difference is the cost of these operations, in all threads, without start, end and filling.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::side::Side;

/// Keys of the store.
const KEYS: u64 = 40_000;
/// Operations of the shorter run.
const FEW: u64 = 20_000;

/// The benchmarks that are run, the last of which is counted, and the flag that says how many
/// operations.
const CASES: [(&str, &str); 4] = [
    ("fillseq", "writes"),
    ("fillseq,flush,readseq", "reads"),
    ("fillrandom", "writes"),
    ("fillrandom,flush,readrandom", "reads"),
];

/// A table with both programs.
pub(super) fn table(sides: &[Side; 2]) -> Result<String, String> {
    let mut text = String::from("\n| user instructions an operation (callgrind) | db_bench | iolab | ratio |\n");
    text += "| --- | ---: | ---: | ---: |\n";
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    for (benchmarks, flag) in CASES {
        let mut found = [0.0; 2];
        for (side, found) in sides.iter().zip(&mut found) {
            let count = |operations| counted(side, benchmarks, flag, operations, folder.path());
            *found = count(2 * FEW)?.saturating_sub(count(FEW)?) as f64 / FEW as f64;
        }
        let name = benchmarks.rsplit(',').next().unwrap_or(benchmarks);
        let _ = writeln!(text, "| {name} | {:.0} | {:.0} | {:.3} |", found[0], found[1], found[1] / found[0]);
        println!("instructions of {name}: {:.0}/{:.0}", found[0], found[1]);
    }
    Ok(text)
}

/// All instructions of one run.
fn counted(side: &Side, benchmarks: &str, flag: &str, operations: u64, folder: &Path) -> Result<u64, String> {
    let db = folder.join("db");
    let plain = side.command(benchmarks, &db);
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(plain.get_program())
        .args(plain.get_args());
    command.arg(format!("--num={KEYS}")).arg("--seed=7").arg(format!("--{flag}={operations}"));
    let output = command.stdout(Stdio::null()).output().map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let _ = std::fs::remove_dir_all(&db);
    collected(&said).ok_or_else(|| format!("{command:?}: {}", said.trim()))
}

/// The number behind `Collected :`.
fn collected(said: &str) -> Option<u64> {
    let line = said.lines().rev().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::collected;

    #[test]
    fn the_sum_is_read() {
        let said = "==7== Events    : Ir\n==7== Collected : 123456789\n==7== \n";
        assert_eq!(collected(said), Some(123_456_789));
        assert_eq!(collected("nothing"), None);
    }
}
