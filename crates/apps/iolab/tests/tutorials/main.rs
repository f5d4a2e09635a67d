//! The commands of `docs/tutorial` work, and print what the pages say.
//!
//! Each page runs in a folder of its own, its blocks of `sh` in their order. A block of `text`
//! behind one is output: every line of it must be printed, with other numbers; `…` stands for lines
//! that are left out. A comment before a block changes what the test does:
//!
//! ```text
//! <!-- test: needs root -->          the page ends here for other users; other words after `needs`
//!                                    are programs
//! <!-- test: instead: COMMAND -->    the test runs this, because the command takes long
//! <!-- test: not run: REASON -->     the test runs nothing
//! ```

#[path = "../support/mod.rs"]
mod support;

mod page;

use std::path::{Path, PathBuf};

use page::{Block, Page, shape};
use support::Lab;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/tutorial").canonicalize().expect("docs/tutorial is there")
}

/// Whether a need of a page is met here.
fn is_met(need: &str) -> bool {
    match need {
        "root" => rustix_is_root(),
        program => {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
        }
    }
}

fn rustix_is_root() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        status
            .lines()
            .any(|line| line.strip_prefix("Uid:").is_some_and(|ids| ids.split_whitespace().nth(1) == Some("0")))
    })
}

/// Ends what a page has started and not ended, when the test ends: it writes process numbers to
/// files that end in `.pid`.
struct Started<'l>(&'l Lab);

impl Drop for Started<'_> {
    fn drop(&mut self) {
        self.0.shell("for file in *.pid; do kill -KILL $(cat $file); done; umount mnt");
    }
}

/// Runs the commands of a page.
fn follow(name: &str) {
    let path = folder().join(name);
    let page = Page::parse(&std::fs::read_to_string(&path).unwrap()).unwrap_or_else(|why| panic!("{name}: {why}"));
    let lab = Lab::new();
    // Paths of the repository are those of a reader who is in it.
    for shared in ["jobs", "studies"] {
        std::os::unix::fs::symlink(folder().join("../..").join(shared), lab.path(shared)).unwrap();
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_iolab")).parent().unwrap();
    // Sockets of served devices are private to the page.
    lab.shell("mkdir -m 700 run");
    let _started = Started(&lab);
    for block in &page.blocks {
        match block {
            Block::Needs(need) if !is_met(need) => {
                support::skipped(&format!("{name}: the rest needs {need}"));
                return;
            }
            Block::Needs(_) => {}
            Block::Commands { line, text, output } => {
                let script = format!("set -e\nexport PATH={}:$PATH XDG_RUNTIME_DIR=$PWD/run\n{text}", bin.display());
                let done = lab.shell(&script);
                let printed = done.printed() + &done.errors();
                assert_eq!(done.code(), 0, "{name}:{line}: `{text}` failed:\n{printed}");
                let have: Vec<String> = printed.lines().map(shape).collect();
                let missing: Vec<&String> = output.iter().filter(|line| !have.contains(&shape(line))).collect();
                assert!(
                    missing.is_empty(),
                    "{name}:{line}: not printed any more: {missing:#?}\nprinted was:\n{printed}"
                );
            }
        }
    }
}

/// A test for each page; a page without one is found by `every_page_is_followed`.
macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(#[test]
        fn $test() {
            follow($page);
        })*
    };
}

pages! {
    first_quarter_of_an_hour: "first.md",
    interfaces: "interfaces.md",
    many_disks: "many-disks.md",
    file_system: "file-system.md",
    block_devices: "block-devices.md",
    practical: "practical.md",
}

#[test]
fn every_page_is_followed() {
    let mut there: Vec<String> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.retain(|name| name != "README.md");
    there.sort();
    let mut followed: Vec<&str> = PAGES.to_vec();
    followed.sort_unstable();
    assert_eq!(there, followed);
}

/// Pages that are no part of the book: what links to them is the repository.
const BESIDE_THE_BOOK: &[&str] = &["SUMMARY.md"];

#[test]
fn every_page_of_the_documentation_is_in_the_book() {
    let docs = folder().join("..").canonicalize().unwrap();
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let mut left = vec![docs.clone()];
    let mut missing = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            let name = path.strip_prefix(&docs).unwrap().to_str().unwrap();
            if !BESIDE_THE_BOOK.contains(&name) && !summary.contains(&format!("({name})")) {
                missing.push(name.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
    let named = summary.match_indices("](").map(|(at, _)| summary[at + 2..].split(')').next().unwrap());
    let gone: Vec<&str> = named.filter(|name| !docs.join(name).is_file()).collect();
    assert!(gone.is_empty(), "docs/SUMMARY.md names pages that are not there: {gone:?}");
}
