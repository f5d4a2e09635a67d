//! A block of operations as columns of differences.
//!
//! ```text
//!  payload:   count │ base time │ contexts: number, (thread, call, file, flags) … │ column × 6
//!  column:    form: u8 │ length │ bytes        form 0: one number for each operation; form 1: (number, further repeats) …
//!                                              form 2: count of distinct numbers │ each │ places in that list, as
//!                                              bits, the lowest first: 1, 2 or 4 for each operation
//!
//!  column 1   context   number in the list of contexts
//!  column 2   time      layout 2: difference to the end of the thread's operation before, zigzag; to the last
//!                       operation's time (the base, for the first) where the thread has none;
//!                       layout 1: difference to the operation before (the base, for the first), zigzag
//!  column 3   duration  ns
//!  column 4   offset    0: none │ 1 + place; place: 0 where the file's operation before ended, else
//!                       1 + zigzag(difference to there) × 2, or if 512 divides it, 1 + zigzag(difference / 512) × 2 + 1
//!  column 5   length    0: as the operation before in this context │ 1 + length
//!  column 6   result    0: as the length │ 1 + zigzag(result)
//! ```
//! Numbers are varints (LEB128). An operation ends at the end of the bytes it moved, or of the
//! range it names. Each block is read alone: every prediction starts from scratch. Layout 1 has no
//! columns of form 2; it is read, not written.

use std::collections::HashMap;

use iolab_histogram::{put_varint, take_varint};

use crate::operation::BOUND;
use crate::{Call, Flags, Operation};

/// Most operations of a block.
pub const MOST: usize = 1 << 14;

const COLUMNS: usize = 6;
const PLAIN: u8 = 0;
const RUNS: u8 = 1;
const PACKED: u8 = 2;
/// Most distinct numbers of a packed column.
const MOST_DISTINCT: usize = 16;

/// The interpretation of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The first that was written.
    One,
    /// With times from where the thread was, and packed columns.
    Two,
}

type Context = (u32, Call, u32, Flags);

/// Predicts the next operation from earlier ones; writer and reader keep the same state. Files and
/// threads are looked up once for each context, so that an operation finds them by the number of
/// its context.
#[derive(Debug, Default)]
struct Predictions {
    contexts: Vec<Prediction>,
    /// Where the last operation on each file ended.
    ends: Vec<u64>,
    /// When the last operation of each thread ended, ns.
    thread_ends: Vec<Option<u64>>,
    files: HashMap<u32, usize>,
    threads: HashMap<u32, usize>,
}

/// The known state of a context.
#[derive(Debug, Clone, Copy)]
struct Prediction {
    /// The places of its file and its thread among all.
    file: usize,
    thread: usize,
    /// The last length.
    length: u64,
}

impl Predictions {
    /// The next context.
    fn add(&mut self, (thread, _, file, _): Context) {
        let next = self.files.len();
        let file = *self.files.entry(file).or_insert(next);
        let next = self.threads.len();
        let thread = *self.threads.entry(thread).or_insert(next);
        self.ends.resize(self.files.len(), 0);
        self.thread_ends.resize(self.threads.len(), None);
        self.contexts.push(Prediction { file, thread, length: 0 });
    }

    fn end_of(&self, context: usize) -> u64 {
        self.ends[self.contexts[context].file]
    }

    fn length_in(&self, context: usize) -> u64 {
        self.contexts[context].length
    }

    fn saw(&mut self, context: usize, operation: &Operation) {
        let known = &mut self.contexts[context];
        known.length = operation.length;
        if let Some(offset) = operation.offset {
            let span = if operation.call.moves_data() { operation.bytes() } else { operation.length };
            self.ends[known.file] = offset + span;
        }
        self.thread_ends[known.thread] = Some(operation.end_ns());
    }

    /// When the next operation of a context is expected to begin, ns.
    fn begin_of(&self, layout: Layout, context: usize, last_ns: u64) -> u64 {
        match layout {
            Layout::One => last_ns,
            Layout::Two => self.thread_ends[self.contexts[context].thread].unwrap_or(last_ns),
        }
    }
}

/// The payload of a block.
pub(crate) fn encode(operations: &[Operation]) -> Vec<u8> {
    let mut contexts: Vec<Context> = Vec::new();
    let mut numbers: HashMap<Context, usize> = HashMap::new();
    let mut columns: [Vec<u64>; COLUMNS] = Default::default();
    let mut predictions = Predictions::default();
    let base_ns = operations.first().map_or(0, |operation| operation.time_ns);
    let mut last_ns = base_ns;
    for operation in operations {
        let context = (operation.thread, operation.call, operation.file, operation.flags);
        let number = *numbers.entry(context).or_insert_with(|| {
            contexts.push(context);
            predictions.add(context);
            contexts.len() - 1
        });
        let same_length = predictions.length_in(number) == operation.length;
        let row = [
            number as u64,
            zigzag(operation.time_ns as i64 - predictions.begin_of(Layout::Two, number, last_ns) as i64),
            operation.duration_ns,
            operation.offset.map_or(0, |offset| 1 + place(offset, predictions.end_of(number))),
            if same_length { 0 } else { 1 + operation.length },
            if operation.result == operation.length as i64 { 0 } else { 1 + zigzag(operation.result) },
        ];
        columns.iter_mut().zip(row).for_each(|(column, number)| column.push(number));
        predictions.saw(number, operation);
        last_ns = operation.time_ns;
    }
    let mut bytes = Vec::new();
    put_varint(&mut bytes, operations.len() as u64);
    put_varint(&mut bytes, base_ns);
    put_varint(&mut bytes, contexts.len() as u64);
    for (thread, call, file, flags) in contexts {
        [u64::from(thread), call as u64, u64::from(file), u64::from(flags.0)]
            .iter()
            .for_each(|number| put_varint(&mut bytes, *number));
    }
    columns.iter().for_each(|column| put_column(&mut bytes, column));
    bytes
}

/// Reads a block into `operations`; `None` if it is not one.
pub(crate) fn decode(mut bytes: &[u8], layout: Layout, operations: &mut Vec<Operation>) -> Option<()> {
    operations.clear();
    let count = usize::try_from(take_varint(&mut bytes)?).ok().filter(|count| *count <= MOST)?;
    let mut time_ns = take_varint(&mut bytes).filter(|base| *base < BOUND)?;
    let contexts = take_contexts(&mut bytes, count)?;
    let mut rows = vec![[0; COLUMNS]; count];
    for column in 0..COLUMNS {
        let numbers = take_column(&mut bytes, count)?;
        rows.iter_mut().zip(numbers).for_each(|(row, number)| row[column] = number);
    }
    let mut predictions = Predictions::default();
    contexts.iter().for_each(|context| predictions.add(*context));
    for [context, time, duration_ns, offset, length, result] in rows {
        let number = usize::try_from(context).ok()?;
        let (thread, call, file, flags) = *contexts.get(number)?;
        time_ns = predictions.begin_of(layout, number, time_ns).checked_add_signed(unzigzag(time))?;
        let offset = match offset.checked_sub(1) {
            None => None,
            Some(place) => Some(placed(place, predictions.end_of(number))?),
        };
        let length = length.checked_sub(1).unwrap_or_else(|| predictions.length_in(number));
        let result = result.checked_sub(1).map_or(i64::try_from(length).ok()?, unzigzag);
        let operation = Operation { time_ns, duration_ns, thread, call, file, offset, length, result, flags };
        if !operation.is_sound() {
            return None;
        }
        predictions.saw(number, &operation);
        operations.push(operation);
    }
    bytes.is_empty().then_some(())
}

fn take_contexts(bytes: &mut &[u8], count: usize) -> Option<Vec<Context>> {
    let number = usize::try_from(take_varint(bytes)?).ok().filter(|number| *number <= count)?;
    let mut contexts = Vec::with_capacity(number.min(bytes.len()));
    for _ in 0..number {
        let thread = u32::try_from(take_varint(bytes)?).ok()?;
        let call = Call::of_number(u8::try_from(take_varint(bytes)?).ok()?)?;
        let file = u32::try_from(take_varint(bytes)?).ok()?;
        let flags = Flags(u32::try_from(take_varint(bytes)?).ok()?);
        contexts.push((thread, call, file, flags));
    }
    Some(contexts)
}

/// Writes a column in the shorter of its forms.
fn put_column(bytes: &mut Vec<u8>, numbers: &[u64]) {
    let mut plain = Vec::with_capacity(numbers.len() * 2);
    numbers.iter().for_each(|number| put_varint(&mut plain, *number));
    let mut runs = Vec::new();
    for run in numbers.chunk_by(|one, next| one == next) {
        put_varint(&mut runs, run[0]);
        put_varint(&mut runs, run.len() as u64 - 1);
    }
    let (mut form, mut shorter) = if runs.len() < plain.len() { (RUNS, runs) } else { (PLAIN, plain) };
    if let Some(packed) = packed(numbers).filter(|packed| packed.len() < shorter.len()) {
        (form, shorter) = (PACKED, packed);
    }
    bytes.push(form);
    put_varint(bytes, shorter.len() as u64);
    bytes.extend_from_slice(&shorter);
}

/// The packed form, if there are few distinct numbers.
fn packed(numbers: &[u64]) -> Option<Vec<u8>> {
    let mut list: Vec<u64> = Vec::new();
    let mut places = Vec::with_capacity(numbers.len());
    for number in numbers {
        let place = list.iter().position(|known| known == number).unwrap_or(list.len());
        if place == MOST_DISTINCT {
            return None;
        }
        if place == list.len() {
            list.push(*number);
        }
        places.push(place as u8);
    }
    let bits = bits_for(list.len());
    let mut bytes = Vec::new();
    put_varint(&mut bytes, list.len() as u64);
    list.iter().for_each(|number| put_varint(&mut bytes, *number));
    for group in places.chunks(8 / bits) {
        bytes.push(group.iter().rev().fold(0, |byte, place| byte << bits | place));
    }
    Some(bytes)
}

/// Bits of a place in a list, a divisor of 8.
fn bits_for(distinct: usize) -> usize {
    match distinct {
        0..=2 => 1,
        3..=4 => 2,
        _ => 4,
    }
}

/// Reads the packed form of `count` numbers.
fn unpacked(mut column: &[u8], count: usize) -> Option<Vec<u64>> {
    let distinct = usize::try_from(take_varint(&mut column)?).ok().filter(|distinct| *distinct <= MOST_DISTINCT)?;
    let mut list = Vec::with_capacity(distinct);
    for _ in 0..distinct {
        list.push(take_varint(&mut column)?);
    }
    let bits = bits_for(distinct);
    if column.len() != count.div_ceil(8 / bits) {
        return None;
    }
    let place = |number: usize| column[number * bits / 8] >> (number * bits % 8) & ((1 << bits) - 1);
    (0..count).map(|number| list.get(usize::from(place(number))).copied()).collect()
}

fn take_column(bytes: &mut &[u8], count: usize) -> Option<Vec<u64>> {
    let (form, rest) = bytes.split_first()?;
    *bytes = rest;
    let length = usize::try_from(take_varint(bytes)?).ok()?;
    let (mut column, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    if *form == PACKED {
        return unpacked(column, count);
    }
    let mut numbers = Vec::with_capacity(count);
    while !column.is_empty() {
        let number = take_varint(&mut column)?;
        let repeats = match *form {
            PLAIN => 1,
            RUNS => usize::try_from(take_varint(&mut column)?).ok()?.checked_add(1)?,
            _ => return None,
        };
        if repeats > count - numbers.len() {
            return None;
        }
        numbers.resize(numbers.len() + repeats, number);
    }
    (numbers.len() == count).then_some(numbers)
}

/// The place of an offset, relative to the end of the last operation.
fn place(offset: u64, end: u64) -> u64 {
    match offset as i64 - end as i64 {
        0 => 0,
        blocks if blocks % 512 == 0 => 1 + (zigzag(blocks / 512) << 1 | 1),
        bytes => 1 + (zigzag(bytes) << 1),
    }
}

/// The offset at a place; `None` if there is none.
fn placed(place: u64, end: u64) -> Option<u64> {
    let Some(coded) = place.checked_sub(1) else { return Some(end) };
    let difference = unzigzag(coded >> 1);
    let difference = if coded & 1 == 1 { difference.checked_mul(512)? } else { difference };
    end.checked_add_signed(difference)
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
