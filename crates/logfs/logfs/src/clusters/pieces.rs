//! The live content of one cluster: stretches of files, by their offset in the cluster.

use std::collections::BTreeMap;

use crate::record::InodeId;

/// A stretch of a file that lies in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) inode: InodeId,
    /// Offset in the file.
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Pieces {
    map: BTreeMap<u32, Piece>,
    live_bytes: u64,
}

impl Pieces {
    pub(crate) fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Piece)> {
        self.map.iter().map(|(at, piece)| (*at, *piece))
    }

    /// Returns false, and changes nothing, when the place is taken.
    pub(crate) fn insert(&mut self, at: u32, piece: Piece) -> bool {
        let end = u64::from(at) + piece.length;
        let end_key = u32::try_from(end).unwrap_or(u32::MAX);
        if let Some((&before, last)) = self.map.range_mut(..end_key).next_back() {
            let before_end = u64::from(before) + last.length;
            if before_end > u64::from(at) {
                return false;
            }
            let goes_on = last.inode == piece.inode && last.offset + last.length == piece.offset;
            if before_end == u64::from(at) && goes_on {
                last.length += piece.length;
                self.live_bytes += piece.length;
                return true;
            }
        }
        self.live_bytes += piece.length;
        self.map.insert(at, piece);
        true
    }

    /// Removes the parts of a range that belong to `inode`.
    pub(crate) fn remove(&mut self, inode: InodeId, at: u32, length: u64) {
        let (from, to) = (u64::from(at), u64::from(at) + length);
        if self.cut_out(inode, from, to) {
            return;
        }
        let first = self.map.range(..=at).next_back().map_or(at, |(before, _)| *before);
        let end_key = u32::try_from(to).unwrap_or(u32::MAX);
        let touched: Vec<(u32, Piece)> =
            self.map.range(first..end_key.max(first)).map(|(at, piece)| (*at, *piece)).collect();
        for (start, piece) in touched {
            let stop = u64::from(start) + piece.length;
            if piece.inode != inode || stop <= from {
                continue;
            }
            self.map.remove(&start);
            self.live_bytes -= piece.length;
            if u64::from(start) < from {
                self.keep(start, Piece { length: from - u64::from(start), ..piece });
            }
            if stop > to {
                let offset = piece.offset + (to - u64::from(start));
                self.keep(to as u32, Piece { offset, length: stop - to, ..piece });
            }
        }
    }

    /// Removes a range from the one piece that covers all of it, if there is one.
    fn cut_out(&mut self, inode: InodeId, from: u64, to: u64) -> bool {
        let Some((&at, piece)) = self.map.range_mut(..=from as u32).next_back() else { return false };
        let (start, whole) = (u64::from(at), *piece);
        let stop = start + whole.length;
        if whole.inode != inode || stop < to {
            return false;
        }
        if start < from {
            piece.length = from - start;
        } else {
            self.map.remove(&at);
        }
        if stop > to {
            self.map.insert(to as u32, Piece { offset: whole.offset + (to - start), length: stop - to, ..whole });
        }
        self.live_bytes -= to - from;
        true
    }

    fn keep(&mut self, at: u32, piece: Piece) {
        self.live_bytes += piece.length;
        self.map.insert(at, piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_agree_with_an_array() {
        let mut seed = 9_u64;
        let mut random = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        let mut pieces = Pieces::default();
        let mut expected = vec![None; 300];
        for round in 0..4_000 {
            let (at, length, inode) = (random(250), random(50) + 1, InodeId(random(3) + 1));
            let range = at as usize..(at + length) as usize;
            if random(2) == 0 {
                let free = expected[range.clone()].iter().all(Option::is_none);
                let piece = Piece { inode, offset: at * 3, length };
                assert_eq!(pieces.insert(at as u32, piece), free, "round {round}");
                if free {
                    range.for_each(|byte| expected[byte] = Some((inode, at * 3 + byte as u64 - at)));
                }
            } else {
                pieces.remove(inode, at as u32, length);
                range.for_each(|byte| expected[byte] = expected[byte].filter(|(owner, _)| *owner != inode));
            }
            let mut found = vec![None; 300];
            for (at, piece) in pieces.iter() {
                for byte in 0..piece.length {
                    found[at as usize + byte as usize] = Some((piece.inode, piece.offset + byte));
                }
            }
            assert_eq!(found, expected, "round {round}");
            assert_eq!(pieces.live_bytes(), expected.iter().flatten().count() as u64);
        }
    }
}
