//! A lane on one file, and the same operation in each of its slots: for tests of engines on a
//! library that misbehaves on demand.

use std::path::PathBuf;

use iolab_memory::{Backing, SlotPool};
use iolab_options::Settings;

use crate::{Completions, Engine, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, Submission, TargetFile, Wait};

/// Bytes of each operation.
pub const BENCH_BLOCK: usize = 4096;
/// Slots of the lane, and blocks of the file.
pub const BENCH_DEPTH: usize = 8;

/// A lane on a file of [`BENCH_DEPTH`] blocks.
pub struct LaneBench<E: Engine> {
    /// The lane; a test may drop it.
    pub lane: Option<E::Lane>,
    /// Its slots.
    pub pool: SlotPool,
}

/// The content of a file whose blocks are full of their numbers, from 1 on.
pub fn numbered_blocks() -> Vec<u8> {
    (0..BENCH_DEPTH * BENCH_BLOCK).map(|at| (at / BENCH_BLOCK + 1) as u8).collect()
}

impl<E: Engine> LaneBench<E> {
    /// Opens a lane; `size_bytes` is what the job wants of the file.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn open(path: PathBuf, size_bytes: u64, options: &Settings) -> Result<LaneBench<E>, OpenError> {
        let pool = SlotPool::new(BENCH_DEPTH, BENCH_BLOCK, 0, &Backing::Anonymous).expect("buffers");
        let files = [TargetFile { path, fd: -1, size_bytes, is_block_device: false }];
        let (depth, buffers) = (BENCH_DEPTH, pool.view());
        let request = LaneRequest { files: &files, depth, buffers, options, direct: false, seed: 1, worker: 0 };
        Ok(LaneBench { lane: Some(E::open(&request)?), pool })
    }

    fn lane(&mut self) -> &mut E::Lane {
        self.lane.as_mut().expect("an open lane")
    }

    /// Offers an operation on the block of the slot's number.
    pub fn submit(&mut self, kind: OpKind, slot: usize) -> Submission {
        let (offset, length) = ((slot * BENCH_BLOCK) as u64, BENCH_BLOCK as u32);
        self.lane().submit(&Op { offset, length, buffer_offset: 0, file: 0, slot: slot as u16, kind, priority: 0 })
    }

    /// Results by slot of an operation in each, or the errno of its refusal, negative.
    ///
    /// # Errors
    /// The lane broke.
    pub fn all(&mut self, kind: OpKind) -> Result<[i32; BENCH_DEPTH], LaneError> {
        let mut results = [i32::MIN; BENCH_DEPTH];
        let mut expected = 0;
        for (slot, result) in results.iter_mut().enumerate() {
            match self.submit(kind, slot) {
                Submission::Accepted => expected += 1,
                Submission::Refused(errno) => *result = -errno,
                Submission::Full => panic!("a lane of {BENCH_DEPTH} slots is full after {slot} operations"),
            }
        }
        let mut out = Completions::with_room(BENCH_DEPTH);
        let found = self.lane().flush_and_reap(Wait { at_least: expected, timeout_ns: u64::MAX }, &mut out)?;
        assert_eq!(found, expected, "no operation is lost, none comes twice");
        for done in out.as_slice() {
            assert_eq!(results[done.slot as usize], i32::MIN, "one result for each");
            results[done.slot as usize] = done.result;
        }
        assert_eq!(self.lane().reap(Wait::POLL, &mut Completions::with_room(BENCH_DEPTH))?, 0, "nothing is left");
        Ok(results)
    }

    /// The first byte of each slot.
    pub fn first_bytes(&mut self) -> [u8; BENCH_DEPTH] {
        std::array::from_fn(|slot| self.pool.slot_mut(slot)[0])
    }

    /// Whether the slots hold what [`numbered_blocks`] makes.
    pub fn has_numbers(&mut self) -> bool {
        self.first_bytes() == std::array::from_fn(|slot| slot as u8 + 1)
    }

    /// The notes of the lane.
    pub fn notes(&mut self) -> String {
        self.lane().notes().join("\n")
    }
}
