//! A lossy write cache (`write_cache=lossy`): written data stays in memory until a flush.
//!
//! ```text
//!  writes ─▶ memory ─┬─ Flush, or a write with FUA ─▶ file
//!                    └─ now and then, some ─────────▶ file (whole, or the first half of it)
//! ```
//!
//! Killing the process acts like a loss of power. Of the data that no completed Flush covers, the
//! file contains only what was written back in the meantime: in any order, whole or torn, as the
//! seed decides.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use iolab_memory::SharedBytes;
use iolab_random::SplitMix64;

/// The unit in which changes missing from the file are tracked.
const PAGE: usize = 4096;
/// One of this many writes is written back without a flush.
const WRITTEN_BACK_OF: u64 = 4;
/// Bytes read at once when media is opened.
const CHUNK: usize = 1 << 20;

/// The pages that are missing from the file, and the random choice of those to write back.
#[derive(Debug)]
pub(crate) struct WriteCache {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    dirty: BTreeSet<usize>,
    random: SplitMix64,
}

impl WriteCache {
    pub(crate) fn new(seed: u64) -> WriteCache {
        WriteCache { state: Mutex::new(State { dirty: BTreeSet::new(), random: SplitMix64::new(seed) }) }
    }

    /// Memory with the contents of the file.
    pub(crate) fn memory_of(file: &File, length: usize) -> io::Result<SharedBytes> {
        let memory = SharedBytes::anonymous(length)?;
        let mut chunk = vec![0; CHUNK.min(length)];
        for from in (0..length).step_by(CHUNK) {
            let part = &mut chunk[..CHUNK.min(length - from)];
            file.read_exact_at(part, from as u64)?;
            // Pages without data cost no memory.
            if part.iter().any(|byte| *byte != 0) {
                memory.write(from, part);
            }
        }
        Ok(memory)
    }

    /// Records that a range of the memory has changed.
    pub(crate) fn changed(&self, file: &File, memory: &SharedBytes, offset: usize, length: usize) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.dirty.extend(offset / PAGE..(offset + length).div_ceil(PAGE));
        if state.random.below(WRITTEN_BACK_OF) > 0 {
            return Ok(());
        }
        let half = (length / 2).next_multiple_of(512).min(length);
        let bytes = if state.random.below(2) == 0 { length } else { half };
        copy_out(file, memory, offset, bytes)
    }

    /// Writes this range to the file durably.
    pub(crate) fn write_through(
        &self,
        file: &File,
        memory: &SharedBytes,
        offset: usize,
        length: usize,
    ) -> io::Result<()> {
        copy_out(file, memory, offset, length)?;
        file.sync_data()
    }

    /// Writes all earlier changes to the file durably.
    pub(crate) fn flush(&self, file: &File, memory: &SharedBytes) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let dirty = std::mem::take(&mut state.dirty);
        let mut pages = dirty.iter().copied().peekable();
        while let Some(first) = pages.next() {
            let mut end = first + 1;
            while pages.next_if_eq(&end).is_some() {
                end += 1;
            }
            let (from, to) = (first * PAGE, (end * PAGE).min(memory.len()));
            if let Err(error) = copy_out(file, memory, from, to - from) {
                state.dirty.extend(dirty);
                return Err(error);
            }
        }
        drop(state);
        file.sync_data()
    }
}

fn copy_out(file: &File, memory: &SharedBytes, offset: usize, length: usize) -> io::Result<()> {
    if offset.checked_add(length).is_none_or(|end| end > memory.len()) {
        return Err(ErrorKind::InvalidInput.into());
    }
    let mut bytes = vec![0; CHUNK.min(length)];
    for from in (offset..offset + length).step_by(CHUNK) {
        let part = &mut bytes[..CHUNK.min(offset + length - from)];
        memory.read(from, part);
        file.write_all_at(part, from as u64)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_what_was_flushed_and_some_of_the_rest() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 * PAGE as u64).unwrap();
        let memory = WriteCache::memory_of(&file, 64 * PAGE).unwrap();
        let cache = WriteCache::new(7);
        let page = |number: usize| {
            let mut bytes = vec![0; PAGE];
            file.read_exact_at(&mut bytes, (number * PAGE) as u64).unwrap();
            bytes.iter().filter(|byte| **byte != 0).count()
        };
        let write = |number: usize, byte: u8| {
            memory.write(number * PAGE, &[byte; PAGE]);
            cache.changed(&file, &memory, number * PAGE, PAGE).unwrap();
        };
        (0..32).for_each(|number| write(number, 1));
        cache.flush(&file, &memory).unwrap();
        assert!((0..32).all(|number| page(number) == PAGE));
        (32..64).for_each(|number| write(number, 2));
        let there: Vec<usize> = (32..64).map(page).collect();
        for wanted in [0, PAGE / 2, PAGE] {
            assert!(there.contains(&wanted), "{wanted} is missing: {there:?}");
        }
        cache.write_through(&file, &memory, 40 * PAGE, 2 * PAGE).unwrap();
        assert_eq!((page(40), page(41)), (PAGE, PAGE));
        // After it is opened again, the memory has the contents of the file.
        let again = WriteCache::memory_of(&file, 64 * PAGE).unwrap();
        let mut bytes = [0; 1];
        again.read(PAGE, &mut bytes);
        assert_eq!(bytes, [1]);
    }
}
