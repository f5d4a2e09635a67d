//! Broken links, targets that end, and peers that send invalid data.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use iolab_nvme_driver::{CommandOutcome, DriverError, Loss, ResetCause, Submit};
use iolab_nvme_fabrics::Digests;
use iolab_nvme_tcp::TcpTarget;

use crate::rig::{Rig, SECOND, address, connect, drive, options, serve, serve_at};

/// Forwards bytes between a host and a target, until it is told to corrupt or to cut the stream.
struct Relay {
    at: SocketAddr,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
    /// Whether one bit is changed in the next bytes from the target.
    spoil: Arc<AtomicBool>,
    spoilt: Arc<AtomicUsize>,
}

impl Relay {
    fn new(to: SocketAddr) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let relay = Relay { at, sockets: Arc::default(), spoil: Arc::default(), spoilt: Arc::default() };
        let (sockets, spoil, spoilt) = (relay.sockets.clone(), relay.spoil.clone(), relay.spoilt.clone());
        std::thread::spawn(move || {
            for host in listener.incoming() {
                let (Ok(host), Ok(target)) = (host, TcpStream::connect(to)) else { continue };
                sockets.lock().unwrap().extend([host.try_clone().unwrap(), target.try_clone().unwrap()]);
                let (from_host, to_target) = (host.try_clone().unwrap(), target.try_clone().unwrap());
                std::thread::spawn(move || hand_on(from_host, to_target, |_| {}));
                let (spoil, spoilt) = (spoil.clone(), spoilt.clone());
                std::thread::spawn(move || {
                    hand_on(target, host, |bytes| {
                        if bytes.len() > 4000 && spoil.swap(false, Ordering::AcqRel) {
                            bytes[2000] ^= 4;
                            spoilt.fetch_add(1, Ordering::AcqRel);
                        }
                    });
                });
            }
        });
        relay
    }

    fn cut(&self) {
        for socket in self.sockets.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn hand_on(mut from: TcpStream, mut to: TcpStream, mut change: impl FnMut(&mut [u8])) {
    let mut bytes = [0; 65536];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        change(&mut bytes[..count]);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_link_that_is_cut_is_made_again_and_nothing_is_lost() {
    let drive = drive("size=16M lba=4096");
    let target = serve(&drive, options());
    let relay = Relay::new(target.address());
    let mut rig = Rig::new(address(relay.at, Digests::default()));
    for round in 1..5u8 {
        let data = rig.fill(round);
        for slot in 0..32u16 {
            let window = rig.data(usize::from(slot) * 32768, 32768);
            assert_eq!(rig.queue.write(slot, &rig.namespace, u64::from(slot) * 8, 8, window), Submit::Accepted);
        }
        rig.queue.flush();
        relay.cut();
        assert!(
            rig.ended(32).iter().all(|ended| ended.outcome == CommandOutcome::Done),
            "{:?}",
            rig.controller.recoveries()
        );
        assert_eq!(rig.read(0, 256).1, data);
        assert!(rig.controller.resets() >= u32::from(round));
    }
    assert!(
        rig.controller.recoveries().iter().any(|one| one.fault == ResetCause::Disconnected && one.failure.is_none())
    );
}

#[test]
fn a_target_that_is_started_again_is_found_and_one_that_is_gone_is_an_error() {
    let drive = drive("size=16M");
    let target = serve(&drive, options());
    let at = target.address();
    let mut near = address(at, Digests::default());
    near.reconnect_ns = 3 * SECOND;
    let mut rig = Rig::new(near);
    let data = rig.fill(5);
    assert_eq!(rig.write(0, 8), CommandOutcome::Done);
    drop(target);
    let again: std::thread::JoinHandle<TcpTarget> = {
        let drive = Arc::clone(&drive);
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            serve_at(&drive, options(), at)
        })
    };
    let (outcome, read) = rig.read(0, 8);
    assert_eq!((outcome, &read[..]), (CommandOutcome::Done, &data[..4096]));
    drop(again.join().unwrap());
    assert_eq!(rig.read(0, 8).0, CommandOutcome::Lost(Loss::Dead));
    assert!(rig.controller.is_given_up());
    assert!(matches!(rig.queue.reap(1, |_| panic!("nothing is left")), Err(DriverError::Dead(_))));
    assert!(matches!(rig.controller.namespaces(), Err(DriverError::Dead(_))));
}

#[test]
fn nobody_there_or_somebody_else_is_an_error_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let mut nobody = address(at, Digests::default());
    nobody.connect_ns = SECOND / 5;
    let silent = connect(nobody.clone()).map(drop).unwrap_err().to_string();
    assert!(silent.contains("does not answer as an NVMe/TCP target"), "{silent}");
    drop(listener);
    let refused = connect(nobody).map(drop).unwrap_err().to_string();
    assert!(refused.contains("refused"), "{refused}");
}

#[test]
fn a_bit_that_changes_on_the_way_is_found_by_digests() {
    let drive = drive("size=16M lba=4096");
    let target = serve(&drive, options());
    let relay = Relay::new(target.address());
    let mut rig = Rig::new(address(relay.at, Digests::of_bits(3)));
    let data = rig.fill(3);
    assert_eq!(rig.write(0, 16), CommandOutcome::Done);
    let mut damaged = 0;
    for round in 1..20 {
        relay.spoil.store(true, Ordering::Release);
        let (outcome, read) = rig.read(0, 16);
        assert_eq!(relay.spoilt.load(Ordering::Acquire), round, "nothing was changed");
        match outcome {
            CommandOutcome::Done => assert!(read == data[..65536], "changed data under a success"),
            CommandOutcome::Failed(_) => damaged += 1,
            CommandOutcome::Lost(loss) => panic!("{loss}"),
        }
    }
    assert!(damaged > 0);
    relay.spoil.store(false, Ordering::Release);
    assert_eq!(rig.read(0, 16), (CommandOutcome::Done, data[..65536].to_vec()));
}

/// The first bytes of hostile peers.
fn nonsense(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    let mut bytes: Vec<u8> = (0..next() as usize * 4 + 8).map(|_| next()).collect();
    // Half of them begin like a PDU, some with lengths of 4 GiB.
    if seed.is_multiple_of(2) {
        bytes[0] = next() % 10;
        bytes[2] = [128, 128, 24, 24, 72, 24, 24, 24, 24, 24][usize::from(bytes[0])];
        (bytes[1], bytes[3]) = (0, bytes[2]);
        let length = if seed.is_multiple_of(3) { u32::MAX } else { u32::from(bytes[2]) };
        bytes[4..8].copy_from_slice(&length.to_le_bytes());
    }
    bytes
}

#[test]
fn hostile_hosts_are_sent_away_and_others_go_on() {
    let drive = drive("size=16M");
    let target = serve(&drive, options());
    let mut rig = Rig::new(address(target.address(), Digests::default()));
    let mut ic_req = Vec::new();
    iolab_nvme_fabrics::Framing::ic_req(&mut ic_req, Digests::default());
    for seed in 0..200 {
        let mut socket = TcpStream::connect(target.address()).unwrap();
        if seed % 4 > 1 {
            socket.write_all(&ic_req).unwrap();
        }
        // The target may already have closed the connection.
        let _ = socket.write_all(&nonsense(seed));
        let _ = socket.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        assert!(answer.len() < 4096, "seed {seed}: {} bytes", answer.len());
        if seed % 50 == 0 {
            assert_eq!(rig.write(0, 1), CommandOutcome::Done);
        }
    }
    assert_eq!(rig.controller.resets(), 0);
}

#[test]
fn a_rule_that_is_broken_is_named_in_a_termination_request() {
    let drive = drive("size=16M");
    let target = serve(&drive, options());
    let mut socket = TcpStream::connect(target.address()).unwrap();
    let mut ic_req = Vec::new();
    iolab_nvme_fabrics::Framing::ic_req(&mut ic_req, Digests::default());
    socket.write_all(&ic_req).unwrap();
    // The header announces a capsule of 4 GiB.
    socket.write_all(&[4, 0, 72, 72, 0xff, 0xff, 0xff, 0xff]).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    assert_eq!(answer[0], 1, "ICResp");
    assert_eq!((answer[128], answer[128 + 8]), (3, 5), "C2HTermReq: Data Transfer Limit Exceeded");
    assert_eq!(answer[128 + 24..], [4, 0, 72, 72, 0xff, 0xff, 0xff, 0xff], "with the header at fault");
}

#[test]
fn hostile_targets_are_an_error_in_time() {
    for seed in 0..24u64 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let enemy = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut bytes = [0; 4096];
            let _ = socket.read(&mut bytes);
            if seed % 4 > 0 {
                let mut answer = Vec::new();
                iolab_nvme_fabrics::Framing::ic_resp(&mut answer, Digests::default(), 65536);
                let _ = socket.write_all(&answer);
                let _ = socket.read(&mut bytes);
            }
            if seed % 4 > 1 {
                // Connect succeeds: controller 1.
                let _ = socket.write_all(&[5, 0, 24, 0, 24, 0, 0, 0, 1]);
                let _ = socket.write_all(&[0; 15]);
                let _ = socket.read(&mut bytes);
            }
            let _ = socket.write_all(&nonsense(seed));
            let _ = socket.shutdown(Shutdown::Write);
            let _ = socket.read_to_end(&mut Vec::new());
        });
        let mut near = address(at, Digests::default());
        (near.connect_ns, near.reconnect_ns) = (SECOND / 5, 0);
        let error = connect(near).map(drop).unwrap_err();
        assert!(!error.to_string().is_empty());
        enemy.join().unwrap();
    }
}

#[test]
fn a_command_that_is_never_answered_is_sent_again() {
    let drive = drive("size=16M fault=timeout:opcode=1,times=1 fault=drop:opcode=2,times=1");
    let target = serve(&drive, options());
    let controller = connect(address(target.address(), Digests::default())).unwrap();
    let mut rig = Rig::with_timeout(controller, 32, SECOND).unwrap();
    let data = rig.fill(4);
    assert_eq!(rig.write(0, 8), CommandOutcome::Done);
    assert_eq!(rig.controller.resets(), 1, "{:?}", rig.controller.recoveries());
    assert_eq!(rig.read(0, 8), (CommandOutcome::Done, data[..4096].to_vec()));
    assert_eq!(rig.controller.resets(), 2, "{:?}", rig.controller.recoveries());
}

#[test]
fn a_host_that_is_silent_for_too_long_loses_its_controller() {
    let drive = drive("size=16M");
    let target = serve(&drive, options());
    let mut near = address(target.address(), Digests::default());
    near.keep_alive_ms = 600;
    let mut rig = Rig::new(near);
    // The driver's own Keep Alive commands keep the connection alive.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(rig.write(0, 1), CommandOutcome::Done);
    assert_eq!(rig.controller.resets(), 0, "{:?}", rig.controller.recoveries());
    // The target disconnects a host that connects and then stays silent.
    let mut silent = Vec::new();
    let digests = Digests::default();
    let mut framing = iolab_nvme_fabrics::Framing::before_connection();
    framing.most_capsule_data = 8192;
    iolab_nvme_fabrics::Framing::ic_req(&mut silent, digests);
    let connect = iolab_nvme_fabrics::Connect {
        queue: 0,
        entries: 32,
        no_flow_control: false,
        keep_alive_ms: 200,
        host_id: [1; 16],
        host: crate::rig::name("silent"),
        subsystem: crate::rig::name("drive"),
        controller: 0xffff,
    };
    let data = iolab_nvme_fabrics::connect_data(&connect);
    framing.command_header(&mut silent, &iolab_nvme_fabrics::connect_entry(&connect, 1).words, data.len());
    silent.extend_from_slice(&data);
    let mut socket = TcpStream::connect(target.address()).unwrap();
    socket.write_all(&silent).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    assert_eq!(answer.len(), 128 + 24, "ICResp, the answer to Connect, and then the end");
}
