//! `cargo xtask beside-db-bench`: whether `iolab kv bench` measures the same as `db_bench` on
//! RocksDB.
//!
//! The installed `db_bench` and this workspace's release build run the same benchmarks with the
//! same flags and the same seed on the same file system, in turn; the order changes from pair to
//! pair. The comparison covers the time of an operation, the keys found, the processor time, and
//! the bytes written to the device until everything was written out; the latter are counted here,
//! from outside, for both. Nothing is compared with a stored number.
//!
//! For root, the file system is ext4 on a RAM disk of the kernel. For others, it is the named
//! folder, where the traffic of all other programs on the same device counts, too.

mod instructions;
mod side;
mod table;

use std::path::{Path, PathBuf};

use crate::area::{Device, Mounted};
use crate::page;
use crate::programs::{Profile, Workshop};
use crate::repository::Repository;
use side::{Side, Turn};
use table::Pairs;

const PAGE: &str = "docs/guide/kv.md";
const BEGIN: &str = "<!-- tables: written by cargo xtask beside-db-bench --write -->";

const USAGE: &str = "\
usage: cargo xtask beside-db-bench [--small] [--debug] [--pairs=7] [--num=1000000] [--folder=FOLDER] [--instructions] [--write]";

/// The seed of both.
const SEED: u64 = 7;

/// Bytes of the RAM disk for a million keys, with room for a log and a compaction.
const DISK_BYTES: u64 = 1 << 30;

/// What one call of a program does: document A's two loads.
pub(crate) const LOADS: [[&str; 2]; 2] = [["fillseq", "readseq"], ["fillrandom", "readrandom"]];

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    /// Uses the build for tests instead of the release build, to check that the comparison works.
    debug: bool,
    pairs: usize,
    num: u64,
    folder: Option<PathBuf>,
    instructions: bool,
    write: bool,
}

fn wanted(words: &[&str]) -> Result<Wanted, String> {
    let small = words.contains(&"--small");
    let (pairs, num) = if small { (2, 20_000) } else { (7, 1_000_000) };
    let mut wanted = Wanted { debug: false, pairs, num, folder: None, instructions: false, write: false };
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<u64>().ok().filter(|number| *number > 0).ok_or(USAGE.to_owned());
        match name {
            "--small" => {}
            "--debug" => wanted.debug = true,
            "--pairs" => wanted.pairs = number()? as usize,
            "--num" => wanted.num = number()?,
            "--folder" if !value.is_empty() => wanted.folder = Some(PathBuf::from(value)),
            "--instructions" => wanted.instructions = true,
            "--write" => wanted.write = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(wanted)
}

/// Runs what the words ask for, prints a line for each pair as it is done, and the tables.
pub(crate) fn run(repository: &Repository, words: &[&str]) -> Result<(), String> {
    let wanted = wanted(words)?;
    let version = side::db_bench_version()?;
    let profile = if wanted.debug { Profile::Debug } else { Profile::Release };
    let iolab = Workshop::open(repository, profile)?.program()?;
    let sides = Side::both(&iolab);
    let mut text = match &wanted.folder {
        Some(folder) => compare(&sides, folder, &format!("in {}", folder.display()), &wanted)?,
        None => on_a_disk_of_our_own(&sides, &wanted)?,
    };
    if wanted.instructions {
        text += &instructions::table(&sides)?;
    }
    let build = if wanted.debug { "debug" } else { "release" };
    let text = format!("{version} against this repository's {build} build, {text}");
    println!("\n{text}");
    if wanted.write { page::put(repository, PAGE, BEGIN, &text) } else { Ok(()) }
}

fn on_a_disk_of_our_own(sides: &[Side; 2], wanted: &Wanted) -> Result<String, String> {
    let device = Device::ram_disk(DISK_BYTES)
        .map_err(|why| format!("{why}; name a folder with --folder=, on a device that nobody else uses"))?;
    let options = ["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"];
    let mounted = Mounted::new("mkfs.ext4", &options, &device)?;
    compare(sides, mounted.folder(), "on ext4 on a RAM disk (zram)", wanted)
}

/// All loads by both programs; the tables.
fn compare(sides: &[Side; 2], folder: &Path, place: &str, wanted: &Wanted) -> Result<String, String> {
    let mut all = Vec::new();
    for load in LOADS {
        let mut pairs: Pairs = [Vec::new(), Vec::new()];
        for pair in 0..wanted.pairs {
            // The order changes, so that neither has an advantage.
            for index in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
                pairs[index].push(sides[index].run(load, wanted.num, SEED, &folder.join("db"))?);
            }
            println!("{}", table::progress(load, pair + 1, &pairs));
        }
        all.push((load, pairs));
    }
    let loop_ns = sides[1].loop_ns(wanted.num)?;
    Ok(format!(
        "{place}; {} pairs in turn, `--num={} --seed={SEED}`.\n\n{}",
        wanted.pairs,
        wanted.num,
        table::markdown(&all, wanted.num, &loop_ns)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        let read = wanted(&["--small", "--pairs=3", "--folder=/x", "--instructions"]).unwrap();
        assert_eq!((read.num, read.pairs, read.instructions), (20_000, 3, true));
        assert_eq!((read.folder, read.debug), (Some(PathBuf::from("/x")), false));
        assert_eq!(wanted(&[]).unwrap().num, 1_000_000);
        for bad in ["--pairs=0", "--num=many", "--folder", "--what"] {
            assert!(wanted(&[bad]).is_err(), "{bad}");
        }
    }
}
