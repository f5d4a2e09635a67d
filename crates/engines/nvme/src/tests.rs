//! The conformance suite on the virtual SSD, inside the process and served, and further tests of
//! lanes.

use std::path::Path;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_device_link::{ServeOptions, Service, serve};
use iolab_engine::{Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait};
use iolab_memory::Backing;
use iolab_options::Settings;
use iolab_virtual_ssd::{Config, Subsystem};

use crate::{Nvme, NvmeLane};

/// A drive inside the process that keeps its data in the suite's file, so that the suite can read
/// it without the lane.
fn embedded(file: &Path, bytes: u64) -> String {
    crate::allow_media([file]);
    format!("trtype=VIRT model=ideal media=file:{} size={bytes} lba=512", file.display())
}

iolab_engine::conformance_suite!(conformance, Nvme, ConformanceSetup::default().device(embedded));
iolab_engine::conformance_suite!(
    several_queue_pairs,
    Nvme,
    ConformanceSetup::default().device(embedded).option("queue_pairs", Value::Integer(3))
);
iolab_engine::conformance_suite!(
    scatter_gather_lists,
    Nvme,
    ConformanceSetup::default().device(embedded).flag("enable_sgl", true)
);
iolab_engine::conformance_suite!(
    interrupts,
    Nvme,
    ConformanceSetup::default().device(embedded).option("wait", Value::Choice("adaptive".into()))
);

fn drive(parameters: &str) -> Arc<Subsystem> {
    Subsystem::new(Config::parse(parameters).unwrap()).unwrap()
}

fn service(folder: &Path, parameters: &str) -> (Service, String) {
    let socket = folder.join("drive.sock");
    let options = ServeOptions { dispatchers: 2, workers: 1, ..ServeOptions::default() };
    let service = serve(&socket, "drive", &drive(parameters), &Clock::best().0, &options).unwrap();
    (service, format!("trtype=VIRT traddr={}", socket.display()))
}

/// A lane with slots of 64 KiB on these devices.
#[derive(Debug)]
struct Rig {
    lane: NvmeLane,
    pool: SlotPool,
}

impl Rig {
    fn open(names: &[&str], depth: usize) -> Result<Rig, String> {
        let pool = SlotPool::new(depth, 64 << 10, 0, &Backing::Memfd).map_err(|error| error.message)?;
        let files: Vec<TargetFile> = names
            .iter()
            .map(|name| TargetFile { path: name.into(), fd: -1, size_bytes: 0, is_block_device: true })
            .collect();
        let options = Settings::default();
        let request = LaneRequest {
            files: &files,
            depth,
            buffers: pool.view(),
            options: &options,
            direct: true,
            seed: 1,
            worker: 0,
        };
        Ok(Rig { lane: Nvme::open(&request).map_err(|error| error.message)?, pool })
    }

    /// The result of one operation.
    fn perform(&mut self, op: Op) -> i32 {
        match self.lane.submit(&op) {
            Submission::Accepted => {}
            Submission::Refused(errno) => return -errno,
            Submission::Full => panic!("no room for one operation"),
        }
        let mut out = Completions::with_room(1);
        let wait = Wait { at_least: 1, timeout_ns: 60_000_000_000 };
        assert_eq!(self.lane.flush_and_reap(wait, &mut out).unwrap(), 1);
        out.as_slice()[0].result
    }
}

fn op(kind: OpKind, file: u32, offset: u64, length: u32) -> Op {
    Op { offset, length, buffer_offset: 0, file, slot: 0, kind, priority: 0 }
}

#[test]
fn a_served_drive_is_shared_by_all_who_connect() {
    let folder = tempfile::tempdir().unwrap();
    let (service, name) = service(folder.path(), "size=16M");
    let (mut writer, mut reader) = (Rig::open(&[&name], 4).unwrap(), Rig::open(&[&name], 4).unwrap());
    writer.pool.slot_mut(0)[..8192].fill(0x5a);
    assert_eq!(writer.perform(op(OpKind::Write, 0, 4096, 8192)), 8192);
    assert_eq!(writer.perform(op(OpKind::Sync, 0, 0, 0)), 0);
    assert_eq!(reader.perform(op(OpKind::Read, 0, 4096, 8192)), 8192);
    assert!(reader.pool.slot_mut(0)[..8192].iter().all(|&byte| byte == 0x5a));
    assert_eq!(Nvme::device(&name, &Settings::default()).unwrap().size_bytes, 16 << 20);
    drop(writer);
    assert_eq!(reader.perform(op(OpKind::Read, 0, 0, 512)), 512, "the other driver is still there");
    drop(reader);
    drop(service);
    assert!(Rig::open(&[&name], 1).unwrap_err().contains("no device is served"));
}

#[test]
fn several_devices_have_one_thread() {
    let names = ["trtype=VIRT size=4M serial=A", "trtype=VIRT size=4M serial=B namespaces=2 ns=2"];
    let mut rig = Rig::open(&names, 2).unwrap();
    for (file, byte) in [(0, 1), (1, 2)] {
        rig.pool.slot_mut(0).fill(byte);
        assert_eq!(rig.perform(op(OpKind::Write, file, 0, 4096)), 4096);
    }
    for (file, byte) in [(0, 1), (1, 2)] {
        rig.pool.slot_mut(0).fill(0);
        assert_eq!(rig.perform(op(OpKind::Read, file, 0, 4096)), 4096);
        assert!(rig.pool.slot_mut(0)[..4096].iter().all(|&found| found == byte), "device {file}");
    }
    assert_eq!(rig.perform(op(OpKind::Read, 2, 0, 4096)), -libc::EBADF);
}

#[test]
fn transfers_that_are_too_long_for_a_command_are_cut_short() {
    let mut rig = Rig::open(&["trtype=VIRT size=4M mdts=8k"], 1).unwrap();
    assert_eq!(rig.perform(op(OpKind::Read, 0, 0, 64 << 10)), 8 << 10);
    assert_eq!(rig.perform(op(OpKind::Write, 0, 0, 4096)), 4096);
}

#[test]
fn what_the_device_refuses_is_the_kernels_errno() {
    let faulty = "trtype=VIRT size=4M fault=media-error:op=read,lba=8+8";
    let mut rig = Rig::open(&[faulty], 1).unwrap();
    assert_eq!(rig.perform(op(OpKind::Read, 0, 4096, 512)), -libc::ENODATA);
    assert_eq!(rig.perform(op(OpKind::Read, 0, 8192, 512)), 512, "beside the range");
    assert_eq!(rig.perform(op(OpKind::Read, 0, 4 << 20, 512)), -libc::EREMOTEIO, "beyond the end");
    assert_eq!(rig.perform(op(OpKind::Read, 0, 100, 512)), -libc::EINVAL, "no whole blocks");
}

#[test]
fn a_namespace_out_of_reach_is_told_apart_from_none() {
    let message = Rig::open(&["trtype=VIRT size=4M ana=persistent-loss"], 1).unwrap_err();
    assert!(message.contains("does not reach ns=1 (asymmetric namespace access: persistent loss)"), "{message}");
    assert!(Rig::open(&["trtype=VIRT size=4M ana=non-optimized"], 1).is_ok());
}

#[test]
fn what_a_device_reports_during_a_job_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let (drive, socket) = (drive("size=4M ana=optimized"), folder.path().join("drive.sock"));
    let service =
        serve(&socket, "drive", &drive, &Clock::best().0, &ServeOptions { dispatchers: 1, ..ServeOptions::default() })
            .unwrap();
    let mut rig = Rig::open(&[&format!("trtype=VIRT traddr={}", socket.display())], 1).unwrap();
    assert!(rig.lane.notes().is_empty(), "{:?}", rig.lane.notes());
    drive.set_access("non-optimized", None).unwrap();
    let mut notes = Vec::new();
    for _ in 0..10_000 {
        assert_eq!(rig.perform(op(OpKind::Read, 0, 0, 512)), 512);
        notes = rig.lane.notes().to_vec();
        if !notes.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(notes.len() == 1 && notes[0].contains("of ns=1 changed once during the job: non-optimized"), "{notes:?}");
    assert_eq!(rig.lane.notes(), notes.as_slice(), "it is kept");
    drop((rig, service));
}

#[test]
fn a_name_is_explained_before_a_run() {
    let facts = Nvme::device("trtype=VIRT size=1G lba=4k", &Settings::default()).unwrap();
    assert_eq!((facts.size_bytes, facts.block_bytes), (1 << 30, 4096));
    let cases = [
        ("disk", "not KEY=VALUE"),
        ("trtype=VIRT sise=1G", "did you mean `size`"),
        ("trtype=VIRT size=1G ns=2", "its namespaces are 1"),
        ("trtype=VIRT traddr=nobody-made-this", "iolab device serve nobody-made-this"),
        ("trtype=PCIe traddr=0000.ff.1f.7", "0000:ff:1f.7"),
    ];
    for (name, expected) in cases {
        let message = Nvme::device(name, &Settings::default()).unwrap_err().message;
        assert!(message.contains(expected), "{name}: {message}");
    }
}
