//! No file of the user is destroyed: random invocations in a folder of the user's files.
//!
//! After each invocation, every file, folder, link and pipe that existed before is unchanged, byte
//! by byte. Only what the invocation named may differ: with `--allow-destroy` or `--force`, or in
//! fio mode with the very `filename=` of a job that writes. In fio mode, a line on standard error
//! then says so. `IOLAB_INVOCATIONS` sets the number of invocations, and `IOLAB_SEED` the first
//! seed; a failure prints the seed that repeats it.

mod invocation;
mod tree;

use std::process::{Command, Stdio};
use std::time::Duration;

use self::invocation::{Dice, Invocation};
use self::tree::Tree;
use crate::support::{PATIENCE_NS, now_ns};

/// Few in the tests of every change; thousands in a campaign.
const INVOCATIONS: u64 = 150;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

#[test]
fn no_invocation_touches_what_it_does_not_name() {
    let first = number("IOLAB_SEED", 1);
    let mut tree = Tree::new();
    for seed in first..first + number("IOLAB_INVOCATIONS", INVOCATIONS) {
        let invocation = Invocation::draw(&mut Dice::new(seed));
        attempt(&mut tree, &invocation, &format!("IOLAB_SEED={seed} IOLAB_INVOCATIONS=1"));
    }
}

/// Invocations that were found by hand; each of them destroyed something once.
#[test]
fn what_destroyed_files_once() {
    let mut tree = Tree::new();
    let corpus = include_str!("user_files/corpus.txt");
    for line in corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        attempt(&mut tree, &Invocation::of_words(&words), line);
    }
}

/// Tests the check itself: a changed tree is noticed.
#[test]
fn a_touched_tree_is_noticed() {
    let tree = Tree::new();
    assert_eq!(tree.differences(&[], true), [] as [String; 0]);
    std::fs::write(tree.path("precious.txt"), "years of worK").unwrap();
    std::fs::remove_file(tree.path("empty.txt")).unwrap();
    std::fs::remove_dir(tree.path("hollow")).unwrap();
    std::fs::write(tree.path("../outside/new"), "").unwrap();
    let found = tree.differences(&[], true).join("\n");
    for name in ["precious.txt", "empty.txt", "hollow", "outside/new"] {
        assert!(found.contains(name), "{name}: {found}");
    }
    assert!(!tree.differences(&["precious.txt".to_owned()], true).join("\n").contains("precious.txt"));
}

fn attempt(tree: &mut Tree, invocation: &Invocation, again: &str) {
    let said = run(tree, invocation);
    let differences = tree.differences(&invocation.named, !invocation.names_a_way_out());
    assert!(differences.is_empty(), "{again}\n{invocation:?}\n{differences:#?}\n{said}");
    let (changed, excused) = (tree.changed(&invocation.named), invocation.allowed);
    assert!(
        changed.is_empty() || excused || said.contains("warning: "),
        "{again}\n{invocation:?}\nchanged without a word: {changed:?}\n{said}"
    );
    tree.restore(&invocation.named);
}

/// Runs the invocation in the tree; returns its standard error.
fn run(tree: &Tree, invocation: &Invocation) -> String {
    let program = if invocation.as_fio { env!("CARGO_BIN_EXE_fio") } else { env!("CARGO_BIN_EXE_iolab") };
    let said = tree.beside("stderr");
    let mut child = Command::new(program)
        .args(&invocation.words)
        .current_dir(tree.path(""))
        .env("IOLAB_RECORDINGS", tree.beside("recordings"))
        .env("IOLAB_DEVICES", tree.beside("devices"))
        .env("IOLAB_STATE", tree.beside("state"))
        .env("IOLAB_DB", tree.beside("runs.db"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let begun_ns = now_ns();
    while child.try_wait().unwrap().is_none() {
        if now_ns() - begun_ns > PATIENCE_NS {
            child.kill().unwrap();
            panic!("it hangs: {invocation:?}");
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    let said = String::from_utf8_lossy(&std::fs::read(said).unwrap()).into_owned();
    assert!(!said.contains("panicked at"), "{invocation:?}\n{said}");
    said
}
