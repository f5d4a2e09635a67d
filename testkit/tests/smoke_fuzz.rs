//! Every fuzz target survives its corpus and a fixed sequence of mutated inputs, and the canary
//! does not.
//!
//! `IOLAB_SMOKE_FUZZ_ROUNDS` sets how many inputs each target gets.

#[path = "../../fuzz/src/targets.rs"]
#[allow(dead_code, unreachable_pub, reason = "`run`, and being public, are for the libFuzzer binaries")]
mod targets;

use std::path::{Path, PathBuf};

use iolab_testkit::parallel;
use iolab_testkit::smoke_fuzz::smoke;
use targets::Target;

fn rounds() -> u64 {
    std::env::var("IOLAB_SMOKE_FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(400)
}

#[test]
fn targets_survive() {
    parallel::for_each(targets::TARGETS, |target| {
        if let Err(crash) = smoke(target.run, target.seeds, target.words, rounds()) {
            panic!("{} fails in round {} on:\n{}", target.name, crash.round, crash.input.escape_ascii());
        }
    });
}

/// What a fuzzer with feedback has found to reach something new (`fuzz/README.md`), one run for
/// each.
#[test]
fn targets_survive_their_corpus() {
    let inputs: Vec<(&Target, PathBuf)> = targets::TARGETS.iter().flat_map(corpus).collect();
    parallel::for_each(inputs, |(target, path)| {
        let alone = smoke(target.run, &[&std::fs::read(&path).unwrap()], &[], 0);
        assert!(alone.is_ok(), "{} fails on {}", target.name, path.display());
    });
}

/// The inputs of a target's corpus.
fn corpus(target: &Target) -> Vec<(&Target, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target.name);
    let inputs = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let inputs: Vec<_> = inputs.map(|input| (target, input.unwrap().path())).collect();
    let (count, name) = (inputs.len(), target.name);
    assert!(count >= target.seeds.len(), "the corpus of {name} has {count} inputs, fewer than its seeds");
    inputs
}

#[test]
fn the_recording_seed_is_a_recording() {
    let target = targets::TARGETS.iter().find(|target| target.name == "recording_reader").unwrap();
    let seed = std::str::from_utf8(target.seeds[0]).unwrap();
    iolab_recording::Recording::from_json(seed).unwrap();
}

#[test]
fn the_partial_seed_reaches_the_entries() {
    let target = targets::TARGETS.iter().find(|target| target.name == "partial_recording").unwrap();
    let interval = &target.seeds[1][1..][..usize::from(target.seeds[1][0])];
    let bytes = [targets::partial_start(), iolab_recording::partial::forged(3, &interval[1..])].concat();
    let partial = iolab_recording::partial::Partial::read(&bytes).unwrap();
    assert_eq!(partial.damage, None);
    assert_eq!(partial.into_recording().workers[0].directions[0].lat.max, 5);
}

#[test]
fn the_canary_is_found() {
    let canary = targets::CANARY;
    assert!(smoke(canary.run, canary.seeds, canary.words, 20_000).is_err(), "the fuzzer misses a planted bug");
}

#[test]
fn every_target_has_its_binary() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for name in targets::TARGETS.iter().map(|target| target.name).chain([targets::CANARY.name]) {
        assert!(folder.join(format!("fuzz_targets/{name}.rs")).exists(), "fuzz/fuzz_targets/{name}.rs is missing");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "fuzz/Cargo.toml has no binary {name}");
    }
}
