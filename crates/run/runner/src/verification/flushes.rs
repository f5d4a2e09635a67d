//! Writes of a worker that no flush covers yet (`verify_policy=fsynced` and `durable`).
//!
//! A flush covers the writes and discards of its file that were complete when it was sent. When a
//! flush fails, the writes that it would have covered may be lost, even if a later flush succeeds.
//! They are forgotten.

use std::collections::VecDeque;

use iolab_verify::{Completed, GenerationMap};

/// Largest number of remembered intervals. Those behind them never count as flushed.
const MOST: usize = 1 << 20;

/// The intervals of complete operations, oldest first.
#[derive(Debug)]
pub(crate) struct Unflushed {
    /// Covered intervals are `None` until all before them are gone.
    queue: VecDeque<Option<Completed>>,
    /// Number of the first interval of the queue.
    first: u64,
    /// A completed write is durable (`sync=1`).
    at_once: bool,
}

impl Unflushed {
    pub(crate) fn new(at_once: bool) -> Unflushed {
        Unflushed { queue: VecDeque::with_capacity(if at_once { 0 } else { MOST }), first: 0, at_once }
    }

    /// An interval has been written or discarded.
    pub(crate) fn note(&mut self, completed: Completed, is_write: bool, map: &GenerationMap) {
        if self.at_once && is_write {
            map.made_durable(completed);
            return;
        }
        if self.queue.len() == MOST {
            self.queue.pop_front();
            self.first += 1;
        }
        self.queue.push_back(Some(completed));
    }

    /// The number of the next interval to complete: a flush sent now covers all before it.
    pub(crate) fn mark(&self) -> u64 {
        self.first + self.queue.len() as u64
    }

    /// A flush of `file`, sent at `mark`, has ended.
    pub(crate) fn flushed(&mut self, file: u32, mark: u64, succeeded: bool, map: &GenerationMap) {
        let count = mark.saturating_sub(self.first) as usize;
        for entry in self.queue.iter_mut().take(count) {
            if let Some(completed) = entry.take_if(|completed| completed.file == file)
                && succeeded
            {
                map.made_durable(completed);
            }
        }
        while let Some(None) = self.queue.front() {
            self.queue.pop_front();
            self.first += 1;
        }
    }

    /// All files have been flushed.
    pub(crate) fn all_flushed(&mut self, maps: &[GenerationMap]) {
        for completed in self.queue.drain(..).flatten() {
            maps[completed.file as usize].made_durable(completed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iolab_verify::{CrashBound, Word};

    use super::*;

    struct Plain(Vec<Word>);

    impl AsRef<[Word]> for Plain {
        fn as_ref(&self) -> &[Word] {
            &self.0
        }
    }

    fn map() -> GenerationMap {
        let plain = || Arc::new(Plain((0..8).map(|_| Word::new(0)).collect()));
        GenerationMap::new(plain(), 0, 4096).with_durable(plain())
    }

    fn write(unflushed: &mut Unflushed, map: &GenerationMap, file: u32, interval: usize) {
        map.written(&(interval..interval + 1), false);
        unflushed.note(map.completed(file, interval), true, map);
    }

    fn is_durable(map: &GenerationMap, interval: usize) -> bool {
        matches!(map.bound(interval), CrashBound::MustBeNew { .. })
    }

    #[test]
    fn a_flush_covers_its_file_up_to_its_mark() {
        let (maps, mut unflushed) = ([map(), map()], Unflushed::new(false));
        write(&mut unflushed, &maps[0], 0, 1);
        write(&mut unflushed, &maps[1], 1, 2);
        let mark = unflushed.mark();
        write(&mut unflushed, &maps[0], 0, 3);
        unflushed.flushed(0, mark, true, &maps[0]);
        assert!(is_durable(&maps[0], 1) && !is_durable(&maps[0], 3) && !is_durable(&maps[1], 2));
        let late = unflushed.mark();
        unflushed.flushed(1, late, false, &maps[1]);
        unflushed.flushed(1, unflushed.mark(), true, &maps[1]);
        assert!(!is_durable(&maps[1], 2), "a failed flush may have lost it");
        unflushed.all_flushed(&maps);
        assert!(is_durable(&maps[0], 3));
        let mut at_once = Unflushed::new(true);
        write(&mut at_once, &maps[0], 0, 4);
        assert!(is_durable(&maps[0], 4));
    }
}
