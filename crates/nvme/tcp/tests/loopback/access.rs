//! How the target reaches its namespaces changes while hosts use it.

use iolab_nvme_driver::{AsyncEvent, CommandOutcome, EventDetail, Submit};
use iolab_nvme_fabrics::Digests;
use iolab_nvme_spec::Status;
use iolab_nvme_spec::event::{EventType, NoticeEvent};
use iolab_nvme_spec::log::{AnaState, LogPage};
use iolab_nvme_tcp::TargetOptions;

use crate::rig::{Rig, address, drive, options, serve};

/// Waits for the next event.
fn event(rig: &Rig) -> AsyncEvent {
    for _ in 0..3000 {
        if let Some(event) = rig.controller.next_event().unwrap() {
            return event;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("no event");
}

#[test]
fn each_change_is_one_event_and_commands_follow_the_state() {
    let drive = drive("size=16M ana=optimized");
    let target = serve(&drive, options());
    let mut rigs = [(); 2].map(|()| Rig::new(address(target.address(), Digests::default())));
    let states = [
        ("inaccessible", AnaState::INACCESSIBLE),
        ("change", AnaState::CHANGE),
        ("non-optimized", AnaState::NON_OPTIMIZED),
        ("persistent-loss", AnaState::PERSISTENT_LOSS),
        ("optimized", AnaState::OPTIMIZED),
    ];
    for (count, (word, state)) in (1..).zip(states) {
        drive.set_access(word, None).unwrap();
        // The same state again is no change.
        drive.set_access(word, None).unwrap();
        for rig in &rigs {
            let event = event(rig);
            assert_eq!(event.reported.event_type(), EventType::NOTICE);
            assert_eq!(NoticeEvent(event.reported.information()), NoticeEvent::ANA_CHANGE);
            assert_eq!(LogPage(event.reported.log_page()), LogPage::ANA);
            assert!(
                matches!(event.detail, EventDetail::Access { changes, ref states } if changes == count && *states == [(1, state)]),
                "{word}: {event:?}"
            );
            assert_eq!(rig.controller.access(1).unwrap(), Some(state), "{word}");
            assert!(rig.controller.next_event().unwrap().is_none(), "{word}");
        }
        let rig = &mut rigs[0];
        match state {
            AnaState::INACCESSIBLE => {
                let data = rig.data(0, 4096);
                assert_eq!(rig.queue.read(7, &rig.namespace, 0, 8, data), Submit::Accepted);
                rig.queue.flush();
            }
            // The command is held through two states, and completes in the third.
            AnaState::NON_OPTIMIZED => assert_eq!(rig.ended(1)[0].outcome, CommandOutcome::Done),
            AnaState::PERSISTENT_LOSS => {
                let (outcome, _) = rig.read(0, 8);
                let CommandOutcome::Failed(status) = outcome else { panic!("{outcome:?}") };
                assert_eq!(status.code(), Status::ANA_PERSISTENT_LOSS);
            }
            AnaState::OPTIMIZED => assert_eq!(rig.write(0, 8), CommandOutcome::Done),
            _ => {
                rig.queue.reap(1, |completion| panic!("it ended: {completion:?}")).unwrap();
            }
        }
    }
    assert!(rigs.iter().all(|rig| rig.controller.resets() == 0));
}

#[test]
fn each_address_has_a_state_of_its_own() {
    let drive = drive("size=16M ana=optimized");
    let away = TargetOptions { access: Some(AnaState::INACCESSIBLE), ..options() };
    let targets = [serve(&drive, options()), serve(&drive, away)];
    let rigs = [0, 1].map(|number: usize| Rig::new(address(targets[number].address(), Digests::default())));
    let states = || [0, 1].map(|number: usize| rigs[number].controller.access(1).unwrap().unwrap());
    assert_eq!(states(), [AnaState::OPTIMIZED, AnaState::INACCESSIBLE]);
    let at = targets[1].address().to_string();
    drive.set_access("non-optimized", Some(&at)).unwrap();
    let event = event(&rigs[1]);
    assert!(matches!(event.detail, EventDetail::Access { changes: 1, .. }), "{event:?}");
    assert!(rigs[0].controller.next_event().unwrap().is_none(), "nothing changed there");
    assert_eq!(states(), [AnaState::OPTIMIZED, AnaState::NON_OPTIMIZED]);
    drive.set_access("change", None).unwrap();
    assert_eq!(states(), [AnaState::CHANGE, AnaState::CHANGE]);
    let said = drive.set_access("optimized", Some("127.0.0.1:1")).unwrap_err();
    assert!(said.contains("`127.0.0.1:1`") && said.contains(&at), "{said}");
}

#[test]
fn other_words_and_other_devices_are_refused() {
    assert!(
        drive("size=1M ana=optimized").set_access("optimised", None).unwrap_err().contains("persistent-loss or change")
    );
    assert!(drive("size=1M").set_access("optimized", None).unwrap_err().contains("ana=optimized"));
}
