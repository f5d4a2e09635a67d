//! Pairs of lanes, and the contract of a lane with a thread at the other end.

use std::io::{Read, Write};
use std::net::TcpListener;

use iolab_engine::conformance::{ConformanceSetup, Value};
use iolab_engine::{
    Completion, Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait,
};
use iolab_memory::Backing;
use iolab_options::{Setting, Settings};

use super::*;

/// A server that takes whatever connects, and drinks all or pours without end.
fn peer(pours: bool) -> ConformanceSetup {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                // It ends when the lane has gone.
                while if pours {
                    stream.write_all(&bytes).is_ok()
                } else {
                    stream.read(&mut bytes).is_ok_and(|count| count > 0)
                } {}
            });
        }
    });
    let setup = ConformanceSetup::default().option("hostname", Value::Text("127.0.0.1".to_owned()));
    setup.option("port", Value::Integer(i64::from(port))).probe(if pours { OpKind::Read } else { OpKind::Write })
}

iolab_engine::conformance_suite!(writes, Net, super::peer(false));
iolab_engine::conformance_suite!(reads, Net, super::peer(true));

fn settings(options: &[(&str, Value)]) -> Settings {
    let mut settings = Settings::default();
    for (name, value) in options {
        settings.set(name, Setting { value: value.clone(), text: String::new(), source: 0, span: (0, 0) });
    }
    settings
}

/// One end: a lane with four slots.
struct End {
    lane: NetLane,
    pool: SlotPool,
    kind: OpKind,
}

const BLOCK: usize = 16 << 10;
const DEPTH: usize = 4;

impl End {
    fn try_open(kind: OpKind, path: &str, options: &[(&str, Value)]) -> Result<End, OpenError> {
        let pool = SlotPool::new(DEPTH, BLOCK, 0, &Backing::Anonymous).unwrap();
        let target = TargetFile { path: path.into(), fd: -1, size_bytes: 0, is_block_device: false };
        let options = settings(options);
        let request = LaneRequest {
            files: &[target],
            depth: DEPTH,
            buffers: pool.view(),
            options: &options,
            direct: false,
            seed: 0,
            worker: 0,
        };
        Ok(End { lane: Net::open(&request)?, pool, kind })
    }

    fn open(kind: OpKind, path: &str, options: &[(&str, Value)]) -> End {
        End::try_open(kind, path, options).unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// Moves blocks, a whole queue at a time, and says how each ended and what its slot held.
    fn run(&mut self, blocks: u8) -> Vec<(i32, u8)> {
        let mut ended = Vec::new();
        let mut next = 0;
        while ended.len() < usize::from(blocks) {
            for slot in 0..DEPTH.min(usize::from(blocks - next)) {
                if self.kind == OpKind::Write {
                    self.pool.slot_mut(slot).fill(next + 1);
                }
                let op = Op {
                    offset: 0,
                    length: BLOCK as u32,
                    buffer_offset: 0,
                    file: 0,
                    slot: slot as u16,
                    kind: self.kind,
                    priority: 0,
                };
                assert_eq!(self.lane.submit(&op), Submission::Accepted);
                next += 1;
            }
            let count = usize::from(next) - ended.len();
            let mut out = Completions::with_room(count);
            let wait = Wait { at_least: count, timeout_ns: 60_000_000_000 };
            assert_eq!(self.lane.flush_and_reap(wait, &mut out), Ok(count));
            for Completion { slot, result } in out.as_slice() {
                ended.push((*result, self.pool.slot_mut(*slot as usize)[BLOCK - 1]));
            }
        }
        ended
    }
}

/// A port that nobody uses now.
fn free_port() -> Value {
    Value::Integer(i64::from(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()))
}

/// Sends ten blocks from one end to the other; they arrive in order, and then the reader is told
/// that no more come.
fn send_and_receive(path: &str, reader: Vec<(&'static str, Value)>, writer: Vec<(&'static str, Value)>) {
    let reading_path = path.to_owned();
    let reading = std::thread::spawn(move || {
        let mut end = End::open(OpKind::Read, &reading_path, &reader);
        (end.run(10), end.run(1))
    });
    let mut writing = End::open(OpKind::Write, path, &writer);
    let sent = writing.run(10);
    drop(writing);
    let (received, after) = reading.join().unwrap();
    let expected: Vec<(i32, u8)> = (1..=10).map(|byte| (BLOCK as i32, byte)).collect();
    assert_eq!(sent, expected);
    assert_eq!(received, expected);
    assert_eq!(after[0].0, 0, "the end");
}

fn word(text: &str) -> Value {
    Value::Choice(text.to_owned())
}

#[test]
fn tcp_carries_blocks_in_order_whoever_listens() {
    for (protocol, host) in [("tcp", "127.0.0.1"), ("tcpv6", "::1")] {
        if TcpListener::bind((host, 0)).is_err() {
            // There is no IPv6 here.
            continue;
        }
        for reader_listens in [true, false] {
            let port = free_port();
            let listening = vec![("protocol", word(protocol)), ("port", port.clone()), ("listen", Value::Flag(true))];
            let hostname = Value::Text(host.to_owned());
            let more = [
                ("nodelay", Value::Flag(true)),
                ("window_size", Value::Integer(65_536)),
                ("mss", Value::Integer(1400)),
            ];
            let mut connecting = vec![("protocol", word(protocol)), ("port", port), ("hostname", hostname)];
            connecting.extend(more);
            match reader_listens {
                true => send_and_receive("", listening, connecting),
                false => send_and_receive("", connecting, listening),
            }
        }
    }
}

#[test]
fn unix_sockets_are_named_by_the_file_and_no_other_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let name = path.to_str().unwrap();
    for _ in 0..2 {
        let listening = vec![("protocol", word("unix")), ("listen", Value::Flag(true))];
        send_and_receive(name, listening, vec![("protocol", word("unix"))]);
        assert!(!path.exists());
    }
    std::fs::write(&path, "data").unwrap();
    let refused = End::try_open(OpKind::Read, name, &[("protocol", word("unix")), ("listen", Value::Flag(true))]);
    assert!(refused.err().unwrap().message.contains("no socket"));
    assert_eq!(std::fs::read(&path).unwrap(), b"data");
}

#[test]
fn udp_ends_when_the_writer_does() {
    let port = free_port();
    let reader = vec![("protocol", word("udp")), ("port", port.clone())];
    let writer = vec![("protocol", word("udp")), ("port", port), ("hostname", Value::Text("127.0.0.1".to_owned()))];
    let mut reading = End::open(OpKind::Read, "", &reader);
    let mut writing = End::open(OpKind::Write, "", &writer);
    // Loopback loses nothing while the receiver's buffer has room.
    assert_eq!(writing.run(3), [1, 2, 3].map(|byte| (BLOCK as i32, byte)));
    assert_eq!(reading.run(3), [1, 2, 3].map(|byte| (BLOCK as i32, byte)));
    drop(writing);
    assert_eq!(reading.run(1)[0].0, 0);
}

#[test]
fn a_pingpong_comes_back() {
    for protocol in ["tcp", "udp"] {
        let port = free_port();
        let pingpong = ("pingpong", Value::Flag(true));
        let mut reader = vec![("protocol", word(protocol)), ("port", port.clone()), pingpong.clone()];
        if protocol == "tcp" {
            reader.push(("listen", Value::Flag(true)));
        }
        let hostname = ("hostname", Value::Text("127.0.0.1".to_owned()));
        let writer = [("protocol", word(protocol)), ("port", port), hostname, pingpong];
        let (ready, is_ready) = std::sync::mpsc::channel();
        let reading = std::thread::spawn(move || {
            let is_udp = reader[0].1 == word("udp");
            if !is_udp {
                ready.send(()).unwrap();
            }
            let mut end = End::open(OpKind::Read, "", &reader);
            if is_udp {
                ready.send(()).unwrap();
            }
            end.run(DEPTH as u8)
        });
        is_ready.recv().unwrap();
        let mut writing = End::open(OpKind::Write, "", &writer);
        let expected: Vec<(i32, u8)> = (1..=DEPTH as u8).map(|byte| (BLOCK as i32, byte)).collect();
        assert_eq!(writing.run(DEPTH as u8), expected, "{protocol}");
        assert_eq!(reading.join().unwrap(), expected, "{protocol}");
    }
}

#[test]
fn what_does_not_fit_together_is_told() {
    let flag = |name| (name, Value::Flag(true));
    let port = || ("port", Value::Integer(9));
    let host = || ("hostname", Value::Text("127.0.0.1".to_owned()));
    for (options, said) in [
        (vec![], "needs port"),
        (vec![port()], "needs hostname=HOST to connect to, or listen=1"),
        (vec![port(), host(), flag("listen")], "exclude each other"),
        (vec![port(), flag("listen"), ("protocol", word("udp"))], "listen is for tcp and unix"),
        (vec![port(), ("hostname", Value::Text("::1".to_owned()))], "no address of IP version 4"),
    ] {
        let message = End::try_open(OpKind::Read, "", &options).err().map(|error| error.message).unwrap_or_default();
        assert!(message.contains(said), "{options:?}: {message}");
    }
}
