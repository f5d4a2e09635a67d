//! Reads return what was written, in every form of data.

use iolab_nvme_driver::{CommandOutcome, ControllerOptions, Submit};
use iolab_nvme_fabrics::Digests;
use iolab_nvme_tcp::{SocketLoop, TargetOptions};

use crate::rig::{DATA_BYTES, Rig, address, connect, drive, options, serve};

/// How the targets wait. Without io_uring, both use epoll.
const LOOPS: [SocketLoop; 2] = [SocketLoop::Auto, SocketLoop::Epoll];

fn all_digests() -> [Digests; 4] {
    [0, 1, 2, 3].map(Digests::of_bits)
}

#[test]
fn every_size_of_transfer_comes_back_as_it_went() {
    for (digests, sockets) in all_digests().into_iter().flat_map(|digests| LOOPS.map(|sockets| (digests, sockets))) {
        for lba in ["512", "4096"] {
            let drive = drive(&format!("size=16M lba={lba}"));
            let target = serve(&drive, TargetOptions { sockets, ..options() });
            let mut rig = Rig::new(address(target.address(), digests));
            let block = rig.namespace.block_bytes() as usize;
            assert_eq!(block.to_string(), lba);
            // Data that fits into the capsule, is just too long for it, needs several data PDUs,
            // and the longest transfer.
            for (turn, bytes) in [block, 8192, 16384, 20480, 131_072, 262_144, 1 << 20].into_iter().enumerate() {
                let blocks = (bytes / block) as u32;
                let data = rig.fill(turn as u8 + 1);
                assert_eq!(rig.write(3, blocks), CommandOutcome::Done, "{bytes} bytes, {digests:?}");
                let (outcome, read) = rig.read(3, blocks);
                assert_eq!(outcome, CommandOutcome::Done);
                assert!(read == data[..bytes], "{bytes} bytes, {digests:?}, blocks of {lba}");
            }
            assert_eq!(rig.controller.resets(), 0);
        }
    }
}

#[test]
fn many_commands_at_once_each_get_their_own_data() {
    let drive = drive("size=16M lba=4096");
    for (digests, sockets) in all_digests().into_iter().flat_map(|digests| LOOPS.map(|sockets| (digests, sockets))) {
        let target = serve(&drive, TargetOptions { sockets, ..options() });
        let mut rig = Rig::of(connect(address(target.address(), digests)).unwrap(), 128);
        let half = DATA_BYTES / 2;
        let bytes = 8192;
        for round in 0..4u8 {
            let data = rig.fill(round);
            for slot in 0..128u16 {
                let window = rig.data(usize::from(slot) * bytes, bytes as u32);
                assert_eq!(rig.queue.write(slot, &rig.namespace, u64::from(slot) * 2, 2, window), Submit::Accepted);
            }
            assert!(rig.ended(128).iter().all(|ended| ended.outcome == CommandOutcome::Done));
            rig.memory.fill(half, half, 0);
            for slot in 0..128u16 {
                let from = u64::from(127 - slot) * 2;
                let window = rig.data(half + usize::from(slot) * bytes, bytes as u32);
                assert_eq!(rig.queue.read(slot, &rig.namespace, from, 2, window), Submit::Accepted);
            }
            assert!(rig.ended(128).iter().all(|ended| ended.outcome == CommandOutcome::Done));
            let mut read = vec![0; half];
            rig.memory.read(half, &mut read);
            for slot in 0..128 {
                let written = &data[(127 - slot) * bytes..][..bytes];
                assert!(read[slot * bytes..][..bytes] == *written, "slot {slot}, {digests:?}");
            }
        }
    }
}

#[test]
fn other_commands_work_as_behind_pcie() {
    let drive = drive("size=16M");
    let target = serve(&drive, options());
    let mut rig = Rig::new(address(target.address(), Digests::default()));
    assert_eq!(rig.controller.facts().model(), "iolab virtual SSD");
    assert_eq!(rig.controller.namespaces().unwrap().len(), 1);
    let data = rig.fill(9);
    assert_eq!(rig.write(0, 64), CommandOutcome::Done);
    let submit = rig.queue.flush_cache(2, &rig.namespace);
    assert_eq!(rig.outcome(submit), CommandOutcome::Done);
    let submit = rig.queue.deallocate(5, &rig.namespace, &[(10, 1), (20, 2)]);
    assert_eq!(rig.outcome(submit), CommandOutcome::Done);
    assert_eq!(rig.read(10, 1).1, [0; 512]);
    assert_eq!(rig.read(11, 9).1, data[11 * 512..20 * 512]);
    assert!(matches!(rig.read(1 << 20, 1).0, CommandOutcome::Failed(_)), "behind the end");
    assert_eq!(rig.read(0, 1).0, CommandOutcome::Done);
    assert_eq!(rig.controller.resets(), 0);
}

#[test]
fn zones_and_time_are_the_same_behind_tcp() {
    let drive = drive("size=16M zone=1M");
    let target = serve(&drive, options());
    let mut rig = Rig::new(address(target.address(), Digests::default()));
    for expected in [2048, 2056] {
        let window = rig.data(0, 4096);
        assert_eq!(rig.queue.append(0, &rig.namespace, 2048, 8, window), Submit::Accepted);
        let ended = rig.ended(1)[0];
        assert_eq!((ended.outcome, ended.result), (CommandOutcome::Done, expected));
    }
    // Uses delayed answers, and a medium that makes commands wait.
    let drive = crate::rig::drive("size=64M preset=970pro");
    let target = serve(&drive, options());
    let mut rig = Rig::new(address(target.address(), Digests::default()));
    let data = rig.fill(1);
    for lba in 0..32 {
        assert_eq!(rig.write(lba * 2048, 2048), CommandOutcome::Done);
    }
    assert_eq!(rig.read(2048 * 31, 2048).1, data);
    assert_eq!(rig.controller.resets(), 0);
}

#[test]
fn a_queue_for_each_thread_and_several_hosts_at_once() {
    let drive = drive("size=64M lba=4096");
    let target = serve(&drive, iolab_nvme_tcp::TargetOptions { pollers: 2, ..options() });
    let at = target.address();
    std::thread::scope(|scope| {
        for host in 0..2u64 {
            let mut address = address(at, Digests::of_bits(host as u8));
            address.host = crate::rig::name(&format!("host{host}"));
            let clock = iolab_clock::Clock::monotonic();
            let tcp = iolab_nvme_tcp::Tcp::connect(address, &clock).unwrap();
            let controller = iolab_nvme_driver::Controller::connect(tcp, clock, ControllerOptions::default()).unwrap();
            for worker in 0..2u64 {
                let controller = controller.clone();
                scope.spawn(move || {
                    let mut rig = Rig::of(controller, 16);
                    let first = (host * 2 + worker) * 4096;
                    for round in 0..50u8 {
                        let data = rig.fill(round ^ (host * 2 + worker) as u8);
                        assert_eq!(rig.write(first + u64::from(round), 9), CommandOutcome::Done);
                        let (outcome, read) = rig.read(first + u64::from(round), 9);
                        assert!(outcome == CommandOutcome::Done && read == data[..9 * 4096]);
                    }
                });
            }
        }
    });
    assert_eq!(drive.totals().write_commands, 200);
}
