//! Tells what the loop does with each operation: a checker around a job's own, so that a job that
//! tells nothing pays nothing.

use iolab_engine::{Lane, Op, OpKind};
use iolab_recording::VerificationRecording;

use crate::hot_loop::checker::{Checker, Placed};
use crate::noting::Notes;
use crate::telling::{Teller, ToldKind};
use crate::verification::verifier::{Verifier, Verifies};

/// Tells what the loop does, around a checker.
pub(crate) struct Told<'a, C> {
    pub(crate) inner: C,
    pub(crate) teller: Teller<'a>,
}

impl<C: Checker> Checker for Told<'_, C> {
    const CHECKS: bool = true;
    const FILLS: bool = C::FILLS;
    const PLACES: bool = C::PLACES;

    fn place<L: Lane>(&mut self, op: &Op, lane: &mut L) -> Placed {
        self.inner.place(op, lane)
    }

    fn discarded(&mut self, file: u32, offset: u64, length: u64) {
        self.inner.discarded(file, offset, length);
    }

    fn zone_resets(&self) -> Option<u64> {
        self.inner.zone_resets()
    }

    fn check(&mut self, read: &Op, bytes: &[u8]) -> Result<(), i32> {
        if C::CHECKS && !self.teller.verify.is_empty() {
            let (kind, slot, length) = (self.teller.verify, read.slot, bytes.len());
            self.teller.tell(ToldKind::Verify, &format!("{kind} verify io_u {slot}, len {length}"));
        }
        let checked = self.inner.check(read, bytes);
        if checked.is_err() {
            let (slot, offset) = (read.slot, read.offset);
            self.teller.tell(ToldKind::Verify, &format!("bad data: io_u {slot}, off {offset}"));
        }
        checked
    }

    fn admit(&mut self, op: &Op) -> bool {
        self.inner.admit(op)
    }

    fn prepare(&mut self, op: &Op, buffer: &mut [u8]) {
        if C::FILLS && op.kind == OpKind::Write && self.teller.offered != Some(*op) {
            let (kind, slot, length) = (self.teller.verify, op.slot, op.length);
            self.teller.tell(ToldKind::Verify, &format!("fill {kind} io_u {slot}, len {length}"));
        }
        self.inner.prepare(op, buffer);
        self.teller.offers(op);
    }

    fn accepted(&mut self, op: &Op, begun_ns: u64) {
        self.teller.offered = None;
        self.inner.accepted(op, begun_ns);
    }

    fn done(&mut self, op: &Op, succeeded: bool) {
        self.teller.of_op(if succeeded { "complete" } else { "error" }, op);
        self.inner.done(op, succeeded);
    }

    fn complaint(&mut self, slot: u32) -> Option<String> {
        self.inner.complaint(slot)
    }

    fn settle(&mut self) -> Vec<String> {
        self.inner.settle()
    }

    fn flushed(&mut self) {
        self.inner.flushed();
    }

    fn lost(&mut self) -> Option<String> {
        self.inner.lost()
    }

    fn finish(&mut self) -> Option<VerificationRecording> {
        self.inner.finish()
    }
}

impl<'a> Verifies<'a> for Told<'_, Verifier<'a>> {
    fn verifier(&mut self) -> &mut Verifier<'a> {
        &mut self.inner
    }

    fn set_reads_back(&mut self, reads_back: bool) {
        let text = if reads_back { "starting loop" } else { "exiting loop" };
        self.teller.tell(ToldKind::Verify, text);
        self.teller.reads_back = reads_back;
        self.inner.set_reads_back(reads_back);
    }
}

/// A job that tells may note its operations, too.
impl Checker for Option<Notes> {
    const CHECKS: bool = true;
    const FILLS: bool = false;

    fn check(&mut self, _read: &Op, _bytes: &[u8]) -> Result<(), i32> {
        Ok(())
    }

    fn accepted(&mut self, op: &Op, begun_ns: u64) {
        if let Some(notes) = self {
            notes.accepted(op, begun_ns);
        }
    }

    fn lost(&mut self) -> Option<String> {
        self.as_mut().and_then(Notes::lost)
    }
}
