//! The content of written buffers: what is set once at set-up, and what changes before each write.
//!
//! Contents are numbered. A number stands for one sequence of random bytes, for any length, so that
//! repeating an earlier buffer (`dedupe_percentage`) needs its number and no copy. Patterns begin
//! at the start of each buffer, as in fio.

mod duplicate;

use iolab_engine::Op;
use iolab_plan::{BufferContent, BufferPlan};
use iolab_random::{GOLDEN_GAMMA, fill_random};

use crate::random::{Role, derive};
use duplicate::Duplicates;

/// `scramble_buffers` changes one word in each block of this many bytes, the smallest that storage
/// deduplicates.
const SCRAMBLE_BLOCK: usize = 512;

/// Fills buffers according to the plan. Deterministic: same plan, seed and sequence of calls, same
/// bytes.
#[derive(Debug, Clone)]
pub struct BufferFiller {
    content: Content,
    chunks: Option<Chunks>,
    change: Change,
    seed: u64,
    /// Number of the next new content.
    next_content: u64,
    scrambles: u64,
}

/// The content of the incompressible part of a buffer, and of the compressible part.
#[derive(Debug, Clone)]
enum Content {
    Random,
    Zero,
    Pattern(Box<[u8]>),
}

/// `buffer_compress_percentage`: each chunk begins with random bytes and ends with compressible
/// ones.
#[derive(Debug, Clone, Copy)]
struct Chunks {
    bytes: usize,
    random_bytes: usize,
}

/// What happens before a write.
#[derive(Debug, Clone)]
enum Change {
    Nothing,
    Scramble,
    Refill,
    Duplicate(Duplicates),
}

impl BufferFiller {
    /// `seed` is the worker's buffer seed.
    pub fn new(plan: &BufferPlan, seed: u64) -> BufferFiller {
        let content = match &plan.content {
            BufferContent::Random => Content::Random,
            BufferContent::Zero => Content::Zero,
            // Memory already holds zeroes, the content of an empty pattern.
            BufferContent::Pattern(bytes) if bytes.is_empty() => Content::Zero,
            BufferContent::Pattern(bytes) => Content::Pattern(bytes.clone().into_boxed_slice()),
        };
        let chunks = plan.compress_percent.map(|percent| Chunks::new(plan, percent));
        let seed = derive(seed, Role::Buffer, 0);
        let mut filler = BufferFiller { content, chunks, change: Change::Nothing, seed, next_content: 0, scrambles: 0 };
        filler.change = filler.choose_change(plan);
        filler
    }

    /// Whether buffers get new content before every write. Random parts that stay the same would
    /// compress against each other, and `dedupe_percentage` needs unequal buffers: both require new
    /// content.
    fn choose_change(&self, plan: &BufferPlan) -> Change {
        if !self.has_random_part() {
            return Change::Nothing;
        }
        if plan.dedupe_percent > 0 {
            let seed = derive(self.seed, Role::Duplicate, 0);
            let among = plan.dedupe_seeds.iter().map(|seed| derive(*seed, Role::Buffer, 0)).collect();
            let duplicates = Duplicates::new(plan.dedupe_percent, plan.dedupe_working_set_percent, seed);
            return Change::Duplicate(duplicates.among(among));
        }
        if plan.refill || self.chunks.is_some() {
            return Change::Refill;
        }
        if plan.scramble { Change::Scramble } else { Change::Nothing }
    }

    fn has_random_part(&self) -> bool {
        match (&self.content, self.chunks) {
            (Content::Zero, _) => false,
            (Content::Random, None) => true,
            (Content::Pattern(_), None) => false,
            (_, Some(chunks)) => chunks.random_bytes > 0,
        }
    }

    /// Fills a whole slot for the first time.
    pub fn initialise(&mut self, slot: &mut [u8]) {
        let number = self.next_content;
        self.next_content += 1;
        self.fill(number, slot);
    }

    /// Whether [`BufferFiller::before_write`] does anything; if not, the loop need not call it.
    pub fn touches_writes(&self) -> bool {
        !matches!(self.change, Change::Nothing)
    }

    /// Prepares the buffer of a write. `buffer` begins at the slot's first byte of this operation;
    /// at most the operation's length is touched.
    #[inline]
    pub fn before_write(&mut self, op: &Op, buffer: &mut [u8]) {
        let length = buffer.len().min(op.length as usize);
        let Some(buffer) = buffer.get_mut(..length) else { return };
        match &mut self.change {
            Change::Nothing => {}
            Change::Scramble => self.scramble(op.offset, buffer),
            Change::Refill => {
                let number = self.next_content;
                self.next_content += 1;
                self.fill(number, buffer);
            }
            Change::Duplicate(duplicates) => {
                let (of, number) = duplicates.next_of_all();
                self.fill_from(of.unwrap_or(self.seed), number, buffer);
            }
        }
    }

    /// Gives each block a word that no other block of this worker has: the offset encodes the
    /// place, the counter the time.
    #[inline]
    fn scramble(&mut self, offset: u64, buffer: &mut [u8]) {
        self.scrambles += 1;
        let when = self.seed.wrapping_add(self.scrambles.wrapping_mul(GOLDEN_GAMMA));
        let mut place = offset;
        for block in buffer.chunks_mut(SCRAMBLE_BLOCK) {
            let word = when ^ place.rotate_left(32);
            if let Some(bytes) = block.first_chunk_mut::<8>() {
                *bytes = word.to_le_bytes();
            }
            place += SCRAMBLE_BLOCK as u64;
        }
    }

    fn fill(&self, number: u64, buffer: &mut [u8]) {
        self.fill_from(self.seed, number, buffer);
    }

    /// The content with this number of the worker with this seed.
    fn fill_from(&self, seed: u64, number: u64, buffer: &mut [u8]) {
        let seed = derive(seed, Role::Buffer, number);
        match (&self.content, self.chunks) {
            (Content::Zero, _) => buffer.fill(0),
            (Content::Random, None) => fill_random(seed, buffer),
            (Content::Pattern(pattern), None) => fill_repeated(pattern, buffer),
            (content, Some(chunks)) => chunks.fill(content, seed, buffer),
        }
    }
}

impl Chunks {
    fn new(plan: &BufferPlan, percent: u32) -> Chunks {
        let bytes = if plan.compress_chunk_bytes == 0 { 512 } else { plan.compress_chunk_bytes };
        let compressible = u128::from(bytes) * u128::from(percent.min(100)) / 100;
        let random = u128::from(bytes) - compressible;
        Chunks { bytes: usize::try_from(bytes).unwrap_or(usize::MAX), random_bytes: random as usize }
    }

    /// The last chunk keeps the proportion if it is shorter.
    fn fill(self, content: &Content, seed: u64, buffer: &mut [u8]) {
        for (number, chunk) in (0_u64..).zip(buffer.chunks_mut(self.bytes)) {
            let random = if chunk.len() == self.bytes {
                self.random_bytes
            } else {
                (chunk.len() as u128 * self.random_bytes as u128).div_ceil(self.bytes as u128) as usize
            };
            let (random, rest) = chunk.split_at_mut(random);
            fill_random(seed.wrapping_add(number.wrapping_mul(GOLDEN_GAMMA)), random);
            match content {
                Content::Pattern(pattern) => fill_repeated(pattern, rest),
                _ => rest.fill(0),
            }
        }
    }
}

/// Repeats the pattern, cut off at the end.
fn fill_repeated(pattern: &[u8], buffer: &mut [u8]) {
    if let [byte] = pattern {
        buffer.fill(*byte);
        return;
    }
    let first = pattern.len().min(buffer.len());
    buffer[..first].copy_from_slice(&pattern[..first]);
    // Each copy doubles the filled part. Whole patterns are copied, so it stays aligned.
    let mut done = first;
    while done < buffer.len() && done > 0 {
        let more = done.min(buffer.len() - done);
        buffer.copy_within(..more, done);
        done += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_repeat_from_the_start() {
        for (pattern, length) in [("a", 5), ("abc", 10), ("abcdefgh", 3), ("ab", 4096), ("x", 0)] {
            let mut buffer = vec![b'.'; length];
            fill_repeated(pattern.as_bytes(), &mut buffer);
            let expected: Vec<u8> = pattern.bytes().cycle().take(length).collect();
            assert_eq!(buffer, expected, "{pattern}");
        }
    }
}
