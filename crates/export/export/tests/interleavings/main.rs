//! The range lock shared by exporters, under a model checker (loom): every order in which their
//! threads can use it.
//!
//! The source of the lock is compiled here again, with loom's mutex. It protects a cell whose every
//! access loom checks. In the canary, an exporter does not wait when it should.

#[path = "../../src/range_lock.rs"]
#[allow(dead_code, reason = "not all of it is modelled")]
mod range_lock;
mod sound;

use iolab_export::{PoolMismatch, slot_bytes};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use sound::shared_ranges::{Share, SharedRanges};

/// An exporter with one slot, and the block of which it changes a part.
struct Exporter {
    share: Share,
    block: Arc<UnsafeCell<()>>,
    waits: bool,
}

impl Exporter {
    /// Announces the change and makes it, unless it has to wait; a `hasty` one does not wait.
    fn begin(&mut self, span: (u64, u64), hasty: bool) {
        self.waits = !self.share.enter(0, span, true) && !hasty;
        if self.waits {
            self.go_on();
        } else {
            self.change();
        }
    }

    /// Makes a change that had to wait, once it is released.
    fn go_on(&mut self) {
        assert!(self.share.is_waiting());
        let mut freed = Vec::new();
        self.share.collect(&mut freed);
        self.waits = freed.is_empty();
        if !self.waits {
            assert_eq!(freed, [0]);
            self.change();
        }
    }

    fn change(&mut self) {
        self.block.with_mut(|_| ());
        let mut freed = Vec::new();
        self.share.leave(0, &mut freed);
        assert!(freed.is_empty(), "it has no other slot to free");
    }
}

/// Runs an exporter for each span concurrently; changes that were not released meanwhile follow
/// afterwards.
fn changes(spans: &'static [(u64, u64)], hasty: bool) {
    loom::model(move || {
        let ranges = SharedRanges::new(spans.len(), 1).unwrap();
        let block = Arc::new(UnsafeCell::new(()));
        let begin = |number: usize| {
            let share = ranges.share(number, 1).unwrap();
            let mut exporter = Exporter { share, block: block.clone(), waits: false };
            move || {
                exporter.begin(spans[number], hasty);
                exporter
            }
        };
        let others: Vec<_> = (1..spans.len()).map(|number| loom::thread::spawn(begin(number))).collect();
        let mut exporters = vec![begin(0)()];
        exporters.extend(others.into_iter().map(|other| other.join().unwrap()));
        for _ in spans {
            exporters.iter_mut().filter(|exporter| exporter.waits).for_each(Exporter::go_on);
        }
        assert!(exporters.iter().all(|exporter| !exporter.waits), "nobody is left waiting");
    });
}

#[test]
fn one_at_a_time_and_each_in_its_turn() {
    changes(&[(0, 1024), (512, 1536)], false);
    changes(&[(0, 512), (0, 512), (0, 512)], false);
}

/// The canary.
#[test]
#[should_panic = "Causality violation"]
fn an_exporter_that_does_not_wait_is_found_out() {
    changes(&[(0, 1024), (512, 1536)], true);
}
