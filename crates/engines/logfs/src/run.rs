//! Operations that are performed together, so that the file system does most of its work once for
//! all of them: small writes to one file, which a log-structured file system puts beside each other
//! on the disk, and small reads of one file that continue each other.

use std::ops::Range;

use iolab_disk::{MERGED_MOST_BYTES, UNMERGED_BYTES};
use iolab_engine::{Op, OpKind};
use iolab_logfs::{Layout, Span};

/// Operations submitted one after the other: one of any kind, or several that go together.
#[derive(Debug, Default)]
pub(crate) struct Run {
    ops: Vec<Op>,
    bytes: u64,
}

impl Run {
    /// Adds an operation if there is none, or if it joins the last one and there is room.
    pub(crate) fn accept(&mut self, op: &Op, joins: bool) -> bool {
        let fits = self.bytes + u64::from(op.length) <= MERGED_MOST_BYTES;
        let is_accepted = self.ops.is_empty() || (joins && fits);
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

/// What operations cover, in their order.
pub(crate) fn spans(ops: &[Op]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::with_capacity(ops.len());
    for op in ops {
        match spans.last_mut() {
            Some(last) if last.offset + last.length == op.offset => last.length += u64::from(op.length),
            _ => spans.push(Span { offset: op.offset, length: u64::from(op.length) }),
        }
    }
    spans
}

/// How operations are submitted.
#[derive(Debug)]
pub(crate) struct Pattern {
    block_bytes: u32,
    /// Lengths of operations that may join others, bytes.
    lengths: Range<u32>,
    last: Option<Op>,
    /// Whether the last operation joins the one before it.
    joins: bool,
    /// Operations since the last flush.
    unflushed: u32,
}

impl Pattern {
    /// Nothing is submitted yet. Operations join others if they are so small that a disk would
    /// merge their transfers, but no writes for the log. None does if slots have to be copied
    /// because they are not aligned.
    pub(crate) fn new(layout: &Layout, are_aligned: bool) -> Pattern {
        let most = if are_aligned { UNMERGED_BYTES as u32 } else { 0 };
        Pattern {
            block_bytes: layout.block_bytes,
            lengths: layout.small_max_bytes + 1..most,
            last: None,
            joins: false,
            unflushed: 0,
        }
    }

    /// Notes an operation. Returns whether it joins the one before it.
    pub(crate) fn submitted(&mut self, op: &Op) -> bool {
        self.joins = self.last.is_some_and(|last| self.goes_with(op, &last));
        self.last = Some(*op);
        self.unflushed += 1;
        self.joins
    }

    fn goes_with(&self, op: &Op, last: &Op) -> bool {
        let goes_together = match (op.kind, last.kind) {
            (OpKind::Write, OpKind::Write) => true,
            (OpKind::Read, OpKind::Read) => op.offset == last.offset + u64::from(last.length),
            _ => false,
        };
        let is_small = |op: &Op| self.lengths.contains(&op.length) && op.length.is_multiple_of(self.block_bytes);
        goes_together && op.file == last.file && is_small(op) && is_small(last)
    }

    /// Notes a flush. Returns whether another operation is likely to join what was submitted, and
    /// to be submitted by itself like the last one.
    pub(crate) fn flushed(&mut self) -> bool {
        std::mem::take(&mut self.unflushed) == 1 && self.joins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(kind: OpKind, offset: u64, length: u32) -> Op {
        Op { offset, length, buffer_offset: 0, file: 0, slot: 0, kind, priority: 0 }
    }

    fn pattern() -> Pattern {
        Pattern { block_bytes: 4096, lengths: 4096..64 << 10, last: None, joins: false, unflushed: 0 }
    }

    /// How many of the operations one run accepts.
    fn accepted(ops: &[Op]) -> usize {
        let (mut run, mut pattern) = (Run::default(), pattern());
        let count = ops.iter().take_while(|op| run.accept(op, pattern.submitted(op))).count();
        assert_eq!(run.ops().len(), count);
        count
    }

    #[test]
    fn small_writes_to_a_file_and_small_reads_that_continue_each_other_go_together() {
        use OpKind::{Read, Sync, Trim, Write};
        let row = |kind, step: u64, length: u32| -> Vec<Op> {
            (0..40).map(|number| op(kind, number * step, length)).collect()
        };
        assert_eq!(accepted(&row(Write, 4096, 4096)), 32, "128 KiB");
        assert_eq!(accepted(&row(Write, 1 << 20, 4096)), 32, "wherever they are");
        assert_eq!(accepted(&row(Read, 12 << 10, 12 << 10)), 10);
        let alone = [
            row(Write, 64 << 10, 64 << 10),
            row(Write, 512, 512),
            row(Read, 8192, 4096),
            row(Trim, 4096, 4096),
            row(Sync, 0, 0),
            row(Write, 0, 0),
        ];
        for ops in alone {
            assert_eq!(accepted(&ops), 1, "{:?} of {} bytes", ops[0].kind, ops[0].length);
        }
        let first = op(Write, 8192, 4096);
        for other in [op(Read, 12_288, 4096), Op { file: 1, ..op(Write, 12_288, 4096) }] {
            assert_eq!(accepted(&[first, other]), 1);
        }
        let mut run = Run::default();
        assert!(run.accept(&first, false) && run.accept(&op(Write, 12_288, 4096), true));
        run.clear();
        assert!(run.accept(&op(Sync, 0, 0), false), "an empty run accepts anything");
    }

    #[test]
    fn operations_that_continue_each_other_are_one_span() {
        let write = |block: u64| op(OpKind::Write, block * 4096, 4096);
        let span = |block: u64, blocks: u64| Span { offset: block * 4096, length: blocks * 4096 };
        assert_eq!(spans(&[3, 4, 5, 9, 3, 4, 2].map(write)), [span(3, 3), span(9, 1), span(3, 2), span(2, 1)]);
    }

    #[test]
    fn another_operation_is_expected_after_one_that_came_alone_and_joined_another() {
        let write = |block: u64| op(OpKind::Write, block * 4096, 4096);
        let mut pattern = pattern();
        let mut flushed = |blocks: &[u64]| {
            for block in blocks {
                pattern.submitted(&write(*block));
            }
            pattern.flushed()
        };
        assert!(!flushed(&[0]), "nothing came before it");
        assert!(flushed(&[1]) && flushed(&[2]));
        assert!(!flushed(&[3, 4]), "several at once");
        assert!(flushed(&[5]));
        assert!(flushed(&[9]), "writes join wherever they are");
        assert!(!flushed(&[]), "nothing");
        pattern.submitted(&op(OpKind::Sync, 0, 0));
        assert!(!pattern.flushed(), "something else");
    }
}
