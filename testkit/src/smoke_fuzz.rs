//! A small fuzzer without feedback: mutates seeds with a fixed random sequence and catches panics.
//!
//! It finds what is easy to find, in every test run, on the stable compiler, the same on every
//! machine. The thorough search is cargo-fuzz with the same targets. It does not notice an endless
//! loop: the test's own time limit does.

use std::panic::{self, AssertUnwindSafe};

/// An input that made a target panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crash {
    /// The input.
    pub input: Vec<u8>,
    /// Which round, from 0.
    pub round: u64,
}

/// Runs `target` on the seeds and then on `rounds` mutations of them; `words` are spliced in now
/// and then.
///
/// # Errors
/// The first input that makes it panic.
pub fn smoke(target: fn(&[u8]), seeds: &[&[u8]], words: &[&str], rounds: u64) -> Result<(), Crash> {
    let survives = |input: &[u8]| panic::catch_unwind(AssertUnwindSafe(|| target(input))).is_ok();
    for seed in seeds {
        if !survives(seed) {
            return Err(Crash { input: seed.to_vec(), round: 0 });
        }
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..rounds {
        let mut input = seeds.get(random.below(seeds.len())).map(|seed| seed.to_vec()).unwrap_or_default();
        for _ in 0..=random.below(6) {
            mutate(&mut input, seeds, words, &mut random);
        }
        if !survives(&input) {
            return Err(Crash { input, round });
        }
    }
    Ok(())
}

/// xorshift64*: quick, and the same everywhere.
struct Random(u64);

impl Random {
    /// A number below `limit`; 0 for a limit of 0.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let mixed = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        if limit == 0 { 0 } else { (mixed % limit as u64) as usize }
    }
}

/// Longest input tried, bytes.
const LONGEST: usize = 1 << 12;

fn mutate(input: &mut Vec<u8>, seeds: &[&[u8]], words: &[&str], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let span = random.below(32.min(input.len() - at) + 1);
    match random.below(8) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => input.insert(at, random.below(256) as u8),
        2 => drop(input.drain(at..at + span)),
        3 => {
            let copy = input[at..at + span].to_vec();
            let to = random.below(input.len() + 1);
            input.splice(to..to, copy);
        }
        4 => input.truncate(at),
        5 => {
            let other = seeds.get(random.below(seeds.len())).copied().unwrap_or_default();
            let from = random.below(other.len() + 1);
            input.splice(at.., other[from..].iter().copied());
        }
        6 => replace_number(input, at, random),
        _ => {
            let word = words.get(random.below(words.len())).copied().unwrap_or_default();
            input.splice(at..at + span.min(random.below(8)), word.bytes());
        }
    }
    input.truncate(LONGEST);
}

/// Puts an awkward number in the place of the digits at or after `at`.
fn replace_number(input: &mut Vec<u8>, at: usize, random: &mut Random) {
    const AWKWARD: [&str; 9] =
        ["0", "-1", "1", "65536", "4294967296", "9223372036854775808", "18446744073709551615", "1e308", "0x"];
    let Some(start) = input[at..].iter().position(u8::is_ascii_digit).map(|offset| at + offset) else { return };
    let length = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    input.splice(start..start + length, AWKWARD[random.below(AWKWARD.len())].bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutation_keeps_within_bounds() {
        let seeds: [&[u8]; 3] = [b"", b"a", b"[job]\nsize=4096\n"];
        assert_eq!(smoke(|input| assert!(input.len() <= LONGEST), &seeds, &["word"], 20_000), Ok(()));
        assert_eq!(smoke(|_| {}, &[], &[], 100), Ok(()));
    }

    #[test]
    fn a_seed_that_crashes_is_reported_as_it_is() {
        let crash = smoke(|input| assert!(input.is_empty()), &[b"x"], &[], 0).unwrap_err();
        assert_eq!(crash.input, b"x");
    }
}
