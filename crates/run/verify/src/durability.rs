//! What a loss of power may have left of each interval: flushed content, and later writes.
//!
//! Each word of a [`GenerationMap`] has a second word for the durable content:
//!
//! ```text
//!  bit 13    a discard was sent since
//!  bit 12    what is durable is a discard
//!  bits 0-11 the generation that a completed flush covers; 0: none
//! ```
//!
//! A write is covered if it was complete before the flush was sent. If the words themselves survive
//! the loss of power, they may be older than the data. Then they claim less, and data newer than
//! they know is not damage. Generations are compared modulo their number; if the durable one is too
//! far behind, nothing is claimed.

use std::ops::Range;
use std::sync::atomic::Ordering;

use crate::generations::{BUSY, DISCARDED, GENERATION, GenerationMap, IN_DOUBT, Word, within};

/// A discard was sent since the durable generation.
const DISCARDED_SINCE: u16 = 1 << 13;
/// Farther behind than this, an older generation cannot be distinguished from a newer one.
const FARTHEST: u16 = GENERATION / 2;

/// What an interval may hold after a loss of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashBound {
    /// Nothing was ever written there.
    Unknown,
    /// Its last write is durable.
    MustBeNew {
        /// Its generation.
        generation: u16,
        /// It is a discard.
        discarded: bool,
    },
    /// A write is durable, and there were later ones.
    MustNotBeOlder {
        /// The durable generation.
        oldest: u16,
        /// The generation of the last write.
        newest: u16,
        /// Zeroes of a discard are admissible.
        zeroes: bool,
    },
    /// Nothing written there was flushed: the new data, or any earlier content.
    MayBeEither {
        /// The generation of the last write.
        newest: u16,
    },
}

impl CrashBound {
    /// Whether this generation is admissible.
    pub fn admits(self, generation: u32) -> bool {
        let Ok(generation) = u16::try_from(generation) else { return false };
        match self {
            CrashBound::Unknown | CrashBound::MayBeEither { .. } => true,
            CrashBound::MustBeNew { generation: oldest, .. } | CrashBound::MustNotBeOlder { oldest, .. } => {
                steps(oldest, generation) <= FARTHEST
            }
        }
    }

    /// Whether zeroes are admissible.
    pub fn admits_zeroes(self) -> bool {
        match self {
            CrashBound::Unknown | CrashBound::MayBeEither { .. } => true,
            CrashBound::MustBeNew { discarded, .. } => discarded,
            CrashBound::MustNotBeOlder { zeroes, .. } => zeroes,
        }
    }

    /// The generations from the durable one to the newest one, which a torn block may consist of.
    pub fn generations(self) -> impl Iterator<Item = u32> {
        let (oldest, count) = match self {
            CrashBound::MustNotBeOlder { oldest, newest, .. } => (oldest, steps(oldest, newest).saturating_add(1)),
            _ => (1, 0),
        };
        (0..count).map(move |step| u32::from((oldest - 1 + step) % GENERATION + 1))
    }

    /// A description for the user.
    pub fn words(self) -> &'static str {
        match self {
            CrashBound::Unknown => "unknown",
            CrashBound::MustBeNew { .. } => "must be new",
            CrashBound::MustNotBeOlder { .. } => "must not be older",
            CrashBound::MayBeEither { .. } => "may be either",
        }
    }
}

/// What the next flush makes durable after a write or discard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Number of the file in its worker.
    pub file: u32,
    /// Which interval.
    pub interval: u32,
    word: u16,
}

impl GenerationMap {
    /// The admissible content of an interval after a loss of power, by its kept words.
    pub fn bound(&self, interval: usize) -> CrashBound {
        let of =
            |words| within(words, &(interval..interval + 1)).first().map_or(0, |word| word.load(Ordering::Acquire));
        bound_of(of(&self.words), self.durable.as_ref().map_or(0, of))
    }

    /// The record of an interval whose write or discard has just succeeded.
    #[inline]
    pub fn completed(&self, file: u32, interval: usize) -> Completed {
        let word =
            within(&self.words, &(interval..interval + 1)).first().map_or(0, |word| word.load(Ordering::Acquire));
        Completed { file, interval: interval as u32, word: word & (GENERATION | DISCARDED | IN_DOUBT) }
    }

    /// A flush that was sent after `completed` has succeeded.
    pub fn made_durable(&self, completed: Completed) {
        let interval = completed.interval as usize;
        let Some(durable) = self.durable_word(interval) else { return };
        let generation = completed.word & GENERATION;
        if generation == 0 || completed.word & IN_DOUBT != 0 {
            return;
        }
        let now = self.completed(completed.file, interval).word & GENERATION;
        let newer = |before: u16| {
            let oldest = before & GENERATION;
            if oldest > 0 && steps(oldest, generation) > FARTHEST {
                return None; // another worker's flush has covered more
            }
            // Only if nothing followed it is it certain that no discard did.
            let since = if now == generation { 0 } else { before & DISCARDED_SINCE };
            Some(completed.word & (GENERATION | DISCARDED) | since)
        };
        // An error means that there is nothing to change.
        let _ = durable.fetch_update(Ordering::AcqRel, Ordering::Acquire, newer);
    }

    /// A discard of these intervals is about to be sent.
    pub fn will_discard(&self, range: &Range<usize>) {
        if let Some(durable) = &self.durable {
            within(durable, range).iter().for_each(|word| _ = word.fetch_or(DISCARDED_SINCE, Ordering::AcqRel));
        }
    }

    /// Claims nothing of an interval whose durable generation is too far behind to be compared.
    #[inline]
    pub fn limit_distance(&self, interval: usize) {
        let Some(durable) = self.durable_word(interval) else { return };
        let oldest = durable.load(Ordering::Acquire) & GENERATION;
        let newest = self.completed(0, interval).word & GENERATION;
        if oldest > 0 && newest > 0 && steps(oldest, newest) >= FARTHEST - 1 {
            durable.fetch_and(!GENERATION & !DISCARDED, Ordering::AcqRel);
        }
    }

    fn durable_word(&self, interval: usize) -> Option<&Word> {
        within(self.durable.as_ref()?, &(interval..interval + 1)).first()
    }

    /// Whether it has words for durable content.
    pub fn knows_durable(&self) -> bool {
        self.durable.is_some()
    }
}

/// The bound that the kept words give.
pub fn bound_of(word: u16, durable: u16) -> CrashBound {
    let (newest, oldest) = (word & GENERATION, durable & GENERATION);
    let unsure = word & (BUSY | IN_DOUBT) != 0;
    if newest == 0 && oldest == 0 {
        return if unsure { CrashBound::MayBeEither { newest: 1 } } else { CrashBound::Unknown };
    }
    // A write in flight is admissible, too.
    let newest = if unsure { newest % GENERATION + 1 } else { newest };
    let discarded = durable & DISCARDED != 0;
    if oldest == 0 {
        CrashBound::MayBeEither { newest }
    } else if oldest == newest {
        CrashBound::MustBeNew { generation: oldest, discarded }
    } else {
        let since = durable & DISCARDED_SINCE != 0 || word & DISCARDED != 0;
        CrashBound::MustNotBeOlder { oldest, newest, zeroes: discarded || since }
    }
}

/// The number of writes from the first generation to the second.
#[inline]
fn steps(from: u16, to: u16) -> u16 {
    (to + GENERATION - from) % GENERATION
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    struct Plain(Vec<Word>);

    impl AsRef<[Word]> for Plain {
        fn as_ref(&self) -> &[Word] {
            &self.0
        }
    }

    fn map(words: usize) -> GenerationMap {
        let plain = || Arc::new(Plain((0..words).map(|_| Word::new(0)).collect()));
        GenerationMap::new(plain(), 0, 4096).with_durable(plain())
    }

    fn write(map: &GenerationMap, interval: usize) -> Completed {
        let range = interval..interval + 1;
        assert!(map.hold(&range));
        map.written(&range, false);
        map.limit_distance(interval);
        map.completed(0, interval)
    }

    #[test]
    fn a_flush_covers_what_was_complete_before_it_and_nothing_else() {
        let map = map(2);
        assert_eq!(map.bound(0), CrashBound::Unknown);
        let first = write(&map, 0);
        assert_eq!(map.bound(0), CrashBound::MayBeEither { newest: 1 });
        map.made_durable(first);
        assert_eq!(map.bound(0), CrashBound::MustBeNew { generation: 1, discarded: false });
        let second = write(&map, 0);
        let third = write(&map, 0);
        assert_eq!(map.bound(0), CrashBound::MustNotBeOlder { oldest: 1, newest: 3, zeroes: false });
        map.made_durable(second);
        assert_eq!(map.bound(0), CrashBound::MustNotBeOlder { oldest: 2, newest: 3, zeroes: false });
        assert_eq!(map.bound(0).generations().collect::<Vec<_>>(), [2, 3]);
        assert!(!map.bound(0).admits(1) && map.bound(0).admits(2) && map.bound(0).admits(3));
        map.made_durable(third);
        map.made_durable(second);
        assert_eq!(
            map.bound(0),
            CrashBound::MustBeNew { generation: 3, discarded: false },
            "what came late changes nothing"
        );
        assert!(map.hold(&(0..1)));
        assert_eq!(
            map.bound(0),
            CrashBound::MustNotBeOlder { oldest: 3, newest: 4, zeroes: false },
            "one is in flight"
        );
        assert!(map.hold(&(1..2)));
        assert_eq!(map.bound(1), CrashBound::MayBeEither { newest: 1 });
    }

    #[test]
    fn a_discard_allows_zeroes_until_a_later_write_is_durable() {
        let map = map(1);
        let one = 0..1;
        map.made_durable(write(&map, 0));
        map.will_discard(&one);
        assert!(map.hold(&one));
        assert!(map.bound(0).admits_zeroes());
        map.discarded(&one);
        let discard = map.completed(0, 0);
        let later = write(&map, 0);
        assert!(map.bound(0).admits_zeroes() && map.bound(0).admits(1));
        map.made_durable(discard);
        assert!(map.bound(0).admits_zeroes() && !map.bound(0).admits(1));
        map.made_durable(later);
        assert_eq!(map.bound(0), CrashBound::MustBeNew { generation: 3, discarded: false });
        assert!(!map.bound(0).admits_zeroes());
    }

    #[test]
    fn generations_go_round_and_what_is_too_far_behind_claims_nothing() {
        let map = map(1);
        for _ in 0..3 {
            for _ in 0..1500 {
                map.made_durable(write(&map, 0));
            }
            let CrashBound::MustBeNew { generation, .. } = map.bound(0) else { panic!("{:?}", map.bound(0)) };
            for _ in 0..1900 {
                write(&map, 0);
            }
            let CrashBound::MustNotBeOlder { oldest, .. } = map.bound(0) else { panic!("{:?}", map.bound(0)) };
            assert_eq!(oldest, generation);
            for _ in 0..200 {
                write(&map, 0);
            }
            assert!(matches!(map.bound(0), CrashBound::MayBeEither { .. }), "{:?}", map.bound(0));
        }
    }
}
