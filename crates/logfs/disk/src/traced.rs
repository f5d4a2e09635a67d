//! A device that records its requests, so that a crash at any moment can be simulated afterwards.
//!
//! The model of a crash: a write is safe if it had completed before a flush was submitted that has
//! completed. Every other submitted write may be there, missing, or there in some of its blocks,
//! and such writes reach the media in any order. A load is run once; [`CrashPoints`] then walks the
//! trace and makes the images of any number of crashes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::{Action, BlockDevice, DiskCompletion, DiskRequest, Geometry};

/// The events at a device, in order.
#[derive(Debug, Default)]
pub struct Trace {
    writes: Vec<Write>,
    events: Vec<Event>,
}

#[derive(Debug)]
struct Write {
    at: u64,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Submitted(usize),
    Completed(usize),
    FlushSubmitted(u64),
    FlushCompleted(u64),
}

impl Trace {
    /// The number of events so far; each is a moment at which to crash. Stored together with a
    /// promise made to a load, it says before which crashes the promise was made.
    pub fn events(&self) -> usize {
        self.events.len()
    }
}

/// What discarded blocks read as.
const DISCARDED: u8 = 0xd1;

/// A device whose writes, discards and flushes are recorded. A discard counts as a write of
/// undefined bytes: each block of its range may hold its old content or `DISCARDED` until a flush
/// makes it the latter.
#[derive(Debug)]
pub struct Traced<D> {
    device: D,
    trace: Rc<RefCell<Trace>>,
    in_flight: HashMap<u64, Event>,
}

impl<D: BlockDevice> Traced<D> {
    /// Wraps a device; also returns the trace, which grows as it is used.
    pub fn new(device: D) -> (Traced<D>, Rc<RefCell<Trace>>) {
        let trace = Rc::default();
        (Traced { device, trace: Rc::clone(&trace), in_flight: HashMap::new() }, trace)
    }
}

impl<D: BlockDevice> BlockDevice for Traced<D> {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        let tag = request.tag;
        let write = match &request.action {
            Action::Write { at, buffer } => Some(Write { at: *at, bytes: buffer.to_vec() }),
            Action::Discard { at, length } => Some(Write { at: *at, bytes: vec![DISCARDED; *length as usize] }),
            _ => None,
        };
        let is_flush = matches!(request.action, Action::Flush);
        self.device.submit(request)?;
        let mut trace = self.trace.borrow_mut();
        if let Some(write) = write {
            let number = trace.writes.len();
            trace.writes.push(write);
            trace.events.push(Event::Submitted(number));
            self.in_flight.insert(tag, Event::Completed(number));
        } else if is_flush {
            trace.events.push(Event::FlushSubmitted(tag));
            self.in_flight.insert(tag, Event::FlushCompleted(tag));
        }
        Ok(())
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        let before = done.len();
        self.device.reap(wait, done);
        for completion in &done[before..] {
            let event = self.in_flight.remove(&completion.tag);
            // A request that failed promises nothing: a failed write stays unsafe, a failed flush
            // makes nothing safe.
            if let (Some(event), Ok(())) = (event, completion.result) {
                self.trace.borrow_mut().events.push(event);
            }
        }
    }
}

/// What happens to the writes that no flush has made safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    /// They are all lost.
    Nothing,
    /// They are all there, in order.
    Everything,
    /// Each is there, lost or torn, in any order, depending on the seed.
    Some(u64),
}

/// Walks a trace from crash to crash.
#[derive(Debug)]
pub struct CrashPoints<'a> {
    trace: &'a Trace,
    block_bytes: usize,
    safe: Vec<u8>,
    next: usize,
    /// Writes that are not safe, with whether they have completed.
    unsafe_writes: Vec<(usize, bool)>,
    /// For each flush in flight, the writes that it will make safe.
    flushes: HashMap<u64, Vec<usize>>,
}

impl<'a> CrashPoints<'a> {
    /// Starts before the first event, on a disk that holds `image`.
    pub fn new(trace: &'a Trace, image: Vec<u8>, block_bytes: u32) -> CrashPoints<'a> {
        let block_bytes = block_bytes.max(1) as usize;
        CrashPoints { trace, block_bytes, safe: image, next: 0, unsafe_writes: Vec::new(), flushes: HashMap::new() }
    }

    /// Advances to the moment after this number of events of the trace; never goes back.
    pub fn advance(&mut self, events: usize) {
        while self.next < events.min(self.trace.events.len()) {
            let event = self.trace.events[self.next];
            self.next += 1;
            match event {
                Event::Submitted(write) => self.unsafe_writes.push((write, false)),
                Event::Completed(write) => {
                    self.unsafe_writes
                        .iter_mut()
                        .filter(|(number, _)| *number == write)
                        .for_each(|(_, done)| *done = true);
                }
                Event::FlushSubmitted(tag) => {
                    let covered = self.unsafe_writes.iter().filter(|(_, done)| *done).map(|(number, _)| *number);
                    self.flushes.insert(tag, covered.collect());
                }
                Event::FlushCompleted(tag) => {
                    for write in self.flushes.remove(&tag).unwrap_or_default() {
                        self.make_safe(write);
                    }
                }
            }
        }
    }

    fn make_safe(&mut self, write: usize) {
        let before = self.unsafe_writes.len();
        self.unsafe_writes.retain(|(number, _)| *number != write);
        if self.unsafe_writes.len() < before {
            let write = &self.trace.writes[write];
            put(&mut self.safe, write.at as usize, &write.bytes);
        }
    }

    /// The number of writes whose state after a crash is open.
    pub fn doubtful(&self) -> usize {
        self.unsafe_writes.len()
    }

    /// The disk after a crash now.
    pub fn image(&self, survival: Survival) -> Vec<u8> {
        let mut image = self.safe.clone();
        let mut writes: Vec<usize> = self.unsafe_writes.iter().map(|(number, _)| *number).collect();
        match survival {
            Survival::Nothing => {}
            Survival::Everything => {
                writes.iter().for_each(|&write| put_whole(&mut image, &self.trace.writes[write]));
            }
            Survival::Some(seed) => {
                let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.next as u64);
                for place in (1..writes.len()).rev() {
                    writes.swap(place, random.below(place as u64 + 1) as usize);
                }
                writes.iter().for_each(|&write| self.put_some(&mut image, &self.trace.writes[write], &mut random));
            }
        }
        image
    }

    fn put_some(&self, image: &mut [u8], write: &Write, random: &mut Random) {
        match random.below(3) {
            0 => {}
            1 => put_whole(image, write),
            _ => {
                for (number, block) in write.bytes.chunks(self.block_bytes).enumerate() {
                    if random.below(2) == 0 {
                        put(image, write.at as usize + number * self.block_bytes, block);
                    }
                }
            }
        }
    }
}

fn put_whole(image: &mut [u8], write: &Write) {
    put(image, write.at as usize, &write.bytes);
}

/// The device refused a write beyond the end of the image, so it leaves nothing.
fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = image.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, RamDisk};

    fn write(device: &mut impl BlockDevice, tag: u64, at: u64, byte: u8) {
        let mut buffer = Buffer::zeroed(1024);
        buffer.fill(byte);
        device.submit(DiskRequest { tag, action: Action::Write { at, buffer } }).unwrap();
    }

    fn flush(device: &mut impl BlockDevice, tag: u64) {
        device.submit(DiskRequest { tag, action: Action::Flush }).unwrap();
    }

    #[test]
    fn a_flush_saves_what_had_completed_and_nothing_else() {
        let (mut device, trace) = Traced::new(RamDisk::new(8192, 512));
        let mut done = Vec::new();
        write(&mut device, 1, 0, 1);
        device.reap(true, &mut done);
        write(&mut device, 2, 1024, 2);
        flush(&mut device, 3);
        device.reap(true, &mut done);
        write(&mut device, 4, 0, 4);
        let trace = trace.borrow();
        let mut points = CrashPoints::new(&trace, vec![0; 8192], 512);
        let firsts = |image: Vec<u8>| (image[0], image[1024]);
        points.advance(3);
        assert_eq!((points.doubtful(), firsts(points.image(Survival::Nothing))), (2, (0, 0)));
        points.advance(trace.events());
        // Write 2 had not completed when the flush was submitted.
        assert_eq!((points.doubtful(), firsts(points.image(Survival::Nothing))), (2, (1, 0)));
        assert_eq!(firsts(points.image(Survival::Everything)), (4, 2));
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..3000 {
            let image = points.image(Survival::Some(seed));
            seen.insert((image[0], image[512], image[1024], image[1536]));
        }
        let all = [1, 4].iter().flat_map(|&a| [1, 4].map(|b| (a, b)));
        let all: Vec<_> = all.flat_map(|(a, b)| [0, 2].map(|c| (a, b, c))).collect();
        for (a, b, c) in all {
            assert!(seen.contains(&(a, b, c, 0)) && seen.contains(&(a, b, c, 2)), "{a} {b} {c}");
        }
    }
}
