//! Operations that are performed together: small reads or writes of one file, each of which begins
//! where the one before it ends. The file system then does most of its work once for all of them.

use iolab_disk::{MERGED_MOST_BYTES, UNMERGED_BYTES};
use iolab_engine::{Op, OpKind};

/// Operations submitted one after the other: one of any kind, or several that continue each other.
#[derive(Debug, Default)]
pub(crate) struct Run {
    ops: Vec<Op>,
    bytes: u64,
}

impl Run {
    /// Adds an operation if there is none, or if it continues the last one and there is room.
    pub(crate) fn accept(&mut self, op: &Op, continues: bool) -> bool {
        let fits = self.bytes + u64::from(op.length) <= MERGED_MOST_BYTES;
        let is_accepted = self.ops.is_empty() || (continues && fits);
        if is_accepted {
            self.ops.push(*op);
            self.bytes += u64::from(op.length);
        }
        is_accepted
    }

    pub(crate) fn ops(&self) -> &[Op] {
        &self.ops
    }

    pub(crate) fn clear(&mut self) {
        self.ops.clear();
        self.bytes = 0;
    }
}

/// How operations are submitted.
#[derive(Debug, Default)]
pub(crate) struct Pattern {
    last: Option<Op>,
    /// Whether the last operation continues the one before it.
    continues: bool,
    /// Operations since the last flush.
    unflushed: u32,
}

impl Pattern {
    /// Notes an operation. Returns whether it continues the one before it.
    pub(crate) fn submitted(&mut self, op: &Op, block_bytes: u32) -> bool {
        self.continues = self.last.is_some_and(|last| continues(op, &last, block_bytes));
        self.last = Some(*op);
        self.unflushed += 1;
        self.continues
    }

    /// Notes a flush. Returns whether another operation is likely to continue what was submitted,
    /// and to be submitted by itself like the last one.
    pub(crate) fn flushed(&mut self) -> bool {
        std::mem::take(&mut self.unflushed) == 1 && self.continues
    }
}

/// Whether an operation begins where the one before it ends, and both are small: they are requests
/// that a disk would merge, too. `block_bytes` is the file system's block size.
fn continues(op: &Op, last: &Op, block_bytes: u32) -> bool {
    let is_small =
        |op: &Op| op.length > 0 && op.length.is_multiple_of(block_bytes) && u64::from(op.length) < UNMERGED_BYTES;
    let moves_bytes = op.kind == last.kind && matches!(op.kind, OpKind::Read | OpKind::Write);
    let goes_on = op.file == last.file && op.offset == last.offset + u64::from(last.length);
    moves_bytes && goes_on && is_small(op) && is_small(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(kind: OpKind, offset: u64, length: u32) -> Op {
        Op { offset, length, buffer_offset: 0, file: 0, slot: 0, kind, priority: 0 }
    }

    /// How many of the operations one run accepts.
    fn accepted(ops: &[Op]) -> usize {
        let (mut run, mut pattern) = (Run::default(), Pattern::default());
        let count = ops.iter().take_while(|op| run.accept(op, pattern.submitted(op, 4096))).count();
        assert_eq!(run.ops().len(), count);
        count
    }

    #[test]
    fn only_small_transfers_of_blocks_that_continue_each_other_go_together() {
        use OpKind::{Read, Sync, Trim, Write};
        let row = |kind, length: u32| -> Vec<Op> {
            (0..40).map(|number| op(kind, u64::from(number * length), length)).collect()
        };
        assert_eq!(accepted(&row(Write, 4096)), 32, "128 KiB");
        assert_eq!(accepted(&row(Read, 12 << 10)), 10);
        for (kind, length) in [(Write, 64 << 10), (Read, 512), (Trim, 4096), (Sync, 0), (Write, 0)] {
            assert_eq!(accepted(&row(kind, length)), 1, "{kind:?} of {length} bytes");
        }
        let first = op(Write, 8192, 4096);
        let other_file = Op { file: 1, ..op(Write, 12_288, 4096) };
        let others = [op(Write, 8192, 4096), op(Write, 16_384, 4096), op(Read, 12_288, 4096), other_file];
        for other in others {
            assert_eq!(accepted(&[first, other]), 1);
        }
        let mut run = Run::default();
        assert!(run.accept(&first, false) && run.accept(&op(Write, 12_288, 4096), true));
        run.clear();
        assert!(run.accept(&op(Sync, 0, 0), false), "an empty run accepts anything");
    }

    #[test]
    fn another_operation_is_expected_after_one_that_continued_another_alone() {
        let write = |block: u64| op(OpKind::Write, block * 4096, 4096);
        let mut pattern = Pattern::default();
        let mut flushed = |blocks: &[u64]| {
            for block in blocks {
                pattern.submitted(&write(*block), 4096);
            }
            pattern.flushed()
        };
        assert!(!flushed(&[0]), "nothing came before it");
        assert!(flushed(&[1]) && flushed(&[2]));
        assert!(!flushed(&[3, 4]), "several at once");
        assert!(flushed(&[5]));
        assert!(!flushed(&[9]), "somewhere else");
        assert!(!flushed(&[]), "nothing");
        assert!(flushed(&[10]));
    }
}
