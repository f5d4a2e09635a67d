//! `trimwrite` and `randtrimwrite`: each block is trimmed, then written.

use iolab_engine::{Op, OpKind};

use crate::OpBatch;
use crate::stream::Source;

/// Makes two operations of each one within.
pub(crate) struct Pairs {
    within: Box<dyn Source>,
    trims: OpBatch,
    most: u64,
    left: u64,
}

impl Pairs {
    /// `most` operations per pass, trims and writes counted each.
    pub(crate) fn new(within: Box<dyn Source>, most: u64) -> Pairs {
        Pairs { within, trims: OpBatch::new(), most, left: most }
    }
}

impl Source for Pairs {
    fn fill(&mut self, out: &mut OpBatch) {
        out.clear();
        while out.room() >= 2 && self.left > 0 {
            if self.trims.is_empty() {
                self.within.fill(&mut self.trims);
            }
            let Some(trim) = self.trims.pop_front() else { return };
            out.push(trim);
            if self.left > 1 {
                out.push(Op { kind: OpKind::Write, ..trim });
            }
            self.left = self.left.saturating_sub(2);
        }
    }

    fn restart(&mut self) {
        self.trims.clear();
        self.left = self.most;
        self.within.restart();
    }

    fn memory_bytes(&self) -> usize {
        std::mem::size_of::<Pairs>() + self.within.memory_bytes()
    }
}
