//! Suites build what they run for the whole workspace.
//!
//! A build of some packages selects other features: it compiles dozens of crates once more, and may
//! replace the program that another suite is running at the same time. A guest, which reads it page
//! by page, then runs a mixture of both and crashes. Builds with `--release`, of other workspaces,
//! and into other folders are apart.

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let in_a_suite = |file: &&TextFile| file.path.starts_with("ci/suites/") && !file.path.ends_with(".md");
    repository.files.iter().filter(in_a_suite).flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> impl Iterator<Item = Finding> + '_ {
    let lines = file.text.lines().enumerate().filter(|(_, line)| builds_a_part(line));
    lines.map(|(place, _)| {
        let advice = "builds a part of the workspace, with other features than the other suites: say --workspace";
        Finding::new(&file.path, place + 1, advice)
    })
}

fn builds_a_part(line: &str) -> bool {
    let words: Vec<&str> = line.split(|part: char| part.is_whitespace() || "\"(),[]".contains(part)).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let has_pair = |first: &[&str], is_second: &dyn Fn(&str) -> bool| {
        words.windows(2).any(|pair| first.contains(&pair[0]) && is_second(pair[1]))
    };
    let builds = has_pair(&["cargo"], &|word| ["build", "test", "run"].contains(&word));
    // `cargo run` cannot build the workspace; what it runs of another package is an example.
    let runs_another =
        has_pair(&["cargo"], &|word| word == "run") && has_pair(&["-p", "--package"], &|word| word != "iolab");
    let is_apart = ["--workspace", "--release", "--target-dir", "--manifest-path"];
    builds && !runs_another && !words.iter().any(|word| is_apart.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_of_a_part_is_found() {
        for (line, is_found) in [
            ("cargo build --quiet -p iolab --bins", true),
            ("    cargo test --quiet --package iolab --test program verification::", true),
            ("cargo build --quiet --release -p iolab --bin iolab", false),
            ("cargo build --quiet --workspace --bins --examples", false),
            ("cargo test -p iolab-kv-rocksdb --lib", true),
            ("    cargo build --quiet", true),
            ("cargo run --quiet -- run job.fio", true),
            ("cargo run -p iolab -- run job.fio", true),
            ("cargo run --quiet -p iolab-verbs --example layout", false),
            ("cargo build --manifest-path mpi/Cargo.toml", false),
            ("subprocess.run([\"cargo\", \"build\", \"--quiet\"], check=True)", true),
            ("subprocess.run([\"cargo\", \"build\", \"--workspace\", \"--bins\"], check=True)", false),
        ] {
            assert_eq!(builds_a_part(line), is_found, "{line}");
        }
    }
}
