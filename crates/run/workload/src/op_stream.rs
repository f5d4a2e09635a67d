//! The stream of operations of a plan.

use iolab_plan::WorkloadPlan;

use crate::stream::Source;
use crate::{Extent, OpBatch, PassLimits, WorkloadError};

/// The operations of one worker, pass by pass.
pub struct OpStream {
    pub(crate) source: Box<dyn Source>,
}

impl OpStream {
    /// Assembles a stream. `files` are in the plan's order; files without room for a block are
    /// skipped.
    ///
    /// # Errors
    /// No operation fits anywhere, or the plan contradicts itself; the message says what to change.
    pub fn new(plan: &WorkloadPlan, files: &[Extent], limits: PassLimits) -> Result<OpStream, WorkloadError> {
        Ok(OpStream { source: crate::assemble::assemble(plan, files, limits)? })
    }

    /// Replaces the batch's content with the next operations (slot 0, buffer offset 0); returns how
    /// many. 0 means that the pass is over.
    #[inline]
    pub fn fill(&mut self, batch: &mut OpBatch) -> usize {
        self.source.fill(batch);
        batch.len()
    }

    /// Begins the next pass: sequential streams at the start, random ones with the pass's own
    /// random numbers.
    pub fn restart(&mut self) {
        self.source.restart();
    }

    /// Files that begin again with the first operation of the batch that was filled last.
    #[inline]
    pub fn begun_again(&self) -> &[u32] {
        self.source.begun_again()
    }

    /// Memory of the maps and of the state per file, bytes.
    pub fn memory_bytes(&self) -> usize {
        std::mem::size_of::<OpStream>() + self.source.memory_bytes()
    }
}

impl std::fmt::Debug for OpStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OpStream").field("memory_bytes", &self.memory_bytes()).finish_non_exhaustive()
    }
}

impl From<Box<dyn Source>> for OpStream {
    fn from(source: Box<dyn Source>) -> OpStream {
        OpStream { source }
    }
}
