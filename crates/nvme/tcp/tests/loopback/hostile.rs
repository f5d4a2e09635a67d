//! Hostile peers: a few by default. `ci/suites/nvme_tcp_faults` sets `IOLAB_MANY_PEERS` to the most
//! connections that a test may open at once, and runs these tests one after the other.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use iolab_nvme_driver::CommandOutcome;
use iolab_nvme_fabrics::{Connect, DataPart, Digests, Framing, Sender, connect_data, connect_entry};
use iolab_nvme_spec::sgl::SglDescriptor;
use iolab_nvme_spec::{CompletionEntry, Status, SubmissionEntry};
use iolab_nvme_tcp::{SocketLoop, TargetOptions};
use iolab_random::SplitMix64;

use crate::rig::{Rig, SECOND, address, connect, drive, name, options, serve};

/// The most connections that a suite lets a test open at once. None where a few peers are enough.
fn most_peers() -> Option<usize> {
    std::env::var("IOLAB_MANY_PEERS").ok().map(|number| number.parse().expect("IOLAB_MANY_PEERS is a number"))
}

/// The number of peers, and whether memory can be checked, which requires that no other test runs.
fn scale(few: usize, many: usize) -> (usize, bool) {
    most_peers().map_or((few, false), |most| (many.min(most), true))
}

/// Resident memory of this process.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap() << 10
}

#[test]
fn thousands_of_connections_cost_little_and_disturb_nobody() {
    let (connections, judges_memory) = scale(100, 10_000);
    for sockets in [SocketLoop::Auto, SocketLoop::Epoll] {
        let drive = drive("size=1M");
        let most_connections = connections + 10;
        let target = serve(&drive, TargetOptions { most_connections, sockets, ..options() });
        let mut rig = Rig::new(address(target.address(), Digests::default()));
        let before = resident_bytes();
        let mut ic_req = Vec::new();
        Framing::ic_req(&mut ic_req, Digests::default());
        let mut open = Vec::new();
        for number in 0..connections {
            let mut socket = TcpStream::connect(target.address()).unwrap();
            // A third of the peers send nothing, a third begin and stop, a third announce 4 GiB.
            match number % 3 {
                0 => {}
                1 => socket.write_all(&ic_req[..100]).unwrap(),
                _ => {
                    socket.write_all(&ic_req).unwrap();
                    socket.write_all(&[4, 0, 72, 72, 0xff, 0xff, 0xff, 0xff]).unwrap();
                }
            }
            open.push(socket);
            if number % 1000 == 0 {
                assert_eq!(rig.write(0, 1), CommandOutcome::Done);
                assert!(target.connections() <= most_connections);
            }
        }
        let grown = resident_bytes().saturating_sub(before);
        assert!(!judges_memory || grown / connections < 24 << 10, "{grown} bytes for {connections} connections");
        assert_eq!(rig.read(0, 1).0, CommandOutcome::Done);
        drop(open);
        for _ in 0..500 {
            if target.connections() <= 2 {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(target.connections() <= 2, "{} are left", target.connections());
        assert_eq!(rig.controller.resets(), 0, "{:?}", rig.controller.recoveries());
    }
}

/// Changes one byte of `bytes`.
fn spoil(bytes: &mut [u8], random: &mut SplitMix64) {
    let place = random.below(bytes.len() as u64) as usize;
    match random.below(4) {
        0 => bytes[place] = 0xff,
        1 => bytes[place] = 0,
        2 => bytes[place] ^= 1 << random.below(8),
        _ => bytes[place] = random.next() as u8,
    }
}

/// The valid first bytes of an I/O host: the handshake, and Connect to the admin queue.
pub(crate) fn opening(digests: Digests) -> Vec<u8> {
    let mut bytes = Vec::new();
    Framing::ic_req(&mut bytes, digests);
    let connect = Connect {
        queue: 0,
        entries: 32,
        no_flow_control: true,
        keep_alive_ms: 1000,
        host_id: [9; 16],
        host: name("enemy"),
        subsystem: name("drive"),
        controller: 0xffff,
    };
    let framing = Framing { digests, most_capsule_data: 8192, ..Framing::before_connection() };
    let data = connect_data(&connect);
    framing.command_header(&mut bytes, &connect_entry(&connect, 0).words, data.len());
    let start = bytes.len();
    bytes.extend_from_slice(&data);
    framing.end_data(&mut bytes, start);
    bytes
}

/// PDUs of a host that are individually valid: commands, and data that was not requested.
fn host_pdus(framing: &Framing, random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..1 + random.below(6) {
        let cid = random.below(64) as u16;
        if random.below(3) == 0 {
            let part =
                DataPart { cid, tag: random.below(4) as u16, offset: 0, bytes: 512, is_last: true, is_success: false };
            framing.data_header(&mut bytes, Sender::Host, &part);
            let start = bytes.len();
            bytes.resize(start + 512, 7);
            framing.end_data(&mut bytes, start);
        } else {
            let entry = SubmissionEntry::new(random.next() as u8, cid)
                .with_nsid(1)
                .with_cdw(10, random.next() as u32)
                .with_sgl(SglDescriptor::transport(random.below(1 << 22) as u32));
            framing.command(&mut bytes, &entry.words);
        }
    }
    bytes
}

#[test]
fn hosts_that_send_almost_the_right_thing_are_survived() {
    let (rounds, judges_memory) = scale(60, 1500);
    for sockets in [SocketLoop::Auto, SocketLoop::Epoll] {
        let drive = drive("size=16M");
        let target = serve(&drive, TargetOptions { sockets, ..options() });
        let mut rig = Rig::new(address(target.address(), Digests::default()));
        let before = resident_bytes();
        let mut random = SplitMix64::new(17);
        for round in 0..rounds {
            let digests = Digests::of_bits(random.below(4) as u8);
            let mut bytes = opening(digests);
            let framing = Framing { digests, ..Framing::before_connection() };
            bytes.extend_from_slice(&host_pdus(&framing, &mut random));
            for _ in 0..random.below(3) {
                spoil(&mut bytes, &mut random);
            }
            let mut socket = TcpStream::connect(target.address()).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            // The target may have closed the connection in between.
            let _ = socket.write_all(&bytes);
            let _ = socket.shutdown(Shutdown::Write);
            let mut answer = Vec::new();
            let ended = socket.read_to_end(&mut answer);
            assert!(
                !matches!(&ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock),
                "round {round} hangs"
            );
            if round % 100 == 0 {
                assert_eq!(rig.write(0, 1), CommandOutcome::Done);
            }
        }
        assert_eq!(rig.controller.resets(), 0, "{:?}", rig.controller.recoveries());
        let grown = resident_bytes().saturating_sub(before);
        assert!(!judges_memory || grown < 300 << 20, "{grown} bytes");
    }
}

/// A target that answers the handshake, Connect and properties correctly, and then sends other
/// things.
fn enemy(listener: &TcpListener, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let Ok((mut socket, _)) = listener.accept() else { return };
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut bytes = vec![0; 65536];
    let _ = socket.read(&mut bytes);
    let mut answer = Vec::new();
    Framing::ic_resp(&mut answer, Digests::default(), 65536);
    let _ = socket.write_all(&answer);
    let framing = Framing::before_connection();
    for _ in 0..1 + random.below(12) {
        if !matches!(socket.read(&mut bytes), Ok(1..)) {
            break;
        }
        let cid = u16::from_le_bytes([bytes[10], bytes[11]]);
        let mut answer = Vec::new();
        match random.below(5) {
            0 => {
                let part =
                    DataPart { cid, tag: 0, offset: 0, bytes: 4096, is_last: true, is_success: random.below(2) == 0 };
                framing.data_header(&mut answer, Sender::Controller, &part);
                answer.resize(answer.len() + 4096, 0x11);
            }
            1 => {
                let part = DataPart { cid, tag: 1, offset: 0, bytes: u32::MAX, is_last: true, is_success: false };
                framing.ready_to_transfer(&mut answer, &part);
            }
            _ => {
                // The result 1 means RDY as well as controller 1.
                let entry = CompletionEntry::new(0, cid, Status::SUCCESS).with_result(1);
                framing.response(&mut answer, &entry);
            }
        }
        if random.below(3) == 0 {
            spoil(&mut answer, &mut random);
        }
        if socket.write_all(&answer).is_err() {
            break;
        }
    }
    let _ = socket.shutdown(Shutdown::Both);
}

#[test]
fn targets_that_send_almost_the_right_thing_are_an_error_in_time() {
    for seed in 0..scale(10, 150).0 as u64 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = address(listener.local_addr().unwrap(), Digests::default());
        (near.connect_ns, near.reconnect_ns) = (SECOND / 5, 0);
        let thread = std::thread::spawn(move || enemy(&listener, seed));
        let error = connect(near).map(drop).unwrap_err();
        assert!(!error.to_string().is_empty(), "seed {seed}");
        thread.join().unwrap();
    }
}
