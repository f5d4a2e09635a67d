//! Formats lines of per-operation logs, which can be very many: a fast equivalent of
//! [`crate::write_log_line`].
//!
//! The lines of one operation differ only in their value, and those of neighbouring operations
//! differ little. The columns before and after the value are therefore cached as text until they
//! change. Each part of a line is copied with a fixed length, and the next part overwrites the
//! excess; a value of up to eight digits is formatted without a division or a branch.

use iolab_plan::{LogKind, LogPlan};
use iolab_recording::{LoggedOperation, OperationTraits};

use crate::logs::is_realtime;

/// Space for the longest line: the columns before the value, the value, and the columns after it.
const LONGEST_LINE: usize = TIME_BYTES + NUMBER_BYTES + TAIL_BYTES;
/// A time column with the longest number.
const TIME_BYTES: usize = 24;
/// The longest number, with the excess written after a shorter one.
const NUMBER_BYTES: usize = 24;
/// Direction, bytes, offset, priority and issue time with the longest numbers.
const TAIL_BYTES: usize = 96;
/// Most tails fit into this length, which is copied faster.
const SHORT_TAIL_BYTES: usize = 16;

/// Lines waiting to be written.
#[derive(Debug)]
pub struct LogText {
    bytes: Box<[u8]>,
    end: usize,
}

impl LogText {
    /// A buffer of this number of bytes, and one more line.
    pub fn new(bytes: usize) -> LogText {
        LogText { bytes: vec![0; bytes + LONGEST_LINE].into(), end: 0 }
    }

    /// Whether no more lines may be added.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.end + LONGEST_LINE > self.bytes.len()
    }

    /// The lines.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    /// Removes the lines.
    pub fn clear(&mut self) {
        self.end = 0;
    }

    /// Adds a text that is no longer than a line.
    pub fn push_str(&mut self, text: &str) {
        self.bytes[self.end..self.end + text.len()].copy_from_slice(text.as_bytes());
        self.end += text.len();
    }
}

/// The columns around the value, as text.
#[derive(Debug)]
pub struct OperationLines {
    with_offset: bool,
    with_priority: bool,
    with_issue_time: bool,
    value: Values,
    /// The range of times, ns, for which the text of the time column is valid.
    time_is: (u64, u64),
    time: Text<TIME_BYTES>,
    traits: Option<OperationTraits>,
    /// Direction and bytes.
    middle: Text<TAIL_BYTES>,
    /// Priority.
    priority: Text<TAIL_BYTES>,
    tail: Text<TAIL_BYTES>,
    /// For lines of submission and completion latencies, which have issue times.
    issued_tail: Text<TAIL_BYTES>,
}

/// The inputs of the value column.
#[derive(Debug, Clone, Copy, Default)]
struct Values {
    lat_ns: u64,
    clat_ns: u64,
    slat_ns: u64,
    bytes: u32,
}

impl OperationLines {
    /// Prepares the columns that `plan` asks for.
    pub fn new(plan: &LogPlan) -> OperationLines {
        OperationLines {
            with_offset: plan.offset,
            with_priority: plan.priority,
            with_issue_time: plan.issue_time,
            value: Values::default(),
            time_is: (0, 0),
            time: Text::new(),
            traits: None,
            middle: Text::new(),
            priority: Text::new(),
            tail: Text::new(),
            issued_tail: Text::new(),
        }
    }

    /// Starts the lines of this operation.
    #[inline(always)]
    pub fn begin(&mut self, operation: &LoggedOperation) {
        let LoggedOperation { time_ns, issue_ns, lat_ns, clat_ns, slat_ns, offset, traits } = *operation;
        self.value = Values { lat_ns, clat_ns, slat_ns, bytes: traits.bytes };
        if !(self.time_is.0 <= time_ns && time_ns < self.time_is.1) {
            self.tell_time(time_ns);
        }
        let changed = self.traits != Some(traits);
        if changed {
            self.describe(traits);
        }
        if changed || self.with_offset || self.with_issue_time {
            self.finish_tails(offset, issue_ns);
        }
    }

    #[cold]
    fn tell_time(&mut self, time_ns: u64) {
        const MS: u64 = 1_000_000;
        let begin_ns = time_ns - time_ns % MS;
        self.time_is = (begin_ns, begin_ns.saturating_add(MS));
        self.time.clear();
        self.time.push_number(time_ns / MS);
        self.time.push(", ");
    }

    fn describe(&mut self, traits: OperationTraits) {
        self.traits = Some(traits);
        self.middle.clear();
        self.middle.push_next(traits.direction.index() as u64);
        self.middle.push_next(u64::from(traits.bytes));
        self.priority.clear();
        if self.with_priority {
            self.priority.push(", 0x");
            for shift in [12, 8, 4, 0] {
                let digit = b"0123456789abcdef"[usize::from(traits.priority >> shift & 15)];
                self.priority.push_bytes(&[digit]);
            }
        } else {
            self.priority.push_next(u64::from(is_realtime(traits.priority)));
        }
    }

    fn finish_tails(&mut self, offset: u64, issue_ns: u64) {
        self.tail.clear();
        self.tail.push_bytes(self.middle.as_bytes());
        if self.with_offset {
            self.tail.push_next(offset);
        }
        self.tail.push_bytes(self.priority.as_bytes());
        if self.with_issue_time {
            self.issued_tail.clear();
            self.issued_tail.push_bytes(self.tail.as_bytes());
            self.issued_tail.push_next(issue_ns);
            self.issued_tail.push("\n");
            self.tail.push(", 0");
        }
        self.tail.push("\n");
    }

    /// Adds the line for the log of `kind` to a text that is not full.
    #[inline(always)]
    pub fn add_to(&self, text: &mut LogText, kind: LogKind) {
        let Values { lat_ns, clat_ns, slat_ns, bytes } = self.value;
        let mut tail = &self.tail;
        let value = match kind {
            LogKind::Lat => lat_ns,
            LogKind::Clat => clat_ns,
            LogKind::Slat => slat_ns,
            LogKind::Bw => u64::from(bytes) * 1_000_000 / lat_ns.max(1),
            LogKind::Iops => 1,
        };
        if self.with_issue_time && matches!(kind, LogKind::Clat | LogKind::Slat) {
            tail = &self.issued_tail;
        }
        let Some(room) = text.bytes[text.end..].first_chunk_mut::<LONGEST_LINE>() else { return };
        room[..TIME_BYTES].copy_from_slice(&self.time.bytes);
        // This changes no value, but lets the compiler omit bounds checks.
        let mut end = self.time.end.min(TIME_BYTES);
        end += put_number(&mut room[end..], value);
        if tail.end <= SHORT_TAIL_BYTES {
            room[end..end + SHORT_TAIL_BYTES].copy_from_slice(&tail.bytes[..SHORT_TAIL_BYTES]);
        } else {
            room[end..end + TAIL_BYTES].copy_from_slice(&tail.bytes);
        }
        text.end += end + tail.end;
    }
}

/// A short text stored inline.
#[derive(Debug)]
struct Text<const N: usize> {
    bytes: [u8; N],
    end: usize,
}

impl<const N: usize> Text<N> {
    fn new() -> Text<N> {
        Text { bytes: [0; N], end: 0 }
    }

    fn clear(&mut self) {
        self.end = 0;
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        self.bytes[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    fn push(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    fn push_number(&mut self, number: u64) {
        let mut room = [0; NUMBER_BYTES];
        let length = put_number(&mut room, number);
        self.push_bytes(&room[..length]);
    }

    fn push_next(&mut self, number: u64) {
        self.push(", ");
        self.push_number(number);
    }
}

const EIGHT_DIGITS: u64 = 100_000_000;
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Writes a number to the front of `room`, which has at least [`NUMBER_BYTES`]; bytes after it may
/// be overwritten. Returns the number's length.
#[inline]
fn put_number(room: &mut [u8], number: u64) -> usize {
    if number < EIGHT_DIGITS {
        let digits = eight_digits(number);
        // The first digit is in the lowest byte; for 0 one digit is left.
        let leading = (digits | (1 << 56)).trailing_zeros() / 8;
        room[..8].copy_from_slice(&((digits | ZEROS) >> (8 * leading)).to_le_bytes());
        return 8 - leading as usize;
    }
    put_long_number(room, number)
}

#[cold]
fn put_long_number(room: &mut [u8], number: u64) -> usize {
    let front = put_number(room, number / EIGHT_DIGITS);
    let digits = eight_digits(number % EIGHT_DIGITS) | ZEROS;
    room[front..front + 8].copy_from_slice(&digits.to_le_bytes());
    front + 8
}

/// The decimal digits of a number below 10^8, one per byte, the first in the lowest byte. Halves
/// are divided in parallel in lanes of a word, by multiplication with the reciprocal, such that no
/// lane overflows into the next.
#[inline]
fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - tens * 10) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_others_write_them() {
        let powers = (0..20).map(|power| 10_u64.pow(power));
        let edges = powers.flat_map(|power| [power - 1, power, power + 1, power.saturating_mul(9)]);
        // All halves of eight digits, in either position.
        let halves = (0..10_000).flat_map(|half| [half, half * 10_000, half * 10_001]);
        for number in edges.chain(halves).chain([u64::MAX, u64::MAX - 1]) {
            let mut room = [0; NUMBER_BYTES];
            let length = put_number(&mut room, number);
            assert_eq!(std::str::from_utf8(&room[..length]), Ok(number.to_string().as_str()));
        }
    }
}
