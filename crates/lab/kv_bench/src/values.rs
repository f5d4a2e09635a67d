//! Values that compress as asked.
//!
//! A megabyte of text is made once, of pieces of 100 bytes: a share of `compression_ratio` of each
//! piece is random, the rest repeats it. Values are successive windows of it, so that making one
//! costs nothing.

use iolab_random::SplitMix64;

/// Length of a piece.
const PIECE: usize = 100;
/// Length of the text, unless values are longer.
const TEXT: usize = 1 << 20;
/// The seed of all values: their content affects no figure, only their compressibility does.
const SEED: u64 = 301;

#[derive(Debug)]
pub(crate) struct Values {
    text: Vec<u8>,
    at: usize,
    size: usize,
}

impl Values {
    pub(crate) fn new(size: usize, compression_ratio: f64) -> Values {
        let length = TEXT.max(size) + PIECE;
        let mut random = SplitMix64::new(SEED);
        let mut text = Vec::with_capacity(length);
        let fresh = ((PIECE as f64 * compression_ratio) as usize).max(1);
        while text.len() < length {
            let start = text.len();
            text.extend((0..fresh).map(|_| b' ' + random.below(95) as u8));
            for index in fresh..PIECE {
                text.push(text[start + index % fresh]);
            }
        }
        Values { text, at: 0, size }
    }

    /// The next value.
    #[inline]
    pub(crate) fn next(&mut self) -> &[u8] {
        if self.at + self.size > self.text.len() {
            self.at = 0;
        }
        let value = &self.text[self.at..self.at + self.size];
        self.at += self.size;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_length_and_repeat_as_asked() {
        for size in [0, 1, 100, 5000, 3 << 20] {
            let mut values = Values::new(size, 0.5);
            assert!((0..5).all(|_| values.next().len() == size), "{size}");
        }
        let mut values = Values::new(100, 0.5);
        let value = values.next();
        assert_eq!(value[..50], value[50..]);
        assert_ne!(value[..25], value[25..50]);
        let mut fresh = Values::new(100, 1.0);
        let value = fresh.next();
        assert_ne!(value[..50], value[50..]);
    }
}
