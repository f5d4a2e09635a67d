//! Which pattern is measured when: interleaved, every pattern once in each round.
//!
//! A machine that slows down for some seconds then spoils one round of several patterns, which the
//! intervals show, instead of all rounds of one pattern, which nothing would show.

use crate::profiles::{Pattern, Profile};
use crate::results::{Case, Reading, Seen};

/// How often and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Rounds, at least 1.
    pub rounds: u32,
    /// Length of a pattern in a round, ms.
    pub runtime_ms: u64,
}

/// The shortest time in which a pattern says anything, ms.
const SHORTEST_MS: u64 = 20;

impl Pace {
    /// So many rounds of a profile in a time, layout not counted.
    pub fn of(seconds: u64, rounds: u32, patterns: usize) -> Pace {
        let runs = u64::from(rounds.max(1)) * (patterns as u64).max(1);
        Pace { rounds: rounds.max(1), runtime_ms: (seconds * 1000 / runs).max(SHORTEST_MS) }
    }
}

/// Measures the patterns of a profile that the target can take, by `run`, which gets a pattern and the
/// round. `None`: the user ended it.
///
/// # Errors
/// What `run` says.
pub fn measure<E>(
    profile: &Profile,
    writable: bool,
    rounds: u32,
    mut run: impl FnMut(&Pattern, u32) -> Result<Option<Reading>, E>,
) -> Result<Option<(Vec<Case>, Seen)>, E> {
    let measured = profile.patterns.iter().filter(|pattern| writable || !pattern.access.writes());
    let mut cases: Vec<Case> = measured.map(|pattern| Case { pattern: *pattern, samples: Vec::new() }).collect();
    let mut seen = Seen::default();
    for round in 0..rounds {
        for case in &mut cases {
            let Some(reading) = run(&case.pattern, round)? else { return Ok(None) };
            seen.take(&case.pattern, &reading);
            case.samples.push(reading.sample);
        }
    }
    Ok(Some((cases, seen)))
}
