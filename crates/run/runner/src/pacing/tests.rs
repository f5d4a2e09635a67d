//! Schedules and think time, and plans for the tests of other pacers.

use super::*;
use iolab_engine::OpKind;
use iolab_plan::{ThinkPlan, WorkerPlan};

fn worker() -> WorkerPlan {
    let text = include_str!("../../../../contract/recording/tests/worker_plan.json");
    serde_json::from_str::<WorkerPlan>(text).expect("a worker's plan")
}

pub(crate) fn plan() -> PacingPlan {
    PacingPlan { seed: 7, ..worker().pacing }
}

pub(crate) fn worker_in_flow(id: u32, weight: u32) -> WorkerPlan {
    let flow = Some(iolab_plan::FlowPlan { id, weight, sleep_ns: 0 });
    WorkerPlan { pacing: PacingPlan { flow, ..plan() }, ..worker() }
}

fn read() -> Op {
    Op { offset: 0, length: 4096, buffer_offset: 0, file: 0, slot: 0, kind: OpKind::Read, priority: 0 }
}

/// A slot whose operation completed at once.
fn slot(now_ns: u64) -> Slot {
    Slot { intended_ns: now_ns, begun_ns: now_ns, submitted_ns: now_ns, ..Slot::new(read()) }
}

fn pacer(plan: &PacingPlan) -> Paced {
    let mut pacer = Paced::new(plan, None, 4);
    pacer.start(0);
    pacer
}

#[test]
fn a_late_operation_keeps_its_intended_time() {
    let mut pacer = pacer(&PacingPlan { rate_iops: [1000, 0, 0], ..plan() });
    assert_eq!(pacer.release(&read(), 0), Release::Intended(0));
    pacer.released(&read(), 0, 0);
    assert_eq!(pacer.release(&read(), 999_999), Release::Wait(1_000_000));
    assert_eq!(pacer.release(&read(), 500_000_000), Release::Intended(1_000_000));
    let recording = pacer.recording(500_000_000).unwrap();
    assert_eq!((recording.sent, recording.backlog_at_end, recording.lag_at_end_ns), (1, 500, 499_000_000));
}

#[test]
fn an_operation_waits_for_the_one_before_it_without_being_late() {
    let mut pacer = pacer(&PacingPlan { rate_iops: [1000, 100, 0], ..plan() });
    let write = Op { kind: OpKind::Write, ..read() };
    for (op, begun_ns) in [(write, 0), (write, 10_000_000)] {
        pacer.released(&op, begun_ns, begun_ns);
    }
    // The first read was due at 0, and is queued behind a write due at 10 ms.
    assert_eq!(pacer.release(&read(), 10_000_000), Release::Intended(10_000_000));
    pacer.released(&read(), 10_000_000, 10_000_000);
    assert_eq!(pacer.recording(10_500_000).unwrap().lag_most_ns, 500_000);
}

#[test]
fn recorded_arrivals_serve_all_directions_and_end() {
    let mut pacer = Paced::new(&plan(), Some(Schedule::of_arrivals(vec![5, 7], false)), 4);
    pacer.start(100);
    let write = Op { kind: OpKind::Write, ..read() };
    assert_eq!(pacer.release(&read(), 100), Release::Wait(105));
    pacer.released(&read(), 105, 105);
    assert_eq!(pacer.release(&write, 120), Release::Intended(107));
    pacer.released(&write, 107, 120);
    assert_eq!(pacer.release(&read(), 130), Release::Over);
    pacer.stop(130, true);
    let recording = pacer.recording(130).unwrap();
    assert_eq!((recording.asked, recording.sent, recording.lag_at_end_ns), (2, 2, 13));
    assert_eq!(recording.backlog_at_end, 0);
}

#[test]
fn think_time_follows_every_block_of_completions() {
    let think = ThinkPlan {
        pause_ns: 50,
        spin_ns: 30,
        work_ns: 0,
        spin_cycles: 9,
        blocks: 2,
        trigger: ThinkTrigger::Complete,
        io_time_ns: 0,
    };
    let mut pacer = pacer(&PacingPlan { think: Some(think), ..plan() });
    pacer.completed(&slot(10), 10);
    assert_eq!(pacer.release(&read(), 10), Release::Now);
    pacer.completed(&slot(20), 20);
    assert_eq!(pacer.release(&read(), 20), Release::Wait(70));
    assert_eq!(pacer.release(&read(), 70), Release::Now);
    assert_eq!(pacer.busy_until_ns(), 50, "30 of the 50 ns are spent computing");
    assert_eq!(pacer.recording(70), None, "think time alone is no schedule");
}

#[test]
fn nothing_is_intended_during_think_time() {
    let think = ThinkPlan {
        pause_ns: 50,
        spin_ns: 0,
        work_ns: 0,
        spin_cycles: 0,
        blocks: 1,
        trigger: ThinkTrigger::Complete,
        io_time_ns: 0,
    };
    let mut pacer = pacer(&PacingPlan { rate_iops: [1_000_000_000, 0, 0], think: Some(think), ..plan() });
    pacer.released(&read(), 0, 0);
    pacer.completed(&slot(10), 10);
    assert_eq!(pacer.release(&read(), 80), Release::Intended(60));
    assert_eq!(pacer.recording(59).unwrap().backlog_at_end, 0);
    assert_eq!(pacer.recording(60).unwrap().backlog_at_end, 1);
}
