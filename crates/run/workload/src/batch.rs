//! A fixed buffer for operations on their way from the stream to the loop.
//!
//! Guarantees: never allocates, never holds more than [`OpBatch::ROOM`] operations, hands them out
//! in order.

use iolab_engine::{Op, OpKind};

/// Up to [`OpBatch::ROOM`] operations, taken from the front one by one.
#[derive(Debug, Clone)]
pub struct OpBatch {
    ops: [Op; OpBatch::ROOM],
    front: usize,
    end: usize,
}

impl OpBatch {
    /// Largest number of operations in a batch.
    pub const ROOM: usize = 64;

    const BLANK: Op = Op { offset: 0, length: 0, buffer_offset: 0, file: 0, slot: 0, kind: OpKind::Read, priority: 0 };

    /// An empty batch.
    pub const fn new() -> OpBatch {
        OpBatch { ops: [OpBatch::BLANK; OpBatch::ROOM], front: 0, end: 0 }
    }

    /// The operations not yet taken.
    #[inline]
    pub fn as_slice(&self) -> &[Op] {
        &self.ops[self.front..self.end]
    }

    /// Operations not yet taken.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.front
    }

    /// Whether every operation has been taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.front == self.end
    }

    /// The next operation, left in place.
    #[inline]
    pub fn peek(&self) -> Option<&Op> {
        if self.front < self.end { self.ops.get(self.front) } else { None }
    }

    /// Takes the next operation.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Op> {
        if self.front == self.end {
            return None;
        }
        let op = self.ops.get(self.front).copied();
        self.front += 1;
        op
    }

    /// Drops the first `count` operations without reading them (again).
    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.front = (self.front + count).min(self.end);
    }

    /// Sets the priority of one of [`OpBatch::as_slice`].
    #[inline]
    pub(crate) fn set_priority(&mut self, index: usize, priority: u8) {
        self.ops[self.front + index].priority = priority;
    }

    /// Removes all operations.
    #[inline]
    pub fn clear(&mut self) {
        self.front = 0;
        self.end = 0;
    }

    /// Free places behind the last operation.
    #[inline]
    pub fn room(&self) -> usize {
        OpBatch::ROOM - self.end
    }

    /// The first `count` places behind the last operation, to be filled; they count when
    /// [`OpBatch::extend_by`] says so.
    #[inline]
    pub(crate) fn places(&mut self, count: usize) -> std::slice::IterMut<'_, Op> {
        let end = OpBatch::ROOM.min(self.end + count);
        self.ops[self.end..end].iter_mut()
    }

    /// This number of the places have been filled.
    #[inline]
    pub(crate) fn extend_by(&mut self, count: usize) {
        debug_assert!(count <= self.room());
        self.end += count;
    }

    /// Appends an operation. The caller must have checked that there is [`room`](OpBatch::room);
    /// otherwise the operation is lost.
    #[inline]
    pub fn push(&mut self, op: Op) {
        debug_assert!(self.end < OpBatch::ROOM);
        if let Some(place) = self.ops.get_mut(self.end) {
            *place = op;
            self.end += 1;
        }
    }
}

impl Default for OpBatch {
    fn default() -> OpBatch {
        OpBatch::new()
    }
}

impl Iterator for OpBatch {
    type Item = Op;

    #[inline]
    fn next(&mut self) -> Option<Op> {
        self.pop_front()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_in_order_and_empties() {
        let mut batch = OpBatch::new();
        assert!(batch.is_empty() && batch.peek().is_none() && batch.pop_front().is_none());
        for offset in 0..OpBatch::ROOM as u64 {
            batch.push(Op { offset, ..OpBatch::BLANK });
        }
        assert_eq!((batch.len(), batch.room()), (64, 0));
        assert_eq!(batch.peek().map(|op| op.offset), Some(0));
        assert_eq!(batch.next().map(|op| op.offset), Some(0));
        assert_eq!(batch.as_slice()[0].offset, 1);
        assert_eq!(batch.by_ref().map(|op| op.offset).collect::<Vec<_>>(), (1..64).collect::<Vec<_>>());
        batch.clear();
        assert_eq!(batch.room(), 64);
    }
}
