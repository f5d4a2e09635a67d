//! The entry of one interval of one worker.
//!
//! ```text
//!  worker │ start │ length                                varints; ns since the start of the run, ns
//!  then, for each direction in which something completed:
//!  direction: u8 │ ios │ bytes │ latencies: u8 │ histogram …
//! ```
//!
//! Bits of `latencies`, whose histograms follow in this order: 1 lat, 2 clat, 4 response. Bit 8 has
//! no histogram: that of clat equals that of lat. The form of a histogram is that of
//! [`PackedHistogram`].

use iolab_histogram::{Baseline, Histogram, LONGEST_DIFFERENCE, PackedHistogram, put_varint, take_varint};
use iolab_plan::Direction;

use super::{HEADER_BYTES, INTERVAL, seal};
use crate::sound::{LONGEST_NS, MOST, MOST_BYTES};
use crate::{DirectionInterval, IntervalLatencies};

const CLAT_EQUALS_LAT: u8 = 8;

/// Which latency a histogram of an entry holds, in the order in which they are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedLatency {
    /// reaped - begun.
    Lat = 1,
    /// reaped - submitted.
    Clat = 2,
    /// reaped - intended.
    Response = 4,
}

/// The buffer for a worker's entries. It is allocated once; unused memory is never touched.
#[derive(Debug)]
pub struct EntryBuffer {
    bytes: Vec<u8>,
    entry_at: usize,
    latencies_at: usize,
    /// Where the histogram of lat begins, and where it ends, in the direction being written.
    lat: (usize, usize),
}

impl EntryBuffer {
    /// Room for a full entry and an empty one.
    pub fn new() -> EntryBuffer {
        let longest = Direction::ALL.len() * (3 * LONGEST_DIFFERENCE + 22) + 2 * (HEADER_BYTES + 30);
        // A difference asks for its longest form before it begins, so one more than fits must fit.
        let bytes = Vec::with_capacity(longest + LONGEST_DIFFERENCE);
        EntryBuffer { bytes, entry_at: 0, latencies_at: 0, lat: (0, 0) }
    }

    /// Makes room again.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Begins the entry of an interval of `worker`; times are ns, the start since the start of the
    /// run.
    pub fn begin(&mut self, worker: u32, start_ns: u64, length_ns: u64) {
        self.entry_at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER_BYTES - 1]);
        self.bytes.push(INTERVAL);
        put_varint(&mut self.bytes, u64::from(worker));
        put_varint(&mut self.bytes, start_ns);
        put_varint(&mut self.bytes, length_ns);
    }

    /// Begins a direction; each at most once, in the order of [`Direction::ALL`].
    pub fn direction(&mut self, direction: Direction, ios: u64, bytes: u64) {
        self.bytes.push(direction.index() as u8);
        put_varint(&mut self.bytes, ios);
        put_varint(&mut self.bytes, bytes);
        self.latencies_at = self.bytes.len();
        self.bytes.push(0);
        self.lat = (0, 0);
    }

    /// Adds what `histogram` counted since its last entry, if anything.
    pub fn latency(&mut self, latency: LoggedLatency, histogram: &mut Histogram, baseline: &mut Baseline) {
        let at = self.bytes.len();
        if !histogram.difference(baseline, &mut self.bytes) {
            return;
        }
        let (lat, this) = (&self.bytes[self.lat.0..self.lat.1], &self.bytes[at..]);
        if latency == LoggedLatency::Clat && lat == this {
            self.bytes.truncate(at);
            self.bytes[self.latencies_at] |= CLAT_EQUALS_LAT;
            return;
        }
        if latency == LoggedLatency::Lat {
            self.lat = (at, self.bytes.len());
        }
        self.bytes[self.latencies_at] |= latency as u8;
    }

    /// Ends the entry: it may be written.
    pub fn end(&mut self) {
        seal(&mut self.bytes[self.entry_at..]);
    }

    /// The entries made since the last `clear`.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Default for EntryBuffer {
    fn default() -> Self {
        EntryBuffer::new()
    }
}

/// Reads the payload of an entry: the worker, and its interval. `None` if it is invalid.
pub(super) fn take_interval(mut payload: &[u8]) -> Option<(u32, IntervalLatencies)> {
    let bytes = &mut payload;
    let worker = u32::try_from(take_varint(bytes)?).ok()?;
    let (start_ns, length_ns) = (take_varint(bytes)?, take_varint(bytes)?);
    if start_ns > LONGEST_NS || length_ns > LONGEST_NS {
        return None;
    }
    let mut directions: Vec<DirectionInterval> = Vec::new();
    while let Some(number) = bytes.split_off_first() {
        let direction = *Direction::ALL.get(usize::from(*number))?;
        if directions.last().is_some_and(|last| last.direction.index() >= direction.index()) {
            return None;
        }
        directions.push(take_direction(direction, bytes)?);
    }
    Some((worker, IntervalLatencies { start_ns, length_ns, directions }))
}

fn take_direction(direction: Direction, bytes: &mut &[u8]) -> Option<DirectionInterval> {
    let (ios, moved) = (take_varint(bytes)?, take_varint(bytes)?);
    let latencies = *bytes.split_off_first()?;
    let clat_equals_lat = latencies & CLAT_EQUALS_LAT != 0;
    let has = |latency: LoggedLatency| latencies & latency as u8 != 0;
    if ios > MOST
        || moved > MOST_BYTES
        || latencies > 15
        || (clat_equals_lat && (has(LoggedLatency::Clat) || !has(LoggedLatency::Lat)))
    {
        return None;
    }
    let mut histogram = |latency| match has(latency) {
        true => PackedHistogram::take(bytes).map(Some),
        false => Some(None),
    };
    let (lat, clat, response) =
        (histogram(LoggedLatency::Lat)?, histogram(LoggedLatency::Clat)?, histogram(LoggedLatency::Response)?);
    Some(DirectionInterval { direction, ios, bytes: moved, lat, clat, clat_equals_lat, response })
}
