//! The data of a trace's page: counts on grids of time and offset, and distributions.
//!
//! Memory is bounded for any length of the trace: time is divided into slots, whose length doubles
//! when there are too many, and offsets are kept for the files with most transfers.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};

use iolab_histogram::Histogram;
use iolab_trace::{Effect, Flags, Operation, Reader, Role};

/// Number of time slots; their length doubles when an operation is beyond the last.
const SLOTS: usize = 320;
const FIRST_SLOT_NS: u64 = 1_000_000;
/// Number of offset ranges of a file; their length doubles likewise.
const PLACES: u64 = 256;
const FIRST_PLACE_BYTES: u64 = 4096;
/// Files whose offsets are kept.
const MOST_FILES: usize = 256;

/// The operations in a time slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Slot {
    /// Reads, writes, syncs.
    pub counts: [u64; 3],
    /// Bytes transferred.
    pub bytes: u64,
    /// Total time in operations, ns; divided by the slot's length it is the mean number in
    /// progress.
    pub busy_ns: u64,
    /// Longest sync, ns.
    pub longest_sync_ns: u64,
}

/// The transfers of a file by offset and time.
#[derive(Debug, Clone, Default)]
pub struct FilePicture {
    /// Counts by time slot and offset range.
    pub cells: BTreeMap<(u32, u32), u64>,
    /// Length of an offset range, bytes.
    pub place_bytes: u64,
    /// Number of transfers.
    pub count: u64,
}

/// The data of the whole page.
#[derive(Debug)]
pub struct Picture {
    /// Time slots since the beginning.
    pub slots: Vec<Slot>,
    /// Length of a slot, ns.
    pub slot_ns: u64,
    /// By file.
    pub files: HashMap<u32, FilePicture>,
    /// Durations of reads, writes and syncs, ns.
    pub durations: [Box<Histogram>; 3],
    /// Sizes of reads and writes, bytes, with their counts.
    pub sizes: [BTreeMap<u64, u64>; 2],
    /// From the end of an operation to the next of the same thread, ns.
    pub thinks: Box<Histogram>,
    ends: HashMap<u32, u64>,
}

impl Default for Picture {
    fn default() -> Picture {
        Picture {
            slots: vec![Slot::default(); SLOTS],
            slot_ns: FIRST_SLOT_NS,
            files: HashMap::new(),
            durations: Default::default(),
            sizes: Default::default(),
            thinks: Box::default(),
            ends: HashMap::new(),
        }
    }
}

impl Picture {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// The errors of the input.
    pub fn of<R: Read>(reader: &mut Reader<R>) -> io::Result<Picture> {
        let mut picture = Picture::default();
        while let Some(operation) = reader.next_operation()? {
            picture.add(&operation, reader);
        }
        Ok(picture)
    }

    /// Adds an operation of a trace; ignores those that do not concern storage.
    pub fn add<R: Read>(&mut self, operation: &Operation, reader: &Reader<R>) {
        let kind = match operation.call.effect() {
            Effect::Read => 0,
            Effect::Write | Effect::Discard => 1,
            Effect::Sync => 2,
            Effect::Other => return,
        };
        let Some(file) = reader.files().get(operation.file as usize).filter(|file| file.kind.is_storage()) else {
            return;
        };
        if operation.has_failed() || operation.moved_nothing() {
            return;
        }
        let slot = self.slot(operation.time_ns);
        let one = &mut self.slots[slot];
        one.counts[kind] += 1;
        one.bytes = one.bytes.saturating_add(operation.bytes());
        if kind == 2 {
            one.longest_sync_ns = one.longest_sync_ns.max(operation.duration_ns);
        }
        if !operation.call.is_second_side() {
            self.spread(operation);
        }
        if !operation.flags.has(Flags::END_UNSEEN) {
            self.durations[kind].add(operation.duration_ns);
        }
        if let Some(end_ns) = self.ends.insert(operation.thread, operation.end_ns()) {
            self.thinks.add(operation.time_ns.saturating_sub(end_ns));
        }
        if kind < 2 {
            *self.sizes[kind].entry(operation.bytes()).or_default() += 1;
            // Where libraries are read says nothing of what the program does.
            if let Some(offset) = operation.offset.filter(|_| file.role != Role::Program) {
                self.place(operation.file, slot as u32, offset);
            }
        }
    }

    /// Distributes the time of an operation over all slots that it spans.
    fn spread(&mut self, operation: &Operation) {
        let (mut from_ns, end_ns) = (operation.time_ns, operation.end_ns());
        while from_ns < end_ns {
            let slot = (from_ns / self.slot_ns) as usize;
            let Some(one) = self.slots.get_mut(slot) else { return };
            let until_ns = end_ns.min((slot as u64 + 1) * self.slot_ns);
            one.busy_ns += until_ns - from_ns;
            from_ns = until_ns;
        }
    }

    fn slot(&mut self, time_ns: u64) -> usize {
        while time_ns / self.slot_ns >= SLOTS as u64 {
            let merged = |pair: &[Slot]| Slot {
                counts: [0, 1, 2].map(|kind| pair[0].counts[kind] + pair[1].counts[kind]),
                bytes: pair[0].bytes.saturating_add(pair[1].bytes),
                busy_ns: pair[0].busy_ns + pair[1].busy_ns,
                longest_sync_ns: pair[0].longest_sync_ns.max(pair[1].longest_sync_ns),
            };
            let mut slots: Vec<Slot> = self.slots.chunks(2).map(merged).collect();
            slots.resize(SLOTS, Slot::default());
            self.slots = slots;
            self.slot_ns *= 2;
            for file in self.files.values_mut() {
                file.coarsen(|(slot, place)| (slot / 2, place));
            }
        }
        (time_ns / self.slot_ns) as usize
    }

    fn place(&mut self, file: u32, slot: u32, offset: u64) {
        if self.files.len() >= MOST_FILES && !self.files.contains_key(&file) {
            return;
        }
        let file = self.files.entry(file).or_default();
        file.place_bytes = file.place_bytes.max(FIRST_PLACE_BYTES);
        while offset / file.place_bytes >= PLACES {
            file.place_bytes *= 2;
            file.coarsen(|(slot, place)| (slot, place / 2));
        }
        *file.cells.entry((slot, (offset / file.place_bytes) as u32)).or_default() += 1;
        file.count += 1;
    }
}

impl FilePicture {
    fn coarsen(&mut self, to: impl Fn((u32, u32)) -> (u32, u32)) {
        for (cell, count) in std::mem::take(&mut self.cells) {
            *self.cells.entry(to(cell)).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_trace::{Call, End, Facts, File, Thread, Writer};

    #[test]
    fn nothing_is_lost_when_slots_and_places_double() {
        let mut writer = Writer::new(Vec::new(), &Facts::default()).unwrap();
        writer.file(File { path: "/a".into(), ..File::default() }).unwrap();
        writer.thread(Thread::default()).unwrap();
        for number in 0..5000_u64 {
            let (time_ns, offset) = (number * 3_000_000, number * 1_000_000);
            let (call, flags) = (if number % 2 == 0 { Call::Pread } else { Call::Pwrite }, Flags::default());
            let operation = Operation {
                time_ns,
                duration_ns: 2_000_000,
                thread: 0,
                call,
                file: 0,
                offset: Some(offset),
                length: 4096,
                result: 4096,
                flags,
            };
            writer.operation(&operation).unwrap();
        }
        let bytes = writer.finish(End::default()).unwrap();
        let picture = Picture::of(&mut Reader::new(bytes.as_slice()).unwrap()).unwrap();
        let sum = |kind: usize| picture.slots.iter().map(|slot| slot.counts[kind]).sum::<u64>();
        assert_eq!((sum(0), sum(1), sum(2)), (2500, 2500, 0));
        let file = &picture.files[&0];
        assert_eq!((file.count, file.cells.values().sum::<u64>()), (5000, 5000));
        assert!(file.cells.len() <= SLOTS * PLACES as usize);
        let busy: u64 = picture.slots.iter().map(|slot| slot.busy_ns).sum();
        assert!(busy > 4900 * 2_000_000, "{busy}");
        assert_eq!(picture.sizes[1].get(&4096), Some(&2500));
        assert_eq!(picture.thinks.to_sparse().count, 4999);
    }
}
