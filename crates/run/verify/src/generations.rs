//! The expected content of each interval of a file: two bytes for each, shared by all workers that
//! verify the file.
//!
//! ```text
//!  bit 15    an operation that changes the interval is in flight
//!  bit 14    it has been read back since it was written
//!  bit 13    in doubt: an operation on it has failed
//!  bit 12    discarded
//!  bits 0-11 its generation, which every change raises; 0: unknown
//! ```
//!
//! A worker that changes intervals locks all of them while the operation is in flight. Two changes
//! of the same bytes are therefore never in flight together, within a worker or between workers. No
//! worker waits while it holds a lock.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

/// One interval's state.
pub type Word = AtomicU16;

pub(crate) const BUSY: u16 = 1 << 15;
const SEEN: u16 = 1 << 14;
const STATE: u16 = SEEN - 1;
pub(crate) const IN_DOUBT: u16 = 1 << 13;
pub(crate) const DISCARDED: u16 = 1 << 12;
pub(crate) const GENERATION: u16 = DISCARDED - 1;

/// The expected content of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Not written by this run.
    Unknown,
    /// An operation on it failed, or it is too short for a header.
    InDoubt,
    /// This generation.
    Generation(u32),
    /// It has been discarded.
    Discarded,
}

/// The intervals of one file.
#[derive(Clone)]
pub struct GenerationMap {
    pub(crate) words: Arc<dyn AsRef<[Word]> + Send + Sync>,
    /// Content that a loss of power cannot revert, a word for each interval
    /// ([`crate::durability`]).
    pub(crate) durable: Option<Arc<dyn AsRef<[Word]> + Send + Sync>>,
    base_bytes: u64,
    interval_bytes: u64,
}

impl GenerationMap {
    /// The intervals of `interval_bytes` from `base_bytes` on, all unknown when the words are 0.
    pub fn new(words: Arc<dyn AsRef<[Word]> + Send + Sync>, base_bytes: u64, interval_bytes: u64) -> GenerationMap {
        GenerationMap { words, durable: None, base_bytes, interval_bytes: interval_bytes.max(1) }
    }

    /// Adds as many words for the durable content.
    pub fn with_durable(mut self, words: Arc<dyn AsRef<[Word]> + Send + Sync>) -> GenerationMap {
        self.durable = Some(words);
        self
    }

    /// Words that a range needs.
    pub fn words_for(bytes: u64, interval_bytes: u64) -> u64 {
        bytes.div_ceil(interval_bytes.max(1))
    }

    /// The intervals that hold these bytes.
    #[inline]
    pub fn range(&self, offset: u64, length: u64) -> Range<usize> {
        let from = offset.saturating_sub(self.base_bytes);
        let to = from + length;
        (from / self.interval_bytes) as usize..to.div_ceil(self.interval_bytes) as usize
    }

    #[inline]
    fn of(&self, range: &Range<usize>) -> &[Word] {
        within(&self.words, range)
    }

    /// Locks all of them. Returns false, with none locked, if one of them is already locked.
    #[inline]
    pub fn hold(&self, range: &Range<usize>) -> bool {
        let words = self.of(range);
        for (taken, word) in words.iter().enumerate() {
            if word.fetch_or(BUSY, Ordering::Acquire) & BUSY != 0 {
                words[..taken].iter().for_each(release);
                return false;
            }
        }
        true
    }

    /// Unlocks intervals that were not changed.
    pub fn release(&self, range: &Range<usize>) {
        self.of(range).iter().for_each(release);
    }

    /// Whether one of them is locked.
    #[inline]
    pub fn is_held(&self, range: &Range<usize>) -> bool {
        self.of(range).iter().any(|word| word.load(Ordering::Acquire) & BUSY != 0)
    }

    /// The generation that a write gives to an interval that it has locked.
    #[inline]
    pub fn next(&self, interval: usize) -> u32 {
        self.of(&(interval..interval + 1)).first().map_or(1, |word| u32::from(next(word)))
    }

    /// The write that locked them has succeeded. The last interval becomes unknown if it is too
    /// short for a header.
    #[inline]
    pub fn written(&self, range: &Range<usize>, last_is_unknown: bool) {
        let words = self.of(range);
        for (index, word) in words.iter().enumerate() {
            let doubt = if last_is_unknown && index + 1 == words.len() { IN_DOUBT } else { 0 };
            word.store(next(word) | doubt, Ordering::Release);
        }
    }

    /// The discard that locked them has succeeded.
    pub fn discarded(&self, range: &Range<usize>) {
        self.of(range).iter().for_each(|word| word.store(next(word) | DISCARDED, Ordering::Release));
    }

    /// The operation that locked them has failed: they may hold the old data, the new, or parts of
    /// both.
    pub fn in_doubt(&self, range: &Range<usize>) {
        self.of(range).iter().for_each(|word| word.store(next(word) | IN_DOUBT, Ordering::Release));
    }

    /// The interval as one word, which every change alters, and its expected content; `None` while
    /// it is being changed.
    #[inline]
    pub fn look(&self, interval: usize) -> Option<(u16, Expected)> {
        let Some(word) = self.of(&(interval..interval + 1)).first() else { return Some((0, Expected::Unknown)) };
        let word = word.load(Ordering::Acquire);
        let expected = match word & STATE {
            0 => Expected::Unknown,
            state if state & IN_DOUBT != 0 => Expected::InDoubt,
            state if state & DISCARDED != 0 => Expected::Discarded,
            generation => Expected::Generation(u32::from(generation)),
        };
        (word & BUSY == 0).then_some((word & STATE, expected))
    }

    /// Where an interval begins, bytes.
    #[inline]
    pub fn offset_of(&self, interval: usize) -> u64 {
        self.base_bytes + interval as u64 * self.interval_bytes
    }

    /// Marks them as unknown.
    pub fn forget(&self, range: &Range<usize>) {
        self.of(range).iter().for_each(|word| word.store(0, Ordering::Release));
    }

    /// The first known interval at or behind `from`, and those that follow it without a gap, at
    /// most `most` in all; `None` if there is none.
    pub fn known_from(&self, from: usize, most: usize) -> Option<Range<usize>> {
        let words = (*self.words).as_ref();
        let is_known = |word: &Word| word.load(Ordering::Acquire) & STATE != 0;
        let first = from + words.get(from..)?.iter().position(is_known)?;
        let count = words[first..].iter().take(most.max(1)).take_while(|word| is_known(word)).count();
        Some(first..first + count)
    }

    /// Loads the words that an earlier run kept for these intervals, which begin at `offset`. An
    /// interval locked when that run ended may or may not have changed.
    pub fn take_over(&self, offset: u64, kept: &[u16]) {
        self.each_kept(&self.words, offset, kept, |kept| {
            let doubt = if kept & BUSY != 0 { IN_DOUBT } else { 0 };
            kept & STATE | doubt
        });
    }

    /// Loads the words for durable content in the same way.
    pub fn take_over_durable(&self, offset: u64, kept: &[u16]) {
        if let Some(durable) = &self.durable {
            self.each_kept(durable, offset, kept, |kept| kept);
        }
    }

    fn each_kept(
        &self,
        words: &Arc<dyn AsRef<[Word]> + Send + Sync>,
        offset: u64,
        kept: &[u16],
        taken: impl Fn(u16) -> u16,
    ) {
        let words = (**words).as_ref();
        for (number, kept) in (0..).zip(kept) {
            let at = offset + number * self.interval_bytes;
            let Some(distance) = at.checked_sub(self.base_bytes) else { continue };
            let Some(word) = words.get((distance / self.interval_bytes) as usize) else { continue };
            word.store(taken(*kept), Ordering::Release);
        }
    }

    /// The width of an interval, bytes.
    pub fn interval_bytes(&self) -> u64 {
        self.interval_bytes
    }

    /// Marks intervals as read back. Returns whether one was known and not marked before.
    pub fn see(&self, range: &Range<usize>) -> bool {
        let mut any = false;
        for word in self.of(range) {
            let before = word.fetch_or(SEEN, Ordering::Relaxed);
            any |= before & (SEEN | IN_DOUBT) == 0 && before & STATE != 0;
        }
        any
    }
}

impl std::fmt::Debug for GenerationMap {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = (*self.words).as_ref().len();
        text.debug_struct("GenerationMap").field("words", &words).finish_non_exhaustive()
    }
}

#[inline]
pub(crate) fn within<'a>(words: &'a Arc<dyn AsRef<[Word]> + Send + Sync>, range: &Range<usize>) -> &'a [Word] {
    let words = (**words).as_ref();
    &words[range.start.min(words.len())..range.end.min(words.len())]
}

fn release(word: &Word) {
    word.fetch_and(!BUSY, Ordering::Release);
}

/// Increments the words from the last to the first, so that two changes never look like none.
#[inline]
fn next(word: &Word) -> u16 {
    (word.load(Ordering::Relaxed) & GENERATION) % GENERATION + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain(Vec<Word>);

    impl AsRef<[Word]> for Plain {
        fn as_ref(&self) -> &[Word] {
            &self.0
        }
    }

    fn map(words: usize) -> GenerationMap {
        GenerationMap::new(Arc::new(Plain((0..words).map(|_| Word::new(0)).collect())), 8192, 4096)
    }

    #[test]
    fn a_tebibyte_of_4_kib_fits_in_512_mib() {
        assert!(GenerationMap::words_for(1 << 40, 4096) * size_of::<Word>() as u64 <= 512 << 20);
    }

    #[test]
    fn intervals_are_counted_from_the_base() {
        let map = map(8);
        assert_eq!(map.range(8192, 4096), 0..1);
        assert_eq!(map.range(8192, 4097), 0..2);
        assert_eq!(map.range(16384, 8192), 2..4);
    }

    #[test]
    fn changes_of_the_same_bytes_exclude_each_other() {
        let map = map(8);
        assert!(map.hold(&(2..5)));
        assert!(!map.hold(&(0..3)) && !map.hold(&(4..8)) && map.is_held(&(4..5)));
        assert!(!map.is_held(&(0..2)) && !map.is_held(&(5..8)), "what was not had is free again");
        assert!(map.look(3).is_none());
        assert_eq!(map.next(3), 1);
        map.written(&(2..5), false);
        assert_eq!(map.look(3).unwrap().1, Expected::Generation(1));
        assert!(map.hold(&(3..4)));
        map.release(&(3..4));
        assert_eq!(map.look(3).unwrap().1, Expected::Generation(1));
    }

    #[test]
    fn states_follow_what_was_done_and_never_leave_their_bits() {
        let map = map(1);
        let one = 0..1;
        assert!(!map.see(&one), "nothing is known of it");
        let mut before = Expected::Unknown;
        for sequence in 0..40_000 {
            assert!(map.hold(&one));
            let wanted = map.next(0);
            match sequence % 1000 {
                7 => map.discarded(&one),
                11 => map.in_doubt(&one),
                _ => map.written(&one, false),
            }
            let (_, now) = map.look(0).unwrap();
            match sequence % 1000 {
                7 => assert_eq!(now, Expected::Discarded),
                11 => assert_eq!(now, Expected::InDoubt),
                _ => assert_eq!(now, Expected::Generation(wanted)),
            }
            assert_ne!(now, before);
            before = now;
            assert_eq!(map.see(&one), sequence % 1000 != 11);
            assert!(!map.see(&one), "once is enough");
        }
        // Beyond the map, nothing is known and nothing is locked.
        assert_eq!(map.look(9), Some((0, Expected::Unknown)));
        assert!(map.hold(&(5..9)) && map.hold(&(5..9)));
    }
}
