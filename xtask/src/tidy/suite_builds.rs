//! Suites build the programs that they run for the whole workspace.
//!
//! A build of the program's package alone selects other features, and replaces the program that
//! another suite is running at the same time. A guest, which reads it page by page, then runs a
//! mixture of both and crashes. Builds with `--release` have a folder of their own.

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let in_a_suite = |file: &&TextFile| file.path.starts_with("ci/suites/") && !file.path.ends_with(".md");
    repository.files.iter().filter(in_a_suite).flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> impl Iterator<Item = Finding> + '_ {
    let lines = file.text.lines().enumerate().filter(|(_, line)| builds_the_program_alone(line));
    lines.map(|(place, _)| {
        let advice =
            "builds the package `iolab` alone, and replaces the program that other suites run: say --workspace";
        Finding::new(&file.path, place + 1, advice)
    })
}

fn builds_the_program_alone(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let builds = words.windows(2).any(|pair| pair[0] == "cargo" && ["build", "test", "run"].contains(&pair[1]));
    let alone = words.windows(2).any(|pair| ["-p", "--package"].contains(&pair[0]) && pair[1] == "iolab");
    builds && alone && !words.contains(&"--release")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_of_the_program_alone_is_found() {
        for (line, is_found) in [
            ("cargo build --quiet -p iolab --bins", true),
            ("    cargo test --quiet --package iolab --test program verification::", true),
            ("cargo build --quiet --release -p iolab --bin iolab", false),
            ("cargo build --quiet --workspace --bins --examples", false),
            ("cargo test -p iolab-kv-rocksdb --lib", false),
        ] {
            assert_eq!(builds_the_program_alone(line), is_found, "{line}");
        }
    }
}
