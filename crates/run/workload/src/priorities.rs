//! Priorities of single operations: wraps a source and draws, for each read and write, whether it
//! has a priority of its own.

use iolab_engine::{Op, OpKind, pack_priority};
use iolab_plan::{PriorityPlan, PriorityShare};

use crate::OpBatch;
use crate::random::{Generator, Role, derive};
use crate::stream::Source;

/// A source whose operations have priorities.
pub(crate) struct Prioritised {
    source: Box<dyn Source>,
    reads: Box<[Share]>,
    writes: Box<[Share]>,
    seed: u64,
    pass: u64,
    generator: Generator,
}

#[derive(Debug, Clone, Copy)]
struct Share {
    bytes: Option<u64>,
    percent: u64,
    priority: u8,
}

impl From<&PriorityShare> for Share {
    fn from(share: &PriorityShare) -> Share {
        let own = share.priority;
        let priority = pack_priority(own.class, own.level, own.hint as u8);
        Share { bytes: share.bytes, percent: share.percent.into(), priority }
    }
}

impl Prioritised {
    /// `seed` is that of the stream.
    pub(crate) fn new(source: Box<dyn Source>, plan: &PriorityPlan, seed: u64) -> Prioritised {
        let shares = |shares: &[PriorityShare]| shares.iter().map(Share::from).collect();
        let mut all = Prioritised {
            source,
            reads: shares(&plan.reads),
            writes: shares(&plan.writes),
            seed,
            pass: 0,
            generator: Generator::new(0),
        };
        all.reseed();
        all
    }

    fn reseed(&mut self) {
        self.generator = Generator::new(derive(self.seed, Role::Priority, self.pass));
    }

    fn draw(&mut self, op: &Op) -> u8 {
        let shares = match op.kind {
            OpKind::Read => &self.reads,
            OpKind::Write => &self.writes,
            _ => return 0,
        };
        let mut drawn = self.generator.below(100);
        for share in shares.iter().filter(|share| share.bytes.is_none_or(|bytes| bytes == u64::from(op.length))) {
            if drawn < share.percent {
                return share.priority;
            }
            drawn -= share.percent;
        }
        0
    }
}

impl Source for Prioritised {
    fn fill(&mut self, out: &mut OpBatch) {
        self.source.fill(out);
        for index in 0..out.len() {
            let op = out.as_slice()[index];
            let priority = self.draw(&op);
            out.set_priority(index, priority);
        }
    }

    fn restart(&mut self) {
        self.pass += 1;
        self.reseed();
        self.source.restart();
    }

    fn begun_again(&self) -> &[u32] {
        self.source.begun_again()
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + (self.reads.len() + self.writes.len()) * size_of::<Share>() + self.source.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_plan::IoPriority;

    struct Endless;

    impl Source for Endless {
        fn fill(&mut self, out: &mut OpBatch) {
            out.clear();
            while out.room() > 0 {
                let length = if out.room().is_multiple_of(2) { 4096 } else { 8192 };
                let kind = if out.room() % 4 < 2 { OpKind::Read } else { OpKind::Write };
                out.push(Op { offset: 0, length, buffer_offset: 0, file: 0, slot: 0, kind, priority: 0 });
            }
        }
        fn restart(&mut self) {}
        fn memory_bytes(&self) -> usize {
            0
        }
    }

    #[test]
    fn shares_hold_by_direction_and_size_and_passes_repeat() {
        let share =
            |bytes, percent, class| PriorityShare { bytes, percent, priority: IoPriority { class, level: 3, hint: 0 } };
        let plan = PriorityPlan {
            reads: vec![share(None, 30, 1)],
            writes: vec![share(Some(4096), 60, 1), share(Some(4096), 40, 3)],
        };
        let drawn = |seed| {
            let mut source = Prioritised::new(Box::new(Endless), &plan, seed);
            let (mut batch, mut counts) = (OpBatch::new(), [[0_u32; 4]; 4]);
            for _ in 0..1000 {
                source.fill(&mut batch);
                for op in batch.by_ref() {
                    let row = usize::from(op.kind == OpKind::Write) * 2 + usize::from(op.length == 4096);
                    counts[row][usize::from(op.priority >> 3)] += 1;
                    assert!(op.priority == 0 || op.priority & 7 == 3);
                }
            }
            counts
        };
        let [long_reads, short_reads, long_writes, short_writes] = drawn(1);
        for reads in [long_reads, short_reads] {
            assert!((4500..5100).contains(&reads[1]) && reads[0] + reads[1] == 16_000, "{reads:?}");
        }
        assert_eq!(long_writes, [16_000, 0, 0, 0]);
        assert!(short_writes[0] == 0 && (9300..9900).contains(&short_writes[1]), "{short_writes:?}");
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}
