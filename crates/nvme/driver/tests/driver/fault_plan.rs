//! Every fault that the virtual SSD can simulate, and how the driver handles it.

use iolab_nvme_driver::*;
use iolab_nvme_spec::Status;
use iolab_nvme_spec::log::AnaState;
use iolab_virtual_ssd::{Config, Fault as Planned, FaultKind};

use crate::drive::*;

const COMMANDS: u16 = 12;

/// Writes and reads with a fault in between. Returns the outcomes of all commands by slot.
fn run(kind: FaultKind, after: u64, times: u64) -> (Vec<CommandOutcome>, Drive, QueuePair) {
    let plan = Planned { after, times, ..Planned::new(kind) };
    let mut drive = Drive::new(Config { size_bytes: 1 << 20, faults: vec![plan], ..Config::default() });
    let namespace = drive.controller.namespace(1).unwrap();
    // The device duplicates a completion only where the ring has room for one more.
    let mut queue = drive.controller.queue_pair(QueueOptions { entries: 64, ..queue_options(COMMANDS) }).unwrap();
    let data = drive.buffer(4096);
    let mut outcomes = vec![None; usize::from(COMMANDS)];
    for slot in 0..COMMANDS {
        let submit = if slot % 2 == 0 {
            queue.write(slot, &namespace, u64::from(slot) * 8, 8, data.slice)
        } else {
            queue.read(slot, &namespace, u64::from(slot) * 8, 8, data.slice)
        };
        assert_eq!(submit, Submit::Accepted);
    }
    queue.flush();
    let end = drive.clock.now_ns() + 100 * TIMEOUT_NS;
    while outcomes.iter().any(Option::is_none) {
        assert!(drive.clock.now_ns() < end, "{kind:?} after {after}: commands hang: {outcomes:?}");
        let waited = queue.wait(TIMEOUT_NS);
        let reaped = queue.reap(5, |completion| {
            let before = outcomes[usize::from(completion.slot)].replace(completion.outcome);
            assert_eq!(before, None, "{kind:?} after {after}: slot {} came back twice", completion.slot);
        });
        assert!(waited.is_ok() || reaped.is_err(), "a wait fails only when nothing is left");
    }
    (outcomes.into_iter().flatten().collect(), drive, queue)
}

fn still_works(drive: &mut Drive, queue: &mut QueuePair) {
    let namespace = drive.controller.namespace(1).unwrap();
    let (data, back) = (drive.buffer(8192), drive.buffer(8192));
    let bytes = data.pattern(1);
    let submit = queue.write(0, &namespace, 5, 16, data.slice);
    done(queue, submit);
    let submit = queue.read(1, &namespace, 5, 16, back.slice);
    done(queue, submit);
    assert!(back.contents() == bytes);
}

#[test]
fn faults_of_the_protocol_cost_a_reset_and_no_command() {
    for kind in [
        FaultKind::Timeout,
        FaultKind::DropCompletion,
        FaultKind::DoubleCompletion,
        FaultKind::WrongPhase,
        FaultKind::WrongCid,
        FaultKind::Fatal,
    ] {
        for after in [0, 1, 5, 11] {
            let (outcomes, mut drive, mut queue) = run(kind, after, 1);
            let lost = outcomes.iter().filter(|outcome| **outcome == CommandOutcome::Lost(Loss::TimedOut)).count();
            let done = outcomes.iter().filter(|outcome| outcome.is_done()).count();
            assert_eq!(lost + done, outcomes.len(), "{kind:?} after {after}: {outcomes:?}");
            // A command that the device aborts on request is reported as timed out. Nothing else is
            // lost.
            assert!(lost <= usize::from(kind == FaultKind::Timeout), "{kind:?} after {after}: {outcomes:?}");
            assert!(drive.controller.resets() <= 2, "{:?}", drive.controller.recoveries());
            still_works(&mut drive, &mut queue);
        }
    }
}

#[test]
fn faults_that_come_again_and_again_end() {
    // A duplicate completion follows the right one, so the commands succeed.
    for (kind, is_fatal_to_commands) in [
        (FaultKind::DropCompletion, true),
        (FaultKind::WrongCid, true),
        (FaultKind::DoubleCompletion, false),
        (FaultKind::Fatal, true),
    ] {
        let (outcomes, drive, _queue) = run(kind, 2, u64::MAX);
        let lost = outcomes.iter().filter(|outcome| matches!(outcome, CommandOutcome::Lost(_))).count();
        let done = outcomes.iter().filter(|outcome| outcome.is_done()).count();
        assert_eq!(lost + done, outcomes.len(), "{kind:?}: {outcomes:?}");
        assert!(lost > 0 || !is_fatal_to_commands, "{kind:?}: {outcomes:?}");
        assert!(drive.controller.resets() > 0);
    }
}

#[test]
fn errors_of_the_media_are_answers() {
    let (outcomes, mut drive, mut queue) = run(FaultKind::MediaError, 4, 2);
    let failed: Vec<_> = outcomes.iter().filter(|outcome| !outcome.is_done()).collect();
    assert_eq!(failed.len(), 2);
    for outcome in failed {
        let CommandOutcome::Failed(status) = outcome else { panic!("{outcome:?}") };
        assert!([Status::WRITE_FAULT, Status::UNRECOVERED_READ_ERROR].contains(&status.code()), "{status}");
    }
    assert_eq!(drive.controller.resets(), 0);
    still_works(&mut drive, &mut queue);
}

#[test]
fn slow_commands_are_waited_for_up_to_the_time_out() {
    let (outcomes, drive, _queue) = run(FaultKind::Slow { extra_ns: TIMEOUT_NS / 2 }, 3, 3);
    assert!(outcomes.iter().all(|outcome| outcome.is_done()));
    assert_eq!(drive.controller.resets(), 0);
}

#[test]
fn a_drive_that_is_pulled_out_loses_each_command_once() {
    for after in [0, 6, 11] {
        let (outcomes, drive, mut queue) = run(FaultKind::Removal, after, 1);
        assert!(outcomes.iter().all(|outcome| outcome.is_done() || *outcome == CommandOutcome::Lost(Loss::Dead)));
        assert!(outcomes.iter().any(|outcome| !outcome.is_done()));
        assert!(matches!(queue.reap(1, |_| panic!("nothing is left")), Err(DriverError::Dead(_))));
        assert!(matches!(drive.controller.namespaces(), Err(DriverError::Dead(_))));
        assert!(drive.controller.reset().is_err());
    }
}

#[test]
fn an_admin_command_without_an_answer_is_an_error_and_a_reset() {
    let plan = Planned { queue: Some(0), after: 12, times: 1, ..Planned::new(FaultKind::DropCompletion) };
    let mut drive = Drive::new(Config { size_bytes: 1 << 20, faults: vec![plan], ..Config::default() });
    let mut queue = drive.queue(4);
    let mut failed = 0;
    for _ in 0..12 {
        match drive.controller.namespaces() {
            Ok(namespaces) => assert_eq!(namespaces.len(), 1),
            Err(DriverError::AdminTimeout { .. }) => failed += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((failed, drive.controller.resets()), (1, 1));
    still_works(&mut drive, &mut queue);
}

#[test]
fn asymmetric_access_is_reported_and_kept_to() {
    let cases = [
        ("no", None, CommandOutcome::Done),
        ("optimized", Some(AnaState::OPTIMIZED), CommandOutcome::Done),
        ("non-optimized", Some(AnaState::NON_OPTIMIZED), CommandOutcome::Done),
        ("inaccessible", Some(AnaState::INACCESSIBLE), CommandOutcome::Failed(Status::ANA_INACCESSIBLE)),
        ("persistent-loss", Some(AnaState::PERSISTENT_LOSS), CommandOutcome::Failed(Status::ANA_PERSISTENT_LOSS)),
        ("change", Some(AnaState::CHANGE), CommandOutcome::Failed(Status::ANA_TRANSITION)),
    ];
    for (word, state, outcome) in cases {
        let config = Config::parse(&format!("size=1M namespaces=2 ana={word}")).unwrap();
        let mut drive = Drive::new(config);
        for nsid in [1, 2] {
            assert_eq!(drive.controller.access(nsid).unwrap(), state, "{word}");
        }
        assert_eq!(drive.controller.access(3).unwrap(), None);
        let namespace = drive.controller.namespace(2).unwrap();
        let options = QueueOptions { path_patience_ns: Some(100_000_000), ..queue_options(4) };
        let mut queue = drive.controller.queue_pair(options).unwrap();
        let data = drive.buffer(4096);
        assert_eq!(queue.read(0, &namespace, 8, 8, data.slice), Submit::Accepted);
        let ended = collect(&mut queue, 1);
        // The error log has more details, which are reported too.
        let found = match ended[0].outcome {
            CommandOutcome::Failed(status) => CommandOutcome::Failed(status.code()),
            other => other,
        };
        assert_eq!(found, outcome, "{word}");
        assert_eq!(drive.controller.resets(), 0, "{word}");
    }
}
