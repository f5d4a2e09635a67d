//! Tests of the suite: a correct lane passes every check, and each violation of the contract fails
//! one.

use std::marker::PhantomData;
use std::panic::catch_unwind;

use super::*;
use crate::{
    Capabilities, Completion, Completions, Engine, EngineDescription, FileUse, Lane, LaneError, LaneRequest, Op,
    OpenError, Submission, Wait,
};

/// A way to break the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    LosesFirst,
    AnswersTwice,
    WrongSlot,
    FullTooEarly,
    IgnoresAtLeast,
    IgnoresRoom,
    MiscountsReap,
    RefusesAndCompletes,
}

trait Flavour {
    const FAULT: Fault;
}

/// A queue in memory that completes operations in the order they came, with one fault.
struct Queue<F>(PhantomData<F>);

struct QueueLane {
    fault: Fault,
    depth: usize,
    queued: Vec<Completion>,
    seen: usize,
}

impl<F: Flavour> Engine for Queue<F> {
    type Lane = QueueLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "queue",
        aliases: &[],
        summary: "A queue in memory",
        details: "No system call at all.",
        options: &[],
        capabilities: Capabilities {
            synchronous: false,
            files: FileUse::Nothing,
            moves_data: false,
            trims: false,
            trims_ranges: false,
            syncs: true,
            direct: false,
            extends_files: true,
            effect: crate::FileEffect::ByDirection,
            reach: iolab_options::Reach::Nothing,
            page_cache: iolab_options::PageCache::Never,
            polling: crate::Polling::Never,
            reads_to_write: false,
            needs: &[],
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<QueueLane, OpenError> {
        Ok(QueueLane { fault: F::FAULT, depth: request.depth, queued: Vec::new(), seen: 0 })
    }
}

impl Lane for QueueLane {
    const SYNCHRONOUS: bool = false;

    fn submit(&mut self, op: &Op) -> Submission {
        self.seen += 1;
        let done = Completion { slot: u32::from(op.slot), result: 0 };
        if op.kind == crate::OpKind::Trim {
            self.queued.extend((self.fault == Fault::RefusesAndCompletes).then_some(done));
            return Submission::Refused(95);
        }
        match self.fault {
            Fault::FullTooEarly if self.queued.len() + 1 == self.depth => return Submission::Full,
            Fault::WrongSlot => self.queued.push(Completion { slot: (done.slot + 1) % self.depth as u32, ..done }),
            Fault::AnswersTwice if self.seen.is_multiple_of(5) => self.queued.extend([done, done]),
            _ => self.queued.push(done),
        }
        Submission::Accepted
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        if self.fault == Fault::LosesFirst && self.queued.len() > 1 {
            self.queued.remove(0);
        }
        Ok(())
    }

    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let room = if self.fault == Fault::IgnoresRoom { 8 } else { out.room_left() };
        let most = match self.fault {
            Fault::IgnoresAtLeast if wait.at_least > 1 => 1,
            _ => room.min(self.queued.len()),
        };
        let before = out.as_slice().len();
        self.queued.drain(..most.min(self.queued.len())).for_each(|done| out.push(done));
        let count = out.as_slice().len() - before;
        Ok(if self.fault == Fault::MiscountsReap { count + 1 } else { count })
    }
}

macro_rules! flavours {
    ($($name:ident)*) => {
        $(struct $name;
        impl Flavour for $name {
            const FAULT: Fault = Fault::$name;
        })*
    };
}

flavours!(None LosesFirst AnswersTwice WrongSlot FullTooEarly IgnoresAtLeast IgnoresRoom MiscountsReap RefusesAndCompletes);

crate::conformance_suite!(sound, Queue<crate::conformance::canaries::None>);

/// The names of the checks that a faulty lane fails.
fn failures<F: Flavour + 'static>() -> Vec<&'static str> {
    type Check = fn(&ConformanceSetup);
    let checks: [(&str, Check); 8] = [
        ("depth", depth_is_held::<Queue<F>>),
        ("once", slots_come_back_exactly_once::<Queue<F>>),
        ("at_least", at_least_is_honoured::<Queue<F>>),
        ("room", room_is_respected::<Queue<F>>),
        ("fused", flush_and_reap_does_both::<Queue<F>>),
        ("leftovers", nothing_is_left_after_draining::<Queue<F>>),
        ("refusals", refusals_leave_the_slot::<Queue<F>>),
        ("description", description_is_well_formed::<Queue<F>>),
    ];
    let fails = |check: fn(&ConformanceSetup)| catch_unwind(|| check(&ConformanceSetup::default())).is_err();
    checks.into_iter().filter(|(_, check)| fails(*check)).map(|(name, _)| name).collect()
}

#[test]
fn every_fault_fails_the_check_made_for_it() {
    assert_eq!(failures::<None>(), Vec::<&str>::new());
    let found = [
        ("depth", failures::<LosesFirst>()),
        ("once", failures::<AnswersTwice>()),
        ("once", failures::<WrongSlot>()),
        ("depth", failures::<FullTooEarly>()),
        ("at_least", failures::<IgnoresAtLeast>()),
        ("room", failures::<IgnoresRoom>()),
        ("leftovers", failures::<MiscountsReap>()),
        ("refusals", failures::<RefusesAndCompletes>()),
    ];
    for (check, failed) in found {
        assert!(failed.contains(&check), "{check} is not among {failed:?}");
    }
}
