//! The conformance suite against iolab's own server, and lanes against servers that answer in any
//! order and form, break off, or say nothing.

mod puppet;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use iolab_clock::Clock;
use iolab_engine::{
    ClientLane, Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait,
};
use iolab_engine_posix::read_write::Psync;
use iolab_export::nbd::{NbdPlace, NbdServer, NbdServerOptions, SharedOpenLane};
use iolab_export::{LaneLimits, PoolShape, Size};
use iolab_memory::Backing;
use iolab_options::{Setting, Settings, Value};
use iolab_random::SplitMix64;

use crate::{Nbd, NbdClient};
use puppet::{Manner, Puppet, byte_at};

/// Servers that live as long as the process.
static SERVERS: Mutex<Vec<NbdServer>> = Mutex::new(Vec::new());

/// Serves a file; the server lives as long as the process.
fn serve_file(path: &Path, bytes: u64, place: &NbdPlace) -> NbdPlace {
    let file = Arc::new(File::options().read(true).write(true).open(path).unwrap());
    let path = path.to_owned();
    let open: SharedOpenLane<<Psync as Engine>::Lane> = Arc::new(move |shape: PoolShape| {
        let pool = SlotPool::new(shape.slots, shape.slot_bytes, 0, &Backing::Anonymous);
        let pool = pool.map_err(|error| error.message)?;
        let target = TargetFile { path: path.clone(), fd: file.as_raw_fd(), size_bytes: bytes, is_block_device: false };
        let request = LaneRequest {
            files: &[target],
            depth: shape.slots,
            buffers: pool.view(),
            options: &Settings::default(),
            direct: false,
            seed: 0,
            worker: 0,
        };
        Ok((Psync::open(&request).map_err(|error| error.message)?, pool))
    });
    let limits = LaneLimits { transfer_bytes: 0, trim_zeroes: true };
    let size = Size::new(bytes, 512).unwrap();
    let options = NbdServerOptions { name: "disk".to_owned(), size, limits, clock: Clock::monotonic(), tls: None };
    let server = NbdServer::start(place, open, &options).unwrap();
    let place = server.place().clone();
    // The names of devices outlive what made them.
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner).push(server);
    place
}

fn by_path(path: &Path, bytes: u64) -> String {
    let socket = path.with_extension("sock");
    serve_file(path, bytes, &NbdPlace::Unix(socket.clone()));
    format!("nbd+unix:///disk?socket={}", socket.display())
}

fn by_port(path: &Path, bytes: u64) -> String {
    match serve_file(path, bytes, &NbdPlace::Tcp("127.0.0.1:0".parse().unwrap())) {
        NbdPlace::Tcp(address) => format!("nbd://{address}/"),
        NbdPlace::Unix(path) => panic!("{}", path.display()),
    }
}

iolab_engine::conformance_suite!(conformance, Nbd, ConformanceSetup::default().device(by_path));
iolab_engine::conformance_suite!(by_tcp, Nbd, ConformanceSetup::default().device(by_port));
iolab_engine::conformance_suite!(
    several_connections,
    Nbd,
    ConformanceSetup::default().device(by_path).option("nbd_connections", Value::Integer(3))
);
iolab_engine::conformance_suite!(
    zeroes_and_fua,
    Nbd,
    ConformanceSetup::default()
        .device(by_path)
        .option("nbd_trim_zeroes", Value::Flag(true))
        .option("nbd_fua", Value::Flag(true))
);

const SLOT_BYTES: usize = 64 << 10;
const PATIENT: Wait = Wait { at_least: 1, timeout_ns: 60_000_000_000 };

fn options(set: &[(&str, Value)]) -> Settings {
    let mut options = Settings::default();
    for (name, value) in set {
        let text = format!("{value:?}");
        options.set(name, Setting { value: value.clone(), text, source: 0, span: (0, 0) });
    }
    options
}

struct Rig {
    lane: ClientLane<NbdClient>,
    pool: SlotPool,
}

impl Rig {
    fn open(names: &[&str], depth: usize, options: &Settings) -> Result<Rig, String> {
        let pool = SlotPool::new(depth, SLOT_BYTES, 0, &Backing::Memfd).map_err(|error| error.message)?;
        let target = |name: &&str| TargetFile { path: name.into(), fd: -1, size_bytes: 0, is_block_device: true };
        let files: Vec<TargetFile> = names.iter().map(target).collect();
        let request =
            LaneRequest { files: &files, depth, buffers: pool.view(), options, direct: true, seed: 1, worker: 0 };
        Ok(Rig { lane: Nbd::open(&request).map_err(|error| error.message)?, pool })
    }

    /// Performs operations together; their results by slot.
    fn perform(&mut self, ops: &[Op]) -> Vec<i32> {
        let mut results = vec![i32::MIN; ops.len()];
        let mut out = Completions::with_room(ops.len());
        let mut left = 0;
        for op in ops {
            match self.lane.submit(op) {
                Submission::Accepted => left += 1,
                Submission::Refused(errno) => results[usize::from(op.slot)] = -errno,
                Submission::Full => panic!("no room for {op:?}"),
            }
        }
        while left > 0 {
            out.clear();
            let found = self.lane.flush_and_reap(PATIENT, &mut out).unwrap();
            assert!(found > 0, "{left} operations never ended");
            for done in out.as_slice() {
                assert_eq!(results[done.slot as usize], i32::MIN, "slot {} ended twice", done.slot);
                results[done.slot as usize] = done.result;
            }
            left -= found;
        }
        results
    }

    fn one(&mut self, kind: OpKind, offset: u64, length: u32) -> i32 {
        self.perform(&[op(kind, 0, offset, length)])[0]
    }
}

fn op(kind: OpKind, slot: u16, offset: u64, length: u32) -> Op {
    Op { offset, length, buffer_offset: 0, file: 0, slot, kind, priority: 0 }
}

#[test]
fn answers_in_any_order_form_and_cut_bring_the_right_bytes() {
    std::thread::scope(|scope| {
        for first in 0..2 {
            scope.spawn(move || (first..12).step_by(2).for_each(answers_bring_the_right_bytes));
        }
    });
}

fn answers_bring_the_right_bytes(seed: u64) {
    let manner = Manner {
        structured: !seed.is_multiple_of(3),
        ordered: seed.is_multiple_of(4),
        cuts: seed.is_multiple_of(2),
        ..Manner::default()
    };
    let puppet = Puppet::start(seed, manner);
    let mut rig = Rig::open(&[&puppet.uri()], 16, &Settings::default()).unwrap();
    let mut random = SplitMix64::new(seed);
    for round in 0..20 {
        let count = 1 + random.below(16) as u16;
        let ops: Vec<Op> = (0..count)
            .map(|slot| {
                let length = if random.below(3) == 0 { 512 } else { 1 + random.below(SLOT_BYTES as u64) as u32 };
                let kind = match random.below(8) {
                    0 => OpKind::Write,
                    1 => OpKind::Trim,
                    2 => OpKind::Sync,
                    _ => OpKind::Read,
                };
                op(kind, slot, random.below(1 << 30), length)
            })
            .collect();
        for op in &ops {
            let slot = rig.pool.slot_mut(usize::from(op.slot));
            match op.kind {
                OpKind::Write => (0..op.length).for_each(|at| slot[at as usize] = byte_at(op.offset + u64::from(at))),
                _ => slot.fill(0xee),
            }
        }
        let results = rig.perform(&ops);
        for (op, result) in ops.iter().zip(results) {
            let moved = if op.kind.moves_data() { op.length as i32 } else { 0 };
            assert_eq!(result, moved, "seed {seed} round {round} {op:?}");
            if op.kind == OpKind::Read {
                let slot = rig.pool.slot_mut(usize::from(op.slot));
                let wrong = (0..op.length).find(|at| slot[*at as usize] != byte_at(op.offset + u64::from(*at)));
                assert_eq!(wrong, None, "seed {seed} round {round} {op:?}");
                assert!(slot[op.length as usize..].iter().all(|byte| *byte == 0xee), "bytes behind {op:?}");
            }
        }
    }
    drop(rig);
    puppet.end();
}

#[test]
fn errors_are_errnos_and_others_go_on() {
    for structured in [true, false] {
        let manner = Manner { structured, fails_at: Some(4096), ..Manner::default() };
        let puppet = Puppet::start(5, manner);
        let mut rig = Rig::open(&[&puppet.uri()], 8, &Settings::default()).unwrap();
        let ops: Vec<Op> = (0..8).map(|slot| op(OpKind::Read, slot, u64::from(slot) * 4096, 4096)).collect();
        let results = rig.perform(&ops);
        let expected: Vec<i32> = (0..8).map(|slot| if slot == 1 { -libc::ENOSPC } else { 4096 }).collect();
        assert_eq!(results, expected);
        assert_eq!(rig.one(OpKind::Write, 4096, 512), -libc::ENOSPC);
        assert_eq!(rig.one(OpKind::Read, 0, 512), 512);
        assert_eq!(rig.lane.notes(), [""; 0]);
    }
}

#[test]
fn a_server_that_is_gone_silent_or_mad_ends_its_operations_and_takes_no_more() {
    let silent = Manner { silent: true, ..Manner::default() };
    let gone = Manner { goes_after: Some(2), ..Manner::default() };
    let mad = Manner { mad: true, ..Manner::default() };
    for (manner, errno, said) in [
        (silent, libc::ETIMEDOUT, "silent for 60 ms"),
        (gone, libc::ECONNRESET, "the connection is gone"),
        (mad, libc::EPROTO, "breaks the protocol"),
    ] {
        let puppet = Puppet::start(1, manner);
        let options = options(&[("nbd_timeout", Value::Time(60_000_000))]);
        let mut rig = Rig::open(&[&puppet.uri()], 4, &options).unwrap();
        let ops: Vec<Op> = (0..4).map(|slot| op(OpKind::Read, slot, 0, 4096)).collect();
        let results = rig.perform(&ops);
        assert!(results.iter().all(|result| [4096, -errno].contains(result)), "{said}: {results:?}");
        assert!(results.contains(&-errno), "{said}: {results:?}");
        assert_eq!(rig.one(OpKind::Read, 0, 512), -errno, "it is refused from now on");
        let notes = rig.lane.notes();
        assert!(notes.len() == 1 && notes[0].contains(said) && notes[0].contains("nbd://"), "{notes:?}");
        assert_eq!(rig.lane.reap(Wait::POLL, &mut Completions::with_room(1)), Ok(0));
    }
}

#[test]
fn polling_alone_notices_a_silent_server() {
    let puppet = Puppet::start(1, Manner { silent: true, ..Manner::default() });
    let options = options(&[("nbd_timeout", Value::Time(20_000_000))]);
    let mut rig = Rig::open(&[&puppet.uri()], 1, &options).unwrap();
    assert_eq!(rig.lane.submit(&op(OpKind::Read, 0, 0, 512)), Submission::Accepted);
    let mut out = Completions::with_room(1);
    while rig.lane.flush_and_reap(Wait::POLL, &mut out).unwrap() == 0 {
        std::thread::yield_now();
    }
    assert_eq!(out.as_slice()[0].result, -libc::ETIMEDOUT);
}

#[test]
fn what_an_export_cannot_do_is_refused_before_it_is_sent() {
    let manner = Manner { flags: iolab_nbd::NbdFlags::HAS_FLAGS, minimum: 512, ..Manner::default() };
    let puppet = Puppet::start(1, manner);
    let mut rig = Rig::open(&[&puppet.uri()], 1, &Settings::default()).unwrap();
    assert_eq!(rig.one(OpKind::Trim, 0, 4096), -libc::EOPNOTSUPP);
    assert_eq!(rig.one(OpKind::Sync, 0, 0), -libc::EOPNOTSUPP);
    assert_eq!(rig.one(OpKind::Read, 100, 512), -libc::EINVAL, "no whole blocks");
    assert_eq!(rig.one(OpKind::Read, 512, 512), 512);
    let outside = Op { buffer_offset: SLOT_BYTES as u32, ..op(OpKind::Read, 0, 0, 512) };
    assert_eq!(rig.perform(&[outside]), [-libc::EFAULT]);
    drop(rig);
    let refused = |set: &[(&str, Value)]| Rig::open(&[&puppet.uri()], 1, &options(set)).err().unwrap_or_default();
    assert!(refused(&[("nbd_connections", Value::Integer(2))]).contains("nbd_connections=1"));
    assert!(refused(&[("nbd_fua", Value::Flag(true))]).contains("does not offer FUA"));
    let uri = puppet.uri();
    let many = vec![uri.as_str(); 33];
    assert!(Rig::open(&many, 1, &Settings::default()).err().unwrap_or_default().contains("at most 32 connections"));
    let read_only = iolab_nbd::NbdFlags::HAS_FLAGS | iolab_nbd::NbdFlags::READ_ONLY;
    let puppet = Puppet::start(1, Manner { flags: read_only, ..Manner::default() });
    let mut rig = Rig::open(&[&puppet.uri()], 1, &Settings::default()).unwrap();
    assert_eq!(rig.one(OpKind::Write, 0, 512), -libc::EROFS);
}

#[test]
fn long_transfers_are_cut_to_what_the_server_takes() {
    let puppet = Puppet::start(1, Manner { maximum: 8192, ..Manner::default() });
    let mut rig = Rig::open(&[&puppet.uri()], 1, &Settings::default()).unwrap();
    assert_eq!(rig.one(OpKind::Read, 0, 64 << 10), 8192);
}

#[test]
fn a_name_is_explained_before_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let mut disk = vec![0; 1 << 20];
    disk[..4].copy_from_slice(b"XFSB");
    std::fs::write(&path, &disk).unwrap();
    let uri = by_path(&path, 1 << 20);
    let none = Settings::default();
    let facts = Nbd::device(&uri, &none).unwrap();
    assert_eq!((facts.size_bytes, facts.block_bytes), (1 << 20, 1));
    let said = Nbd::overwrite_refusal(Path::new(&uri), &none, "w", &[]).unwrap();
    assert!(said.contains("holds an XFS file system") && said.contains("--allow-destroy"), "{said}");
    assert_eq!(Nbd::overwrite_refusal(Path::new(&uri), &none, "w", &[uri.clone().into()]), None);
    std::fs::write(&path, vec![0; 1 << 20]).unwrap();
    assert_eq!(Nbd::overwrite_refusal(Path::new(&uri), &none, "w", &[]), None, "nothing is on it");
    let other = uri.replace("///disk", "///other");
    let nowhere = format!("nbd+unix:///?socket={}", folder.path().join("none").display());
    for (name, expected) in [
        (other.as_str(), "no export `other`; it has `disk`"),
        (nowhere.as_str(), "cannot connect"),
        ("/dev/sda", "write nbd://HOST:PORT/NAME"),
    ] {
        let said = Nbd::device(name, &none).unwrap_err().message;
        assert!(said.contains(expected), "{name}: {said}");
    }
}

/// Content is examined through every form in which a server may answer.
#[test]
fn what_is_on_an_export_is_read_in_any_form() {
    for seed in 0..6 {
        let puppet = Puppet::start(seed, Manner { structured: seed % 2 == 0, ..Manner::default() });
        let said = Nbd::overwrite_refusal(Path::new(&puppet.uri()), &Settings::default(), "w", &[]);
        assert_eq!(said, None, "the puppet's bytes are no file system");
        puppet.end();
    }
    let puppet = Puppet::start(0, Manner { fails_at: Some(0), ..Manner::default() });
    let said = Nbd::overwrite_refusal(Path::new(&puppet.uri()), &Settings::default(), "w", &[]).unwrap();
    assert!(said.contains("cannot examine it: No space left"), "{said}");
}
