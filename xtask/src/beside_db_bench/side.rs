//! One call of one program, and its results: its result lines, and what was counted around it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::spending::spend;

/// One of the two programs.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) name: &'static str,
    program: PathBuf,
    /// Words before the flags.
    words: &'static [&'static str],
}

/// One call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Turn {
    /// Of each of the two benchmarks.
    pub(super) micros: [f64; 2],
    /// The words in parentheses behind the second: how many keys were found.
    pub(super) found: String,
    /// Processor time of the whole process, seconds.
    pub(super) processor_s: f64,
    /// Bytes that the device wrote and read until everything was written out, where that can be
    /// known.
    pub(super) device: Option<[u64; 2]>,
}

impl Side {
    /// `db_bench` as installed, and iolab.
    pub(super) fn both(iolab: &Path) -> [Side; 2] {
        let words = &["kv", "bench", "--store=rocksdb"];
        [
            Side { name: "db_bench", program: PathBuf::from("db_bench"), words: &[] },
            Side { name: "iolab", program: iolab.to_owned(), words },
        ]
    }

    /// The command for these benchmarks on a store of its own.
    pub(super) fn command(&self, benchmarks: &str, db: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.words).arg(format!("--benchmarks={benchmarks}")).arg(format!("--db={}", db.display()));
        command
    }

    /// Runs both benchmarks of a load on a new store in `db`, which goes afterwards.
    pub(super) fn run(&self, load: [&str; 2], num: u64, seed: u64, db: &Path) -> Result<Turn, String> {
        let mut command = self.command(&load.join(","), db);
        command.arg(format!("--num={num}")).arg(format!("--seed={seed}"));
        let folder = db.parent().ok_or("the store has no folder around it")?;
        write_out(folder)?;
        let before = device_bytes(folder);
        let spent = spend(&mut command)?;
        write_out(folder)?;
        let after = device_bytes(folder);
        std::fs::remove_dir_all(db).map_err(|error| format!("{}: {error}", db.display()))?;
        let device = before.zip(after).map(|(before, after)| [after[0] - before[0], after[1] - before[1]]);
        let (micros, found) =
            results(&spent.output, load).ok_or_else(|| format!("{} gave no results: {}", self.name, spent.output))?;
        Ok(Turn { micros, found, processor_s: spent.processor_s(), device })
    }

    /// The cost of each benchmark's loop alone, ns: the benchmark on a store that keeps nothing.
    pub(super) fn loop_ns(&self, num: u64) -> Result<Vec<(&'static str, f64)>, String> {
        let mut measured = Vec::new();
        for load in super::LOADS {
            let mut command = Command::new(&self.program);
            command.args(["kv", "bench", "--store=null"]);
            command.arg(format!("--benchmarks={}", load.join(","))).arg(format!("--num={num}"));
            let output = spend(&mut command)?.output;
            let (micros, _) = results(&output, load).ok_or("the store null gave no results")?;
            measured.extend([(load[0], micros[0] * 1000.0), (load[1], micros[1] * 1000.0)]);
        }
        Ok(measured)
    }
}

/// The version of `db_bench`, or how to install it.
pub(super) fn db_bench_version() -> Result<String, String> {
    let output = Command::new("db_bench").arg("--version").stderr(Stdio::null()).output();
    let output = output.map_err(|error| format!("db_bench: {error}; apt-get install rocksdb-tools"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().replace(" version", ""))
}

/// Micros of both benchmarks, and the keys found by the second.
fn results(text: &str, load: [&str; 2]) -> Option<([f64; 2], String)> {
    let line = |name: &str| {
        // db_bench writes its progress before a line, and ends it with a carriage return.
        let mut lines = text.split(['\n', '\r']).filter(|line| line.contains(" micros/op "));
        lines.find(|line| line.split_whitespace().next() == Some(name))
    };
    let micros = |line: &str| line.split_once(':')?.1.split_whitespace().next()?.parse::<f64>().ok();
    let (first, second) = (line(load[0])?, line(load[1])?);
    let found = second.split_once('(').map(|(_, rest)| rest.trim().trim_end_matches(')').to_owned());
    Some(([micros(first)?, micros(second)?], found.unwrap_or_default()))
}

/// Waits until the file system of the folder has written everything out.
fn write_out(folder: &Path) -> Result<(), String> {
    let status = Command::new("sync").arg("-f").arg(folder).status().map_err(|error| format!("sync: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("sync -f {}: {status}", folder.display())) }
}

/// Bytes that the folder's device has written and read since it was made.
fn device_bytes(folder: &Path) -> Option<[u64; 2]> {
    let number = std::fs::metadata(folder).ok()?.dev();
    // Linux's encoding of a device number in 64 bits (makedev(3)).
    let major = ((number >> 32) & 0xffff_f000) | ((number >> 8) & 0xfff);
    let minor = ((number >> 12) & 0xffff_ff00) | (number & 0xff);
    counted(&std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).ok()?)
}

/// Written and read sectors of 512 bytes (Documentation/block/stat.rst), as bytes.
fn counted(stat: &str) -> Option<[u64; 2]> {
    let fields: Vec<u64> = stat.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    Some([*fields.get(6)? * 512, *fields.get(2)? * 512])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_of_both_are_read() {
        let text = "fillrandom   :       6.290 micros/op 158982 ops/sec 6.290 seconds 100 operations;   17.6 MB/s\n\
                    ... finished 100 ops          \rreadrandom   :      11.300 micros/op 88495 ops/sec 1.1 seconds 100 operations;    \
                    6.1 MB/s (63 of 100 found)\n";
        assert_eq!(results(text, ["fillrandom", "readrandom"]), Some(([6.29, 11.3], "63 of 100 found".to_owned())));
        assert_eq!(results(text, ["fillseq", "readseq"]), None);
    }

    #[test]
    fn sectors_are_bytes() {
        let stat = "  100 0 16 5 200 3 32 9 0 4 5 0 0 0 0 0 0\n";
        assert_eq!(counted(stat), Some([32 * 512, 16 * 512]));
        assert_eq!(counted("1 2"), None);
    }
}
