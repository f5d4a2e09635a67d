//! The set of visited blocks for varying sizes: one bit per block and a tree of summaries above.
//!
//! A summary bit says that the 64 bits below it are all set, so that the next free block is found
//! by reading two words per level, however full the map is. It costs one bit per block plus 1/63.
//! Bits past the end are set from the start.

/// A set of visited blocks.
#[derive(Debug, Clone)]
pub(crate) struct Bitmap {
    /// Lowest level first; the last level is one word.
    levels: Vec<Box<[u64]>>,
    count: u64,
}

impl Bitmap {
    /// All of `count` blocks free.
    pub(crate) fn new(count: u64) -> Bitmap {
        let mut levels = Vec::new();
        let mut bits = count;
        loop {
            let words = bits.div_ceil(64).max(1);
            levels.push(vec![0; words as usize].into_boxed_slice());
            if words == 1 {
                break;
            }
            bits = words;
        }
        let mut map = Bitmap { levels, count };
        map.clear();
        map
    }

    /// Frees every block.
    pub(crate) fn clear(&mut self) {
        let mut bits = self.count;
        for level in &mut self.levels {
            level.fill(0);
            if let Some(last) = level.last_mut()
                && (!bits.is_multiple_of(64) || bits == 0)
            {
                *last = u64::MAX << (bits % 64);
            }
            bits = level.len() as u64;
        }
    }

    /// Number of blocks.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The word that contains the bit of `block`.
    #[inline]
    pub(crate) fn word_of(&self, block: u64) -> u64 {
        self.levels[0].get((block / 64) as usize).copied().unwrap_or_default()
    }

    /// The first free block from `block` on.
    #[inline]
    pub(crate) fn next_free(&self, block: u64) -> Option<u64> {
        let mut position = block;
        for (height, level) in self.levels.iter().enumerate() {
            let word = *level.get((position / 64) as usize)?;
            let free = !word & (u64::MAX << (position % 64));
            if free != 0 {
                return Some(self.descend(height, position / 64 * 64 + u64::from(free.trailing_zeros())));
            }
            // The level above already covers this word; search from its right neighbour.
            position = position / 64 + 1;
        }
        None
    }

    /// From a clear bit, descends to the first free block beneath it.
    #[inline]
    fn descend(&self, height: usize, mut position: u64) -> u64 {
        for level in self.levels[..height].iter().rev() {
            let word = level[position as usize];
            position = position * 64 + u64::from((!word).trailing_zeros());
        }
        position
    }

    /// How many blocks from a free one on are free, up to `most`.
    #[inline]
    pub(crate) fn free_run(&self, block: u64, most: u64) -> u64 {
        let mut length = 0;
        while length < most {
            let position = block + length;
            let Some(word) = self.levels[0].get((position / 64) as usize) else { break };
            let within = 64 - position % 64;
            let run = u64::from((word >> (position % 64)).trailing_zeros()).min(within);
            length += run;
            if run < within {
                break;
            }
        }
        length.min(most)
    }

    /// Visits `length` blocks from `block` on.
    #[inline]
    pub(crate) fn set(&mut self, block: u64, length: u64) {
        let end = (block + length).min(self.count);
        let mut position = block;
        while position < end {
            let bits = (end - position).min(64 - position % 64);
            let mask = (u64::MAX >> (64 - bits)) << (position % 64);
            let word = &mut self.levels[0][(position / 64) as usize];
            *word |= mask;
            if *word == u64::MAX {
                self.summarise(position / 64);
            }
            position += bits;
        }
    }

    fn summarise(&mut self, mut position: u64) {
        for level in self.levels.iter_mut().skip(1) {
            let word = &mut level[(position / 64) as usize];
            *word |= 1 << (position % 64);
            if *word != u64::MAX {
                return;
            }
            position /= 64;
        }
    }

    /// Memory of all levels.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.levels.iter().map(|level| std::mem::size_of_val(&**level)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;

    /// Compares it with a plain array, for sizes around the words' edges.
    #[test]
    fn agrees_with_an_array() {
        for count in [1, 2, 63, 64, 65, 127, 128, 4095, 4096, 4097, 5000, 262_145] {
            let mut generator = Generator::new(count);
            let mut map = Bitmap::new(count);
            let mut model = vec![false; count as usize];
            for _ in 0..3000 {
                let start = generator.below(count);
                let expected = model[start as usize..].iter().position(|set| !set).map(|step| start + step as u64);
                assert_eq!(map.next_free(start), expected, "{count} from {start}");
                let Some(free) = expected else { continue };
                let most = 1 + generator.below(200);
                let run = model[free as usize..].iter().take(most as usize).take_while(|set| !**set).count() as u64;
                assert_eq!(map.free_run(free, most), run);
                let length = 1 + generator.below(run);
                map.set(free, length);
                model[free as usize..(free + length) as usize].fill(true);
            }
            map.clear();
            assert_eq!((map.next_free(0), map.free_run(0, count + 9)), (Some(0), count));
            map.set(0, count);
            assert_eq!(map.next_free(0), None);
        }
    }

    #[test]
    fn costs_little_more_than_a_bit_per_block() {
        let map = Bitmap::new(1 << 24);
        assert!(map.memory_bytes() <= (1 << 21) + (1 << 21) / 60, "{}", map.memory_bytes());
    }
}
