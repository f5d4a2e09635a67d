//! The operations of a stream one by one, for a source that puts something between them.

use iolab_engine::Op;

use crate::OpBatch;
use crate::stream::Source;

/// A stream and what it has made ahead.
pub(crate) struct Within {
    source: Box<dyn Source>,
    batch: OpBatch,
    /// Files begin again with the operation at the front.
    begins: bool,
    /// Files that begin again in the batch of the source around.
    again: Vec<u32>,
}

impl Within {
    /// A stream over so many files.
    pub(crate) fn new(source: Box<dyn Source>, files: usize) -> Within {
        Within { source, batch: OpBatch::new(), begins: false, again: Vec::with_capacity(files) }
    }

    /// The source around begins a batch.
    #[inline]
    pub(crate) fn begin_batch(&mut self) {
        self.again.clear();
    }

    /// Whether there is a next operation that may go into the batch `out`: `false` at the end of
    /// the pass, and where files begin again and `out` has operations from before that.
    #[inline]
    pub(crate) fn goes_on(&mut self, out: &OpBatch) -> bool {
        if self.batch.is_empty() {
            self.source.fill(&mut self.batch);
            self.begins = !self.source.begun_again().is_empty();
        }
        !self.batch.is_empty() && (out.is_empty() || !self.begins)
    }

    /// Takes the next operation.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Op> {
        if std::mem::take(&mut self.begins) {
            // The list of the stream goes with its next batch, which may be asked for before this
            // one is full. There is room for every file once.
            let room = self.again.capacity() - self.again.len();
            let again = self.source.begun_again();
            self.again.extend_from_slice(&again[..again.len().min(room)]);
        }
        self.batch.pop_front()
    }

    /// The files that begin again with the first operation of the batch.
    pub(crate) fn begun_again(&self) -> &[u32] {
        &self.again
    }

    pub(crate) fn restart(&mut self) {
        self.batch.clear();
        self.source.restart();
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.source.memory_bytes() + self.again.capacity() * 4
    }
}
