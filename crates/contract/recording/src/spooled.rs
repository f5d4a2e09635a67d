//! The binary form of log entries in the file to which a worker spools them; the caller reads and
//! writes files.
//!
//! The latencies, the bandwidth and the time columns of one operation are differences of its three
//! stamps, so an operation is one record whatever logs it has lines in. Records stand in blocks,
//! each of which is read alone: a lost block takes no other with it, and of one that is cut off the
//! whole records are good. Numbers are little-endian.
//!
//! ```text
//!  block:    length: u32 │ records: u32 │ base: u64 │ flags: u8 │ 0: 7 bytes │ record …      (length: of the records)
//!  flags:    1 records have offsets │ 2 there are submission latencies
//!
//!  compact:  code │ delta │ clat │ slat │ traits │ offset: u64      (what the code or the flags say is there)
//!  code:     0 │ T │ slat: 2 bits │ clat: 2 bits │ delta: 2 bits    lengths of 0, 1, 2 or 4 bytes
//!  T traits: bytes: u32 │ priority: u16 │ direction: u8             if they are not those of the record before
//!
//!  full:     0x80 │ time, issue, lat, clat, slat, offset: u64 │ traits
//!  window:   0x81 │ LogEntry::encode
//! ```
//!
//! `delta` is the time since the record before (the block's base, for the first), ns. The latency
//! of a compact record is clat + slat, and its issue time that much before its time. What does not
//! fit that, or 32 bits, is a full record. Before its first record with traits, a block's traits
//! are all 0.

use iolab_plan::Direction;

use crate::LogEntry;

const FULL: u8 = 0x80;
const WINDOW: u8 = 0x81;
const HAS_TRAITS: u8 = 0x40;
const TRAITS_BYTES: usize = 7;
const FULL_BYTES: usize = 1 + 6 * 8 + TRAITS_BYTES;
/// Room for any record, and for what is written beyond its end before the next.
const LONGEST_RECORD: usize = 64;

/// No compact record is longer, with some room behind it.
const LONGEST_COMPACT: usize = 32;

const OFFSETS: u8 = 1;
const SLAT: u8 = 2;

/// One operation as the logs need it; times are ns since the worker's log began, or since the Unix
/// epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoggedOperation {
    /// When it completed.
    pub time_ns: u64,
    /// When it was issued.
    pub issue_ns: u64,
    /// Total latency, ns.
    pub lat_ns: u64,
    /// Completion latency, ns.
    pub clat_ns: u64,
    /// Submission latency, ns.
    pub slat_ns: u64,
    /// Its offset, bytes; 0 if no log shows it.
    pub offset: u64,
    /// What it was.
    pub traits: OperationTraits,
}

/// Properties that neighbouring operations tend to share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationTraits {
    /// Bytes of the operation.
    pub bytes: u32,
    /// Priority class and level, packed as `ioprio_set(2)` does.
    pub priority: u16,
    /// Its direction.
    pub direction: Direction,
}

impl Default for OperationTraits {
    fn default() -> Self {
        OperationTraits { bytes: 0, priority: 0, direction: Direction::Read }
    }
}

impl OperationTraits {
    #[inline]
    fn pack(self) -> u64 {
        u64::from(self.bytes) | u64::from(self.priority) << 32 | (self.direction as u64) << 48
    }

    fn unpack(bytes: &[u8]) -> Option<OperationTraits> {
        let packed = u64_of(bytes);
        let direction = *Direction::ALL.get(usize::from((packed >> 48) as u8))?;
        Some(OperationTraits { bytes: packed as u32, priority: (packed >> 32) as u16, direction })
    }
}

/// One record of a spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpooledRecord {
    /// One operation, of which each log has a line.
    Operation(LoggedOperation),
    /// One line of one log.
    Window(LogEntry),
}

/// A block that is being filled.
#[derive(Debug)]
pub struct SpoolBlock {
    bytes: Box<[u8; SpoolBlock::MOST_BYTES]>,
    end: usize,
    flags: u8,
    base_ns: u64,
    last_ns: u64,
    traits: u64,
    operations: u32,
    windows: u32,
}

impl SpoolBlock {
    /// No block is longer, bytes.
    pub const MOST_BYTES: usize = 64 << 10;

    /// An empty block of records with or without the `offsets` of operations; `slat` says whether
    /// their submission latencies are meaningful.
    pub fn new(offsets: bool, slat: bool) -> SpoolBlock {
        let bytes = vec![0; SpoolBlock::MOST_BYTES].into_boxed_slice().try_into();
        SpoolBlock {
            bytes: bytes.unwrap_or_else(|_| Box::new([0; SpoolBlock::MOST_BYTES])),
            end: BlockHeader::BYTES,
            flags: if offsets { OFFSETS } else { 0 } | if slat { SLAT } else { 0 },
            base_ns: 0,
            last_ns: 0,
            traits: 0,
            operations: 0,
            windows: 0,
        }
    }

    /// Whether no further record may be added.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.end > SpoolBlock::MOST_BYTES - LONGEST_RECORD
    }

    /// How many operations and windows there are in it.
    pub fn records(&self) -> (u32, u32) {
        (self.operations, self.windows)
    }

    /// Adds one operation to a block that is not full.
    #[inline]
    pub fn operation(&mut self, operation: &LoggedOperation) {
        let LoggedOperation { time_ns, issue_ns, lat_ns, clat_ns, slat_ns, offset, .. } = *operation;
        let delta_ns = time_ns.wrapping_sub(self.last_ns);
        let traits = operation.traits.pack();
        self.last_ns = time_ns;
        self.operations += 1;
        let Some(room) = self.bytes[self.end..].first_chunk_mut::<LONGEST_RECORD>() else { return };
        let fits = (delta_ns | clat_ns | slat_ns) >> 32 == 0;
        if !(fits && clat_ns + slat_ns == lat_ns && issue_ns.wrapping_add(lat_ns) == time_ns) {
            self.end += put_full(room, operation);
            self.traits = traits;
            return;
        }
        // All lengths are found and all parts combined without a branch: for latencies around a
        // power of 256, every other one would be mispredicted. Data written behind the end is
        // overwritten.
        let changed = traits != self.traits;
        let (delta, clat, slat) = (length_code(delta_ns), length_code(clat_ns), length_code(slat_ns));
        let clat_at = 1 + LENGTHS[delta];
        let slat_at = clat_at + LENGTHS[clat];
        let mut end = slat_at + LENGTHS[slat];
        let code = delta | clat << 2 | slat << 4 | if changed { HAS_TRAITS as usize } else { 0 };
        let record = code as u128
            | u128::from(delta_ns) << 8
            | u128::from(clat_ns) << (8 * clat_at)
            | u128::from(slat_ns) << (8 * slat_at);
        room[..16].copy_from_slice(&record.to_le_bytes());
        if changed {
            self.traits = traits;
            room[end..end + 8].copy_from_slice(&traits.to_le_bytes());
            end += TRAITS_BYTES;
        }
        if self.flags & OFFSETS != 0 {
            room[end..end + 8].copy_from_slice(&offset.to_le_bytes());
            end += 8;
        }
        self.end += end;
    }

    /// Adds one window to a block that is not full.
    pub fn window(&mut self, entry: &LogEntry) {
        let Some(room) = self.bytes[self.end..].first_chunk_mut::<LONGEST_RECORD>() else { return };
        room[0] = WINDOW;
        room[1..=LogEntry::ENCODED_BYTES].copy_from_slice(&entry.encode());
        self.end += 1 + LogEntry::ENCODED_BYTES;
        self.windows += 1;
    }

    /// The block in the form of the file.
    pub fn seal(&mut self) -> &[u8] {
        let header = BlockHeader {
            length: (self.end - BlockHeader::BYTES) as u32,
            records: self.operations + self.windows,
            base_ns: self.base_ns,
            flags: self.flags,
        };
        self.bytes[..BlockHeader::BYTES].copy_from_slice(&header.encode());
        &self.bytes[..self.end]
    }

    /// Begins the next block.
    pub fn clear(&mut self) {
        (self.end, self.operations, self.windows) = (BlockHeader::BYTES, 0, 0);
        self.base_ns = self.last_ns;
        self.traits = 0;
    }
}

/// Lengths by their code.
const LENGTHS: [usize; 4] = [0, 1, 2, 4];
const MASKS: [u64; 4] = [0, 0xff, 0xffff, 0xffff_ffff];

/// The code of the shortest length that holds `number`, which fits 32 bits.
#[inline]
fn length_code(number: u64) -> usize {
    usize::from(number > 0) + usize::from(number > 0xff) + usize::from(number > 0xffff)
}

#[cold]
fn put_full(room: &mut [u8; LONGEST_RECORD], operation: &LoggedOperation) -> usize {
    let LoggedOperation { time_ns, issue_ns, lat_ns, clat_ns, slat_ns, offset, traits } = *operation;
    room[0] = FULL;
    let numbers = [time_ns, issue_ns, lat_ns, clat_ns, slat_ns, offset, traits.pack()];
    for (place, number) in room[1..].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    FULL_BYTES
}

/// What stands before the records of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    length: u32,
    records: u32,
    base_ns: u64,
    flags: u8,
}

impl BlockHeader {
    /// Its length, bytes.
    pub const BYTES: usize = 24;

    fn encode(&self) -> [u8; BlockHeader::BYTES] {
        let mut bytes = [0; BlockHeader::BYTES];
        bytes[0..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.records.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.base_ns.to_le_bytes());
        bytes[16] = self.flags;
        bytes
    }

    /// Reads a header; `None` if no block can have it.
    pub fn decode(bytes: &[u8; BlockHeader::BYTES]) -> Option<BlockHeader> {
        let header = BlockHeader {
            length: u64_of(&bytes[0..4]) as u32,
            records: u64_of(&bytes[4..8]) as u32,
            base_ns: u64_of(&bytes[8..16]),
            flags: bytes[16],
        };
        let possible = header.length as usize <= SpoolBlock::MOST_BYTES - BlockHeader::BYTES;
        (possible && header.flags <= OFFSETS | SLAT).then_some(header)
    }

    /// Bytes of the records behind it.
    pub fn length(&self) -> usize {
        self.length as usize
    }

    /// Whether the submission latencies of its operations mean anything.
    pub fn has_slat(&self) -> bool {
        self.flags & SLAT != 0
    }

    /// The whole records in `bytes`, which may be cut off.
    pub fn records<'a>(&self, bytes: &'a [u8]) -> SpooledRecords<'a> {
        SpooledRecords {
            bytes,
            left: self.records,
            offsets: self.flags & OFFSETS != 0,
            last_ns: self.base_ns,
            traits: OperationTraits::default(),
        }
    }
}

/// The records of a block, one after the other. Ends at the first invalid one.
#[derive(Debug)]
pub struct SpooledRecords<'a> {
    bytes: &'a [u8],
    left: u32,
    offsets: bool,
    last_ns: u64,
    traits: OperationTraits,
}

impl Iterator for SpooledRecords<'_> {
    type Item = SpooledRecord;

    #[inline(always)]
    fn next(&mut self) -> Option<SpooledRecord> {
        self.left = self.left.checked_sub(1)?;
        let code = *self.bytes.first()?;
        let record = if code & FULL == 0 { self.compact().map(SpooledRecord::Operation) } else { self.odd(code) };
        if record.is_none() {
            self.left = 0;
        }
        record
    }
}

impl SpooledRecords<'_> {
    /// The next record is compact.
    #[inline(always)]
    fn compact(&mut self) -> Option<LoggedOperation> {
        let bytes = self.bytes;
        match bytes.first_chunk() {
            // Read in place: reading data in another width than it was just copied in makes the
            // processor wait.
            Some(room) => self.compact_in(room),
            None => self.last_compact(),
        }
    }

    /// Reads a compact record near the end of the block.
    #[cold]
    fn last_compact(&mut self) -> Option<LoggedOperation> {
        let mut room = [0; LONGEST_COMPACT];
        room[..self.bytes.len()].copy_from_slice(self.bytes);
        self.compact_in(&room)
    }

    /// The compact record at the front of `room`, which has what is left of the block, or zeros
    /// behind that.
    #[inline(always)]
    fn compact_in(&mut self, room: &[u8; LONGEST_COMPACT]) -> Option<LoggedOperation> {
        let record = u128::from_le_bytes(*room.first_chunk()?);
        let code = room[0];
        let [delta, clat, slat] = [code & 3, code >> 2 & 3, code >> 4 & 3].map(usize::from);
        let clat_at = 1 + LENGTHS[delta];
        let slat_at = clat_at + LENGTHS[clat];
        let mut end = slat_at + LENGTHS[slat];
        let number = |at: usize, code: usize| (record >> (8 * at)) as u64 & MASKS[code];
        if code & HAS_TRAITS != 0 {
            self.traits = OperationTraits::unpack(&room[end..end + TRAITS_BYTES])?;
            end += TRAITS_BYTES;
        }
        let mut offset = 0;
        if self.offsets {
            offset = u64_of(&room[end..end + 8]);
            end += 8;
        }
        self.bytes = self.bytes.get(end..)?;
        let (clat_ns, slat_ns) = (number(clat_at, clat), number(slat_at, slat));
        let (time_ns, lat_ns) = (self.last_ns.wrapping_add(number(1, delta)), clat_ns + slat_ns);
        self.last_ns = time_ns;
        let issue_ns = time_ns.wrapping_sub(lat_ns);
        Some(LoggedOperation { time_ns, issue_ns, lat_ns, clat_ns, slat_ns, offset, traits: self.traits })
    }

    #[cold]
    fn odd(&mut self, code: u8) -> Option<SpooledRecord> {
        if code == WINDOW {
            let entry = self.bytes.get(1..)?.first_chunk().and_then(LogEntry::decode)?;
            self.bytes = &self.bytes[1 + LogEntry::ENCODED_BYTES..];
            return Some(SpooledRecord::Window(entry));
        }
        let bytes = self.bytes.split_off(..FULL_BYTES).filter(|_| code == FULL)?;
        let [time_ns, issue_ns, lat_ns, clat_ns, slat_ns, offset] =
            [1, 9, 17, 25, 33, 41].map(|at| u64_of(&bytes[at..at + 8]));
        let traits = OperationTraits::unpack(&bytes[49..])?;
        (self.last_ns, self.traits) = (time_ns, traits);
        let operation = LoggedOperation { time_ns, issue_ns, lat_ns, clat_ns, slat_ns, offset, traits };
        Some(SpooledRecord::Operation(operation))
    }
}

/// A number of up to eight bytes.
#[inline]
fn u64_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
