//! Whether an interval holds content that a loss of power may have left.
//!
//! A block that was not flushed may be torn: each of its sectors comes from one of the possible
//! writes. To distinguish a torn block from damage, the content of each of these writes is made
//! again.

use crate::content::SECTOR;
use crate::diagnosis::{Interval, WantedContent};
use crate::durability::CrashBound;
use crate::header::Header;
use crate::recipe::{Mismatch, Recipe, Why};

/// The largest number of writes to try for the sectors of a torn block.
const MOST_TRIED: usize = 256;

/// The content of a valid interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The last write.
    Newest,
    /// An earlier write that is admissible.
    Older,
    /// A write that the kept state does not know: the state is older than the data.
    Newer,
    /// Zeroes from a discard.
    Discarded,
    /// Sectors of several admissible writes.
    Torn,
    /// Earlier content or a torn block: nothing is known about it.
    Earlier,
}

impl Recipe {
    /// Judges an interval after a loss of power. `runs` lists when the runs began whose writes the
    /// bound counts, ns since 1970.
    ///
    /// # Errors
    /// Its content is not admissible.
    pub fn check_after_crash(
        &self,
        at: Interval,
        bound: CrashBound,
        runs: &[u64],
        found: &[u8],
    ) -> Result<Held, Box<Mismatch>> {
        if bound.admits_zeroes() && found.iter().all(|byte| *byte == 0) {
            return Ok(Held::Discarded);
        }
        if let CrashBound::MustBeNew { discarded: true, .. } = bound
            && self.header_of(found).is_none()
        {
            return self.check(at, WantedContent::Zeroes, found).map(|()| Held::Discarded);
        }
        let newest = match bound {
            CrashBound::Unknown => return Ok(Held::Earlier),
            CrashBound::MustBeNew { generation, .. } => generation,
            CrashBound::MustNotBeOlder { newest, .. } | CrashBound::MayBeEither { newest } => newest,
        };
        if !self.has_headers() {
            // All writes of a pattern are equal.
            return match self.check(at, WantedContent::EarlierRun(u32::from(newest)), found) {
                Ok(()) => Ok(Held::Newest),
                Err(_) if matches!(bound, CrashBound::MayBeEither { .. }) => Ok(Held::Earlier),
                Err(mismatch) => Err(mismatch),
            };
        }
        let header = self.header_of(found).filter(|header| header.offset == at.offset && runs.contains(&header.run));
        let generation = header.map(|header| header.generation).filter(|generation| bound.admits(*generation));
        if let Some(generation) = generation
            && self.check(at, WantedContent::EarlierRun(generation), found).is_ok()
        {
            return Ok(if generation == u32::from(newest) {
                Held::Newest
            } else if bound.generations().any(|known| known == generation)
                || matches!(bound, CrashBound::MayBeEither { .. })
            {
                Held::Older
            } else {
                Held::Newer
            });
        }
        match bound {
            CrashBound::MayBeEither { .. } => Ok(Held::Earlier),
            CrashBound::MustNotBeOlder { .. }
                if header.is_some_and(|header| self.is_torn(at, bound, &header, runs, found)) =>
            {
                Ok(Held::Torn)
            }
            _ => Err(self.mismatch_after_crash(at, u32::from(newest), runs, found)),
        }
    }

    #[cold]
    fn mismatch_after_crash(&self, at: Interval, newest: u32, runs: &[u64], found: &[u8]) -> Box<Mismatch> {
        let wanted = WantedContent::EarlierRun(newest);
        match self.check(at, wanted, found) {
            Err(mismatch) => mismatch,
            // Everything but the run is right: the block existed before.
            Ok(()) => {
                let run = self.header_of(found).map_or(0, |header| header.run);
                self.mismatch(
                    at,
                    wanted,
                    found,
                    Why::Field { name: "run", wanted: runs.last().copied().unwrap_or(0), found: run },
                )
            }
        }
    }

    /// Whether each sector is from an admissible write.
    fn is_torn(&self, at: Interval, bound: CrashBound, header: &Header, runs: &[u64], found: &[u8]) -> bool {
        let (mut left, mut made) = (vec![true; found.len().div_ceil(SECTOR)], vec![0; found.len()]);
        let place = self.header_place();
        let writes = bound.generations().flat_map(|generation| runs.iter().map(move |run| (generation, *run)));
        for (generation, run) in writes.take(MOST_TRIED) {
            self.fill_as(&Header { run, ..*header }, at, generation, &mut made);
            // The header is whole, and its write is admissible.
            if let (Some(to), Some(from)) = (made.get_mut(place.clone()), found.get(place.clone())) {
                to.copy_from_slice(from);
            }
            let sectors = found.chunks(SECTOR).zip(made.chunks(SECTOR));
            left.iter_mut().zip(sectors).for_each(|(left, (found, made))| *left &= found != made);
        }
        !left.contains(&true)
    }
}

#[cfg(test)]
mod tests {
    use iolab_plan::{BufferContent, BufferPlan, VerifyKind, VerifyPlan};

    use super::*;

    const RUN: u64 = 500;

    fn recipe() -> Recipe {
        Recipe::new(&VerifyPlan::new(VerifyKind::Crc32c, 4096), &BufferPlan::new(4096, BufferContent::Random), 0, RUN)
    }

    fn block(generation: u32) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        recipe().fill(Interval { file: 0, offset: 8192 }, generation, 7, 9, &mut bytes);
        bytes
    }

    #[test]
    fn a_block_holds_what_it_may_hold_or_is_damaged() {
        let at = Interval { file: 0, offset: 8192 };
        let judge =
            |bound, bytes: &[u8]| recipe().check_after_crash(at, bound, &[RUN - 9, RUN], bytes).map_err(|bad| bad.why);
        let new = CrashBound::MustBeNew { generation: 3, discarded: false };
        let not_older = CrashBound::MustNotBeOlder { oldest: 2, newest: 4, zeroes: false };
        let either = CrashBound::MayBeEither { newest: 4 };
        let zeroes = vec![0; 4096];
        let mut flipped = block(3);
        flipped[2000] ^= 1;
        for (bound, bytes, wanted) in [
            (new, &block(3), Some(Held::Newest)),
            (new, &block(2), None),
            (new, &block(4), Some(Held::Newer)),
            (new, &zeroes, None),
            (new, &flipped, None),
            (not_older, &block(4), Some(Held::Newest)),
            (not_older, &block(3), Some(Held::Older)),
            (not_older, &block(2), Some(Held::Older)),
            (not_older, &block(1), None),
            (not_older, &block(5), Some(Held::Newer)),
            (not_older, &flipped, None),
            (not_older, &zeroes, None),
            (either, &block(4), Some(Held::Newest)),
            (either, &block(1), Some(Held::Older)),
            (either, &zeroes, Some(Held::Discarded)),
            (either, &flipped, Some(Held::Earlier)),
            (CrashBound::MustBeNew { generation: 3, discarded: true }, &zeroes, Some(Held::Discarded)),
            (CrashBound::MustBeNew { generation: 3, discarded: true }, &block(2), None),
        ] {
            assert_eq!(judge(bound, bytes).ok(), wanted, "{bound:?}");
        }
        // A block of an earlier run, with an admissible generation.
        let late = recipe().check_after_crash(at, new, &[RUN + 1], &block(3));
        assert!(matches!(late.unwrap_err().why, Why::Field { name: "run", .. }));
        // Sectors of two writes that are admissible, and of one that is not.
        for (first, second, wanted) in [(4, 2, true), (2, 3, true), (4, 1, false), (1, 4, false)] {
            let torn = [&block(first)[..1536], &block(second)[1536..]].concat();
            assert_eq!(judge(not_older, &torn).ok(), wanted.then_some(Held::Torn), "{first} {second}");
            assert!(judge(new, &torn).is_err());
        }
    }
}
