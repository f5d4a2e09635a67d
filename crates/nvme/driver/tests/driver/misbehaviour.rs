//! The driver with a device that breaks every rule: no command is lost or duplicated, and nothing
//! hangs.

use std::sync::atomic::Ordering;

use iolab_clock::Clock;
use iolab_nvme_driver::*;
use iolab_nvme_spec::event::{AsynchronousEvent, EventType};
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, IoOpcode, Status, SubmissionEntry};
use iolab_pci_device::DmaTable;

use crate::fake::script::Act;
use crate::fake::{self, Bench, Script, all, options};

/// Sends a write to each of eight slots while the device follows the script, and collects
/// completions until all slots are free. The test fails if a slot completes twice or was never
/// used.
fn eight_writes(bench: &mut Bench, queue: &mut QueuePair) -> Vec<CommandOutcome> {
    let namespace = bench.controller.namespace(3).expect("identified before anything goes wrong");
    let data = bench.buffer(4096);
    for slot in 0..8 {
        assert_eq!(queue.write(slot, &namespace, u64::from(slot), 1, all(&data)), Submit::Accepted);
    }
    queue.flush();
    collect(bench, queue, 8)
}

fn collect(bench: &Bench, queue: &mut QueuePair, slots: usize) -> Vec<CommandOutcome> {
    let mut outcomes = vec![None; slots];
    let start = bench.clock.now_ns();
    while outcomes.iter().any(Option::is_none) {
        assert!(bench.clock.now_ns() < start + 60 * fake::SECOND, "commands hang: {outcomes:?}");
        let waited = queue.wait(fake::SECOND);
        let reaped = queue.reap(3, |completion| {
            let before = outcomes[usize::from(completion.slot)].replace(completion.outcome);
            assert_eq!(before, None, "slot {} came back twice", completion.slot);
        });
        assert!(waited.is_ok() || reaped.is_err(), "a wait fails only when nothing is left to reap");
    }
    assert_eq!(queue.in_flight(), 0);
    outcomes.into_iter().flatten().collect()
}

fn garbled(first: u64, second: u64) -> Act {
    Act::Garbled(CompletionEntry { words: [first, second] })
}

/// One thing goes wrong among eight commands. All succeed, with this many resets.
#[test]
fn one_fault_among_eight_commands_costs_a_reset_at_most() {
    for (what, act, resets) in [
        ("an answer that never comes", Act::Silent, 1),
        ("a command that vanishes", Act::Drop, 1),
        ("a command answered twice", Act::Twice, 1),
        ("another command identifier", garbled(0, 0x0100 << 32), 1),
        ("an identifier without a slot", garbled(0, 0x0008 << 32), 1),
        ("another submission queue", garbled(0, 5 << 16), 1),
        ("a head out of the ring", garbled(0, 0x4000), 1),
        ("the other phase", garbled(0, 1 << 48), 1),
        ("a fatal error", Act::Fatal, 1),
    ] {
        for position in [0, 3, 7] {
            let mut bench = Bench::new();
            let mut queue = bench.queue(8);
            let mut acts = vec![Act::Well; position];
            acts.push(act);
            bench.script.io(&acts);
            let outcomes = eight_writes(&mut bench, &mut queue);
            assert_eq!(outcomes, [CommandOutcome::Done; 8], "{what} at {position}");
            assert_eq!(bench.controller.resets(), resets, "{what} at {position}: {:?}", bench.controller.recoveries());
            assert!(bench.controller.recoveries().iter().all(|recovery| recovery.failure.is_none()));
            assert_eq!(
                eight_writes(&mut bench, &mut queue),
                [CommandOutcome::Done; 8],
                "{what} at {position}, afterwards"
            );
        }
    }
}

#[test]
fn faults_are_told_by_what_they_were() {
    for (act, expected) in [
        (garbled(0, 0x0100 << 32), "which is not in flight"),
        (garbled(0, 5 << 16), "completion for submission queue 4"),
        (garbled(0, 0x4000), "is beyond the last submitted command"),
        (Act::Drop, "timed out"),
        (Act::Fatal, "CSTS.CFS"),
    ] {
        let mut bench = Bench::new();
        let mut queue = bench.queue(8);
        bench.script.io(&[act]);
        eight_writes(&mut bench, &mut queue);
        let told = bench.controller.recoveries()[0].fault.to_string();
        assert!(told.contains(expected), "{act:?}: {told}");
    }
}

#[test]
fn errors_of_the_device_are_answers_and_cost_nothing_else() {
    let mut bench = Bench::new();
    let mut queue = bench.queue(8);
    bench.script.io(&[Act::Well, Act::Fail(Status::WRITE_FAULT.with_dnr(true)), Act::Fail(Status(0x3ff))]);
    let outcomes = eight_writes(&mut bench, &mut queue);
    assert_eq!(outcomes[1], CommandOutcome::Failed(Status::WRITE_FAULT.with_dnr(true)));
    assert_eq!(outcomes[2], CommandOutcome::Failed(Status(0x3ff)));
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_done()).count(), 6);
    assert_eq!(bench.controller.resets(), 0);
}

#[test]
fn commands_that_their_path_refuses_for_a_while_are_done_in_the_end() {
    let mut bench = Bench::new();
    let mut queue = bench.queue(8);
    bench.script.io(&[[Act::Fail(Status::ANA_INACCESSIBLE), Act::Fail(Status::ANA_TRANSITION)]; 10].concat());
    assert_eq!(eight_writes(&mut bench, &mut queue), [CommandOutcome::Done; 8]);
    assert_eq!((bench.script.fetched().len(), bench.controller.resets()), (28, 0));
    // Nothing is lost when a reset comes while some commands wait.
    bench.script.io(&[Act::Fail(Status::ANA_INACCESSIBLE), Act::Fail(Status::ANA_INACCESSIBLE), Act::Fatal]);
    assert_eq!(eight_writes(&mut bench, &mut queue), [CommandOutcome::Done; 8]);
    assert_eq!(bench.controller.resets(), 1);
}

#[test]
fn patience_with_a_path_ends_and_a_lost_path_gets_none() {
    for (status, most) in [
        (Status::ANA_INACCESSIBLE, 5),
        (Status::ANA_PERSISTENT_LOSS, 1),
        (Status::ANA_INACCESSIBLE.with_dnr(true), 1),
        (Status::INTERNAL_PATH_ERROR, 1),
    ] {
        let mut bench = Bench::new();
        let path_patience_ns = Some(160_000_000);
        let options = QueueOptions { path_patience_ns, timeout_ns: fake::SECOND, ..QueueOptions::with_slots(8) };
        let mut queue = bench.controller.queue_pair(options).unwrap();
        bench.script.io(&[Act::Fail(status); 100]);
        assert_eq!(eight_writes(&mut bench, &mut queue), [CommandOutcome::Failed(status); 8]);
        let sent = bench.script.fetched().len();
        assert!((8..=8 * most).contains(&sent), "{status}: sent {sent} times");
        assert_eq!(bench.controller.resets(), 0);
    }
}

#[test]
fn a_command_that_never_works_is_given_up_and_the_others_are_not() {
    let mut bench = Bench::new();
    let mut queue = bench.queue(8);
    // The command is dropped when it is first sent, and both times when it is resent.
    bench.script.io(&[Act::Drop; 3]);
    let namespace = bench.controller.namespace(3).unwrap();
    let data = bench.buffer(4096);
    assert_eq!(queue.write(5, &namespace, 0, 1, all(&data)), Submit::Accepted);
    queue.flush();
    let mut ended = Vec::new();
    while ended.is_empty() {
        queue.wait(fake::SECOND).unwrap();
        queue.reap(8, |completion| ended.push(completion)).unwrap();
    }
    assert_eq!(ended, [Completion { slot: 5, outcome: CommandOutcome::Lost(Loss::TimedOut), result: 0 }]);
    assert_eq!(bench.controller.resets(), 3);
    assert_eq!(eight_writes(&mut bench, &mut queue), [CommandOutcome::Done; 8]);
}

#[test]
fn commands_that_must_not_be_done_twice_are_lost_in_a_reset() {
    let mut bench = Bench::new();
    let mut queue = bench.queue(2);
    let data = bench.buffer(4096);
    let append = SubmissionEntry::new(IoOpcode::ZONE_APPEND.0, 0).with_nsid(3);
    assert_eq!(queue.raw_with_data(0, append, all(&data)), Submit::Accepted);
    let namespace = bench.controller.namespace(3).unwrap();
    assert_eq!(queue.read(1, &namespace, 0, 1, all(&data)), Submit::Accepted);
    bench.script.io(&[Act::Silent, Act::Drop]);
    queue.flush();
    // Any query lets the device work.
    bench.controller.namespace(1).unwrap();
    bench.controller.reset().unwrap();
    let outcomes = collect(&bench, &mut queue, 2);
    assert_eq!(outcomes[0], CommandOutcome::Lost(Loss::Reset));
    assert_eq!(outcomes[1], CommandOutcome::Done);
}

#[test]
fn a_reset_by_another_hand_loses_nothing_of_any_queue() {
    let mut bench = Bench::new();
    let mut queues: Vec<QueuePair> = (0..4).map(|_| bench.queue(8)).collect();
    let namespace = bench.controller.namespace(3).unwrap();
    let data = bench.buffer(4096);
    for round in 0..6 {
        for queue in &mut queues {
            for slot in 0..8 {
                assert_eq!(queue.write(slot, &namespace, u64::from(slot), 1, all(&data)), Submit::Accepted);
            }
            // When the reset comes, some commands are only in the ring, and some are at the device.
            if round % 2 == 0 {
                queue.flush();
            }
        }
        if round % 3 == 1 {
            // The device has worked, and the driver has not polled yet.
            assert!(bench.controller.next_event().unwrap().is_none());
            bench.controller.namespace(1).unwrap();
        }
        bench.controller.reset().unwrap();
        for queue in &mut queues {
            queue.flush();
            assert_eq!(collect(&bench, queue, 8), [CommandOutcome::Done; 8]);
        }
    }
    assert_eq!(bench.controller.resets(), 6);
}

#[test]
fn what_was_answered_before_a_reset_is_not_done_again() {
    let mut bench = Bench::new();
    let mut queue = bench.queue(8);
    let namespace = bench.controller.namespace(3).unwrap();
    let data = bench.buffer(4096);
    for slot in 0..8 {
        assert_eq!(queue.write(slot, &namespace, 0, 1, all(&data)), Submit::Accepted);
    }
    queue.flush();
    // Any query lets the device work: it answers all writes.
    bench.controller.namespace(1).unwrap();
    bench.controller.reset().unwrap();
    assert_eq!(collect(&bench, &mut queue, 8), [CommandOutcome::Done; 8]);
    assert_eq!(bench.script.fetched().len(), 8);
}

#[test]
fn more_commands_than_the_ring_holds_survive_a_reset() {
    let mut bench = Bench::new();
    let options =
        QueueOptions { entries: 4, timeout_ns: fake::SECOND, reaps_per_check: 1, ..QueueOptions::with_slots(9) };
    let mut queue = bench.controller.queue_pair(options).unwrap();
    let namespace = bench.controller.namespace(3).unwrap();
    let data = bench.buffer(4096);
    let mut idle: Vec<u16> = (0..9).collect();
    // One of each three commands is answered, which shows that all three have been fetched from the
    // ring.
    for in_flight in [2, 4, 6, 8] {
        bench.script.io(&[Act::Drop, Act::Drop, Act::Well]);
        for _ in 0..3 {
            let slot = idle.pop().unwrap();
            assert_eq!(queue.write(slot, &namespace, u64::from(slot), 1, all(&data)), Submit::Accepted);
        }
        queue.flush();
        assert!(queue.wait(fake::SECOND / 10).unwrap());
        queue.reap(9, |completion| idle.push(completion.slot)).unwrap();
        assert_eq!(queue.in_flight(), in_flight);
    }
    bench.controller.reset().unwrap();
    let mut ended = Vec::new();
    while ended.len() < 8 {
        assert!(queue.wait(fake::SECOND / 10).unwrap(), "{ended:?}");
        queue.reap(9, |completion| ended.push(completion)).unwrap();
    }
    assert!(ended.iter().all(|completion| completion.outcome.is_done()));
    idle.extend(ended.iter().map(|completion| completion.slot));
    idle.sort_unstable();
    assert_eq!(idle, (0..9).collect::<Vec<u16>>());
    assert_eq!(bench.controller.resets(), 1);
}

#[test]
fn a_device_that_is_gone_loses_everything_once_and_then_says_so() {
    let mut bench = Bench::new();
    let mut queue = bench.queue(8);
    bench.script.io(&[Act::Well, Act::Well, Act::Vanish]);
    let outcomes = eight_writes(&mut bench, &mut queue);
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_done()).count(), 2);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == CommandOutcome::Lost(Loss::Dead)).count(), 6);
    let data = bench.buffer(4096);
    assert!(matches!(queue.reap(8, |_| panic!("nothing is left")), Err(DriverError::Dead(_))));
    assert!(matches!(queue.wait(1), Err(DriverError::Dead(_))));
    let raw = queue.raw_with_data(0, SubmissionEntry::new(2, 0).with_nsid(3), all(&data));
    assert_eq!(raw, Submit::Refused(Refusal::Dead));
    assert!(matches!(bench.controller.namespaces(), Err(DriverError::Dead(_))));
    assert!(matches!(bench.controller.next_event(), Err(DriverError::Dead(_))));
    assert!(bench.controller.reset().is_err());
}

#[test]
fn a_controller_that_does_not_come_back_is_given_up_and_can_be_tried_again() {
    let mut bench = Bench::new();
    let mut queue = bench.queue(8);
    Script::set(&bench.script.never_ready);
    bench.script.io(&[Act::Fatal]);
    let outcomes = eight_writes(&mut bench, &mut queue);
    assert_eq!(outcomes, [CommandOutcome::Lost(Loss::Dead); 8]);
    assert!(matches!(bench.controller.namespaces(), Err(DriverError::Dead(_))));
    bench.script.never_ready.store(false, Ordering::Relaxed);
    bench.controller.reset().unwrap();
    assert_eq!(eight_writes(&mut bench, &mut queue), [CommandOutcome::Done; 8]);
}

#[test]
fn opening_a_device_that_does_not_work_is_an_error() {
    let open = |script: &Script| {
        let clock = Clock::simulated(1);
        let device = fake::Fake::new(DmaTable::new(), script.clone(), clock.clone());
        Controller::open(Box::new(device), clock, options())
    };
    let script = Script::default();
    Script::set(&script.never_ready);
    assert!(matches!(open(&script), Err(DriverError::NotReady { wanted: "ready", .. })));
    for (opcode, act, expected) in [
        (AdminOpcode::IDENTIFY, Act::Drop, "Identify timed out"),
        (AdminOpcode::IDENTIFY, Act::Fail(Status::INTERNAL_ERROR), "Identify failed: Internal Error"),
        (AdminOpcode::IDENTIFY, Act::Vanish, "reads as all ones"),
        (AdminOpcode::IDENTIFY, Act::Fatal, "CSTS.CFS"),
        (AdminOpcode::IDENTIFY, garbled(0, 1 << 32), "which is not in flight"),
        (AdminOpcode::IDENTIFY, garbled(0, 7 << 16), "completion for submission queue 7"),
        (AdminOpcode::IDENTIFY, garbled(0, 0x8000), "is beyond the last submitted command"),
        (AdminOpcode::SET_FEATURES, Act::Drop, "Set Features timed out"),
    ] {
        let script = Script::default();
        script.admin(opcode.0, act);
        let told = open(&script).unwrap_err().to_string();
        assert!(told.contains(expected), "{act:?}: {told}");
    }
}

#[test]
fn an_admin_command_without_an_answer_resets_the_controller_and_no_more() {
    let mut bench = Bench::new();
    let mut queue = bench.queue(8);
    bench.script.admin(AdminOpcode::IDENTIFY.0, Act::Drop);
    let error = bench.controller.namespaces().unwrap_err();
    assert!(matches!(error, DriverError::AdminTimeout { command: AdminOpcode::IDENTIFY, .. }), "{error}");
    assert_eq!(bench.controller.namespaces().unwrap().len(), 2);
    assert_eq!(eight_writes(&mut bench, &mut queue), [CommandOutcome::Done; 8]);
    assert_eq!(bench.controller.resets(), 1);
}

#[test]
fn a_lost_answer_during_the_reset_itself_is_survived() {
    let mut bench = Bench::new();
    let mut queue = bench.queue(8);
    for opcode in [AdminOpcode::SET_FEATURES, AdminOpcode::CREATE_IO_CQ, AdminOpcode::CREATE_IO_SQ, AdminOpcode::ABORT]
    {
        bench.script.admin(opcode.0, Act::Drop);
        bench.script.io(&[Act::Drop]);
        assert_eq!(eight_writes(&mut bench, &mut queue), [CommandOutcome::Done; 8], "{opcode}");
    }
}

#[test]
fn queues_that_are_refused_leave_nothing_behind() {
    let mut bench = Bench::new();
    for opcode in [AdminOpcode::CREATE_IO_CQ, AdminOpcode::CREATE_IO_SQ] {
        for _ in 0..10 {
            bench.script.admin(opcode.0, Act::Fail(Status::INVALID_QUEUE_SIZE));
            let refused = bench.controller.queue_pair(QueueOptions::with_slots(4));
            assert!(matches!(refused, Err(DriverError::Admin { status: Status::INVALID_QUEUE_SIZE, .. })));
        }
        let mut queue = bench.queue(8);
        assert_eq!(eight_writes(&mut bench, &mut queue), [CommandOutcome::Done; 8]);
    }
}

#[test]
fn events_come_as_values_and_go_on_coming() {
    let bench = Bench::new();
    assert!(bench.controller.next_event().unwrap().is_none());
    for round in 0..10 {
        let reported = AsynchronousEvent::new(EventType::HEALTH, round % 3, 2);
        bench.script.event.store(reported.0, Ordering::Relaxed);
        let mut event = None;
        for _ in 0..3 {
            // Any query lets the device work.
            bench.controller.namespace(1).unwrap();
            event = event.or(bench.controller.next_event().unwrap());
        }
        let event = event.expect("the event was reported");
        assert_eq!(event.reported, reported);
        let EventDetail::Health(log) = event.detail else { panic!("{:?}", event.detail) };
        assert_eq!(log.available_spare, 7, "the log page was read");
    }
    assert_eq!(bench.controller.resets(), 0);
}

#[test]
fn aborts_are_sent_for_the_command_in_the_slot() {
    let mut bench = Bench::new();
    let mut queue = bench.queue(2);
    let namespace = bench.controller.namespace(3).unwrap();
    let data = bench.buffer(4096);
    assert!(!queue.abort(0).unwrap(), "nothing is in flight");
    bench.script.io(&[Act::Drop]);
    assert_eq!(queue.read(1, &namespace, 0, 1, all(&data)), Submit::Accepted);
    queue.flush();
    assert!(!queue.abort(1).unwrap(), "this device never aborts anything");
    let sent = bench.script.admin_fetched();
    let abort = sent.last().unwrap();
    assert_eq!(abort.opc(), AdminOpcode::ABORT.0);
    assert_eq!(abort.cdw(10) & 0xffff, u32::from(queue.id()));
    assert_eq!(abort.cdw(10) >> 16, u32::from(bench.script.fetched()[0].cid()));
}
