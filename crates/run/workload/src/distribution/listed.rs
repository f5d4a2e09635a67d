//! A given list of blocks, round by round.

/// The list, and the place in it.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    blocks: Box<[u64]>,
    count: u64,
    /// How much further the next round begins; 0 if at the same place.
    stride: u64,
    base: u64,
    at: usize,
}

impl Listed {
    /// For `count` blocks. With `strides`, a round begins behind the largest block of the one
    /// before.
    pub(crate) fn new(count: u64, blocks: &[u64], strides: bool) -> Result<Listed, String> {
        let Some(largest) = blocks.iter().max() else { return Err("the sequence has no blocks".to_owned()) };
        if *largest >= count {
            return Err(format!("block {largest} of the sequence is beyond the {count} blocks of the file"));
        }
        let stride = if strides { largest + 1 } else { 0 };
        Ok(Listed { blocks: blocks.into(), count, stride, base: 0, at: 0 })
    }

    /// The next block.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        let block = self.base + self.blocks[self.at];
        self.at += 1;
        if self.at == self.blocks.len() {
            self.at = 0;
            self.base += self.stride;
            // A round that would not fit begins at the start.
            if self.base + self.stride > self.count {
                self.base = 0;
            }
        }
        block
    }

    /// Begins with the first block.
    pub(crate) fn restart(&mut self) {
        (self.base, self.at) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_repeat_or_follow_each_other() {
        let drawn = |strides, count| {
            let mut listed = Listed::new(count, &[0, 2, 1], strides).unwrap();
            (0..8).map(|_| listed.draw()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(false, 100), [0, 2, 1, 0, 2, 1, 0, 2]);
        assert_eq!(drawn(true, 100), [0, 2, 1, 3, 5, 4, 6, 8]);
        assert_eq!(drawn(true, 8), [0, 2, 1, 3, 5, 4, 0, 2]);
        assert!(Listed::new(2, &[0, 2, 1], false).unwrap_err().contains("block 2"));
        assert!(Listed::new(2, &[], false).is_err());
    }
}
