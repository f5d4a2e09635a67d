//! `trimwrite` and `randtrimwrite`: each block is trimmed, then written.

use iolab_engine::{Op, OpKind};

use crate::OpBatch;
use crate::stream::Source;
use crate::within::Within;

/// Turns each operation of the inner stream into two.
pub(crate) struct Pairs {
    within: Within,
    most: u64,
    left: u64,
}

impl Pairs {
    /// `most` operations per pass, counting trims and writes separately.
    pub(crate) fn new(within: Box<dyn Source>, most: u64, files: usize) -> Pairs {
        Pairs { within: Within::new(within, files), most, left: most }
    }
}

impl Source for Pairs {
    fn fill(&mut self, out: &mut OpBatch) {
        out.clear();
        self.within.begin_batch();
        while out.room() >= 2 && self.left > 0 && self.within.goes_on(out) {
            let Some(trim) = self.within.next() else { return };
            out.push(trim);
            if self.left > 1 {
                out.push(Op { kind: OpKind::Write, ..trim });
            }
            self.left = self.left.saturating_sub(2);
        }
    }

    fn restart(&mut self) {
        self.left = self.most;
        self.within.restart();
    }

    fn begun_again(&self) -> &[u32] {
        self.within.begun_again()
    }

    fn memory_bytes(&self) -> usize {
        std::mem::size_of::<Pairs>() + self.within.memory_bytes()
    }
}
