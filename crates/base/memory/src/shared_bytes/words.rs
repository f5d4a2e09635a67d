//! Words of shared memory, single and in rows, and the order in which a row is written and read:
//! the word that publishes a row is stored last and loaded first.
//!
//! The interleavings of `iolab-virtual-ssd` compile this file a second time, with the atomics of a
//! model checker.

use std::sync::atomic::Ordering;

use super::SharedBytes;

impl SharedBytes {
    /// Loads the 32-bit word at `offset`, a multiple of 4. Like all functions here, it panics
    /// outside the window.
    #[inline]
    pub fn load_u32(&self, offset: usize, order: Ordering) -> u32 {
        u32::from_le(self.word_u32(offset).load(order))
    }

    /// Stores the 32-bit word at `offset`, a multiple of 4.
    #[inline]
    pub fn store_u32(&self, offset: usize, value: u32, order: Ordering) {
        self.word_u32_mut(offset).store(value.to_le(), order);
    }

    /// Stores `value` in each 32-bit word of `bytes` from `offset`, both multiples of 4. This is
    /// for words that others load and store at the same time, which [`SharedBytes::fill`] does not
    /// allow.
    pub fn fill_words(&self, offset: usize, bytes: usize, value: u32) {
        for position in (0..bytes).step_by(4) {
            self.store_u32(offset + position, value, Ordering::Relaxed);
        }
    }

    /// Loads the 64-bit word at `offset`, a multiple of 8.
    #[inline]
    pub fn load_u64(&self, offset: usize, order: Ordering) -> u64 {
        u64::from_le(self.words::<1>(offset)[0].load(order))
    }

    /// Stores the 64-bit word at `offset`, a multiple of 8.
    #[inline]
    pub fn store_u64(&self, offset: usize, value: u64, order: Ordering) {
        self.words_mut::<1>(offset)[0].store(value.to_le(), order);
    }

    /// Loads `N` 64-bit words from `offset`, a multiple of 8, each by itself. This is for a queue
    /// entry, after a load with `Acquire` has shown that it is complete.
    #[inline]
    pub fn load_words<const N: usize>(&self, offset: usize) -> [u64; N] {
        let row = self.words::<N>(offset);
        std::array::from_fn(|position| u64::from_le(row[position].load(Ordering::Relaxed)))
    }

    /// Loads `N` 64-bit words from `offset`, a multiple of 8: the last one first and with
    /// `Acquire`. The others then have the values that they had when the peer stored the last one
    /// with `Release`.
    #[inline]
    pub fn load_published<const N: usize>(&self, offset: usize) -> [u64; N] {
        let row = self.words::<N>(offset);
        let mut words = [0; N];
        for position in (0..N).rev() {
            let order = if position + 1 == N { Ordering::Acquire } else { Ordering::Relaxed };
            words[position] = u64::from_le(row[position].load(order));
        }
        words
    }

    /// Stores `N` 64-bit words from `offset`, a multiple of 8, in order. The last one is stored
    /// with the ordering `last`, so that a peer that sees it sees the others.
    #[inline]
    pub fn store_words<const N: usize>(&self, offset: usize, words: [u64; N], last: Ordering) {
        let row = self.words_mut::<N>(offset);
        for (position, word) in words.into_iter().enumerate() {
            let order = if position + 1 == N { last } else { Ordering::Relaxed };
            row[position].store(word.to_le(), order);
        }
    }
}
