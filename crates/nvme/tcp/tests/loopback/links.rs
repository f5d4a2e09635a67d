//! Faults that a target injects on its links. Whatever happens, every command ends once, and reads
//! return what was written.

use std::time::Duration;

use iolab_nvme_driver::{CommandOutcome, Loss, Submit};
use iolab_nvme_fabrics::Digests;
use iolab_nvme_spec::Status;
use iolab_nvme_tcp::{LinkFault, SocketLoop, TargetOptions, TcpTarget};

use crate::rig::{Rig, SECOND, address, connect, drive, name, options, serve};

fn faulty(faults: &[&str], sockets: SocketLoop) -> TcpTarget {
    let faults: Vec<LinkFault> = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    serve(&drive("size=16M lba=4096"), TargetOptions { faults, sockets, ..options() })
}

/// Writes and reads all slots several times. Returns the outcomes that are not successful.
fn exercise(rig: &mut Rig, rounds: u8) -> Vec<CommandOutcome> {
    let half = crate::rig::DATA_BYTES / 2;
    let mut others = Vec::new();
    for round in 0..rounds {
        let data = rig.fill(round);
        for slot in 0..32u16 {
            let window = rig.data(usize::from(slot) * 8192, 8192);
            assert_eq!(rig.queue.write(slot, &rig.namespace, u64::from(slot) * 2, 2, window), Submit::Accepted);
        }
        let mut is_written = [true; 32];
        for one in rig.ended(32) {
            is_written[usize::from(one.slot)] = one.outcome.is_done();
            others.extend((!one.outcome.is_done()).then_some(one.outcome));
        }
        for slot in 0..32u16 {
            let window = rig.data(half + usize::from(slot) * 8192, 8192);
            assert_eq!(rig.queue.read(slot, &rig.namespace, u64::from(slot) * 2, 2, window), Submit::Accepted);
        }
        for one in rig.ended(32) {
            let at = usize::from(one.slot) * 8192;
            let mut read = vec![0; 8192];
            rig.memory.read(half + at, &mut read);
            if one.outcome.is_done() && is_written[usize::from(one.slot)] {
                assert!(read == data[at..at + 8192], "round {round}, slot {}", one.slot);
            }
            others.extend((!one.outcome.is_done()).then_some(one.outcome));
        }
        assert_eq!(rig.queue.in_flight(), 0);
    }
    others
}

#[test]
fn late_answers_change_nothing_but_the_order() {
    for sockets in [SocketLoop::Auto, SocketLoop::Epoll] {
        let target = faulty(&["link-delay:extra=3ms,probability=0.2,seed=5"], sockets);
        let mut rig = Rig::new(address(target.address(), Digests::default()));
        assert_eq!(exercise(&mut rig, 6), []);
        assert_eq!(rig.controller.resets(), 0, "{:?}", rig.controller.recoveries());
    }
}

#[test]
fn lost_answers_and_broken_links_are_made_good() {
    let faults = [
        ("link-drop:after=40,times=1", 0),
        ("link-half-open:after=100,times=1", 0),
        ("link-reset:probability=0.02,seed=3,times=3", 0),
        ("link-corrupt:after=20,times=2", 1),
    ];
    // All at once, because they spend their time waiting for answers.
    std::thread::scope(|scope| {
        for (fault, digests) in faults {
            for sockets in [SocketLoop::Auto, SocketLoop::Epoll] {
                scope.spawn(move || {
                    let target = faulty(&[fault], sockets);
                    let controller = connect(address(target.address(), Digests::of_bits(digests))).unwrap();
                    let mut rig = Rig::with_timeout(controller, 32, SECOND).unwrap();
                    assert_eq!(exercise(&mut rig, 5), [], "{fault}: {:?}", rig.controller.recoveries());
                    assert!(rig.controller.resets() > 0, "{fault} met nothing");
                });
            }
        }
    });
}

/// Further breaks affect each step of reconnecting: Connect of the admin queue, properties,
/// Identify, features, and Connect of the I/O queue.
#[test]
fn a_link_that_breaks_while_it_is_mended_is_mended_again() {
    let set_up = {
        let target = faulty(&[], SocketLoop::Auto);
        let _rig = Rig::new(address(target.address(), Digests::default()));
        target.statistics()[0].connections.iter().find(|one| one.queue == 0).unwrap().counted.commands
    };
    let of_admin: Vec<String> =
        (set_up..2 * set_up + 2).map(|after| format!("link-reset:queue=0,after={after},times=2")).collect();
    // The first answer of the I/O queue is that to Connect.
    let of_io: Vec<String> = (1..=4).map(|times| format!("link-reset:after=41,times={times}")).collect();
    let is_mended = |second: &str| {
        let target = faulty(&["link-reset:after=40,times=1", second], SocketLoop::Auto);
        let near = address(target.address(), Digests::default());
        // How often the status is read depends on time. A break may come before the setup is
        // complete, and then nothing repairs it.
        let Ok(mut rig) = connect(near).and_then(|controller| Rig::try_of(controller, 32)) else { return false };
        assert_eq!(exercise(&mut rig, 2), [], "{second}: {:?}", rig.controller.recoveries());
        assert!(rig.controller.resets() > 0, "{second}: nothing broke");
        true
    };
    // All at once, because they spend their time waiting for answers.
    let mended = std::thread::scope(|scope| {
        let each: Vec<_> = of_admin.iter().chain(&of_io).map(|second| scope.spawn(|| is_mended(second))).collect();
        each.into_iter().map(|one| usize::from(one.join().unwrap())).sum::<usize>()
    });
    assert!(mended >= of_io.len() + of_admin.len() / 2, "{mended} of {} began", of_admin.len() + of_io.len());
}

#[test]
fn a_wrong_digest_of_data_is_an_error_of_its_command_alone() {
    let target = faulty(&["link-corrupt:probability=0.05,seed=11"], SocketLoop::Auto);
    let mut rig = Rig::new(address(target.address(), Digests::of_bits(2)));
    let others = exercise(&mut rig, 8);
    assert!(!others.is_empty());
    for outcome in others {
        assert_eq!(outcome, CommandOutcome::Failed(Status::TRANSIENT_TRANSPORT_ERROR));
    }
    assert_eq!(rig.controller.resets(), 0, "{:?}", rig.controller.recoveries());
}

#[test]
fn a_link_that_breaks_again_and_again_ends_in_time() {
    // The first answer is that to Connect.
    let target = faulty(&["link-reset:after=1"], SocketLoop::Auto);
    let mut near = address(target.address(), Digests::default());
    near.reconnect_ns = SECOND;
    let mut rig = Rig::of(connect(near).unwrap(), 32);
    assert!(matches!(rig.read(0, 1).0, CommandOutcome::Lost(Loss::TimedOut | Loss::Dead)));
}

#[test]
fn a_target_counts_what_each_host_does() {
    let target = faulty(&[], SocketLoop::Auto);
    let mut near = address(target.address(), Digests::default());
    let mut rig = Rig::new(near.clone());
    near.host = name("second");
    let mut second = Rig::new(near);
    assert_eq!(rig.write(0, 4), CommandOutcome::Done);
    assert_eq!(rig.read(0, 2).0, CommandOutcome::Done);
    assert!(matches!(second.read(1 << 20, 1).0, CommandOutcome::Failed(_)));
    let found = target.statistics();
    let names: Vec<&str> = found.iter().map(|one| one.host.as_ref().unwrap().as_str()).collect();
    assert_eq!(names, [name("host").as_str(), name("second").as_str()]);
    let queue = found[0].connections.iter().find(|one| one.queue == 1).unwrap().counted;
    assert_eq!((queue.commands, queue.failed, queue.read_bytes, queue.written_bytes), (3, 0, 8192, 16384));
    let queue = found[1].connections.iter().find(|one| one.queue == 1).unwrap().counted;
    assert_eq!((queue.commands, queue.failed), (2, 1));
    let before = found[0].counted;
    drop((rig, second));
    for _ in 0..100 {
        if target.connections() == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let found = target.statistics();
    assert!(found[0].connections.is_empty() && found[0].counted.commands >= before.commands);
}
