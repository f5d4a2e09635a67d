//! Operations of any source pass through a stream like those of a plan: batch by batch, pass by
//! pass.

use iolab_engine::{Op, OpKind};
use iolab_workload::{OpBatch, OpStream, Source};

/// Operations recorded beforehand.
struct Recorded {
    offsets: Vec<u64>,
    next: usize,
}

impl Source for Recorded {
    fn fill(&mut self, out: &mut OpBatch) {
        out.clear();
        let count = out.room().min(self.offsets.len() - self.next);
        for offset in &self.offsets[self.next..self.next + count] {
            let (kind, length) = (OpKind::Read, 512);
            out.push(Op { offset: *offset, length, buffer_offset: 0, file: 0, slot: 0, kind, priority: 0 });
        }
        self.next += count;
    }

    fn restart(&mut self) {
        self.next = 0;
    }

    fn memory_bytes(&self) -> usize {
        self.offsets.len() * size_of::<u64>()
    }
}

#[test]
fn what_was_written_down_comes_out_in_order_in_each_pass() {
    let offsets: Vec<u64> = (0..150).map(|number| number * 7919 % 1000 * 512).collect();
    let source: Box<dyn Source> = Box::new(Recorded { offsets: offsets.clone(), next: 0 });
    let mut stream = OpStream::from(source);
    assert!(stream.memory_bytes() >= 150 * 8);
    for _ in 0..2 {
        let (mut batch, mut seen, mut sizes) = (OpBatch::new(), Vec::new(), Vec::new());
        while stream.fill(&mut batch) > 0 {
            sizes.push(batch.len());
            seen.extend(batch.by_ref().map(|op| op.offset));
        }
        assert_eq!((seen, sizes), (offsets.clone(), vec![64, 64, 22]));
        stream.restart();
    }
}
