//! The conformance suite on every kind of bottom device, and further tests of stacks.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolab_engine::conformance::{ConformanceSetup, Value};
use iolab_engine::{Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait};
use iolab_engine_libaio::Libaio;
use iolab_engine_nvme::Nvme;
use iolab_engine_uring::Uring;
use iolab_memory::Backing;
use iolab_options::{Setting, Settings};

type Bdevs = crate::SpdkBdev<Nvme, Libaio, Uring>;

thread_local! {
    /// The configuration of the running test, and its calls; `FILE` and `BYTES` are the suite's.
    static CONFIGURATION: RefCell<(PathBuf, &'static str)> = const { RefCell::new((PathBuf::new(), "")) };
}

/// The suite on a device `D` that these calls create.
fn setup(calls: &'static str) -> ConformanceSetup {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let path = folder.path().join("bdev.json");
    let mut setup = ConformanceSetup::default()
        .device(|file, bytes| {
            CONFIGURATION.with_borrow(|(path, calls)| {
                iolab_engine_nvme::allow_media([file]);
                let calls = calls.replace("FILE", &file.display().to_string()).replace("BYTES", &bytes.to_string());
                std::fs::write(path, calls).unwrap();
            });
            "D".to_owned()
        })
        .option("spdk_conf", Value::Text(path.display().to_string()));
    CONFIGURATION.set((path, calls));
    setup.keeps = Some(folder);
    setup
}

const AIO: &str = r#"[{"method": "bdev_aio_create", "params": {"name": "D", "filename": "FILE", "block_size": 512}}]"#;
const URING: &str =
    r#"[{"method": "bdev_uring_create", "params": {"name": "D", "filename": "FILE", "block_size": 512}}]"#;
/// Every operation of the suite takes two steps on the same device, and is delayed by a
/// microsecond.
const STACK: &str = r#"[
    {"method": "bdev_raid_create", "params": {"name": "R", "raid_level": "0", "strip_size_kb": 2, "base_bdevs": ["EE_B"]}},
    {"method": "bdev_error_create", "params": {"base_name": "B"}},
    {"method": "bdev_uring_create", "params": {"name": "B", "filename": "FILE", "block_size": 512}},
    {"method": "bdev_delay_create", "params": {"name": "D", "base_bdev_name": "Rp0", "avg_read_latency": 1,
        "p99_read_latency": 1, "avg_write_latency": 1, "p99_write_latency": 1}},
    {"method": "bdev_split_create", "params": {"base_bdev": "R", "split_count": 1}}]"#;

iolab_engine::conformance_suite!(native_aio, Bdevs, setup(AIO));
iolab_engine::conformance_suite!(io_uring, Bdevs, setup(URING));
iolab_engine::conformance_suite!(stacked, Bdevs, setup(STACK));

/// A lane on devices of a configuration.
struct Rig {
    lane: <Bdevs as Engine>::Lane,
    pool: SlotPool,
    _folder: tempfile::TempDir,
}

fn options(path: &Path) -> Settings {
    let mut options = Settings::default();
    let text = path.display().to_string();
    options.set("spdk_conf", Setting { value: Value::Text(text.clone()), text, source: 0, span: (0, 0) });
    options
}

impl Rig {
    fn open(calls: &str, names: &[&str], depth: usize) -> Result<Rig, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bdev.json");
        std::fs::write(&path, calls).unwrap();
        let pool = SlotPool::new(depth, 64 << 10, 0, &Backing::Memfd).map_err(|error| error.message)?;
        let file = |name: &&str| TargetFile { path: name.into(), fd: -1, size_bytes: 0, is_block_device: true };
        let (files, options) = (names.iter().map(file).collect::<Vec<_>>(), options(&path));
        let request = LaneRequest {
            files: &files,
            depth,
            buffers: pool.view(),
            options: &options,
            direct: true,
            seed: 1,
            worker: 0,
        };
        let lane = Bdevs::open(&request).map_err(|error| error.message)?;
        Ok(Rig { lane, pool, _folder: folder })
    }

    /// The result of one operation of slot 0.
    fn perform(&mut self, kind: OpKind, file: u32, offset: u64, length: u32) -> i32 {
        let op = Op { offset, length, buffer_offset: 0, file, slot: 0, kind, priority: 0 };
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

fn malloc(name: &str, blocks: u64) -> String {
    format!(
        r#"{{"method": "bdev_malloc_create", "params": {{"name": "{name}", "num_blocks": {blocks}, "block_size": 512}}}}"#
    )
}

fn raid(bases: &str) -> String {
    format!(
        r#"{{"method": "bdev_raid_create", "params": {{"name": "R", "raid_level": "raid0", "strip_size_kb": 4, "base_bdevs": [{bases}]}}}}"#
    )
}

/// A controller whose namespace is a virtual SSD inside the process.
const VIRTUAL: &str = r#"{"method": "bdev_nvme_attach_controller", "params": {"name": "Nvme0", "trtype": "VIRT", "traddr": "nobody-made-this"}}"#;

#[test]
fn a_raid_reads_back_what_went_over_several_strips_and_bases() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    for path in [&one, &two] {
        std::fs::File::create(path).unwrap().set_len(1 << 20).unwrap();
    }
    let calls = format!(
        r#"[{}, {},
        {{"method": "bdev_aio_create", "params": {{"name": "A", "filename": "{}", "block_size": 512}}}},
        {{"method": "bdev_uring_create", "params": {{"name": "U", "filename": "{}", "block_size": 512}}}}]"#,
        malloc("M", 2048),
        raid(r#""A", "M", "U""#),
        one.display(),
        two.display()
    );
    let mut rig = Rig::open(&calls, &["R"], 4).unwrap();
    // Neither its beginning nor its end is aligned to a strip; it uses each base several times.
    let (offset, length) = (3 * 4096 + 512, 40 << 10);
    let bytes: Vec<u8> = (0..length).map(|at| (at / 512) as u8 + 1).collect();
    rig.pool.slot_mut(0)[..length].copy_from_slice(&bytes);
    assert_eq!(rig.perform(OpKind::Write, 0, offset, length as u32), length as i32);
    assert_eq!(rig.perform(OpKind::Sync, 0, 0, 0), 0);
    rig.pool.slot_mut(0).fill(0);
    assert_eq!(rig.perform(OpKind::Read, 0, offset, length as u32), length as i32);
    assert!(rig.pool.slot_mut(0)[..length] == bytes);
    // Strip 3 is the second of the first base: its second block has the first written byte.
    let on_disk = std::fs::read(&one).unwrap();
    assert_eq!((on_disk[4096], on_disk[4096 + 512]), (0, 1));
    assert_eq!(rig.perform(OpKind::Trim, 0, offset, length as u32), 0);
    assert_eq!(rig.perform(OpKind::Read, 0, offset, length as u32), length as i32);
    assert!(rig.pool.slot_mut(0)[..length].iter().all(|&byte| byte == 0));
}

#[test]
fn lanes_share_memory_and_the_counts_of_errors() {
    let calls = format!(
        r#"[{}, {{"method": "bdev_error_create", "params": {{"base_name": "M"}}}},
        {{"method": "bdev_error_inject_error", "params": {{"name": "EE_M", "io_type": "read", "error_type": "failure", "num": 2}}}},
        {{"method": "bdev_error_inject_error", "params": {{"name": "EE_M", "io_type": "write", "error_type": "corrupt_data",
            "corrupt_offset": 3, "corrupt_value": 99}}}}]"#,
        malloc("M", 64)
    );
    let mut rig = Rig::open(&calls, &["EE_M"], 2).unwrap();
    rig.pool.slot_mut(0).fill(7);
    assert_eq!(rig.perform(OpKind::Write, 0, 512, 512), 512);
    assert_eq!(rig.perform(OpKind::Read, 0, 512, 512), -libc::EIO);
    assert_eq!(rig.perform(OpKind::Read, 0, 512, 512), -libc::EIO);
    rig.pool.slot_mut(0).fill(0);
    assert_eq!(rig.perform(OpKind::Read, 0, 512, 512), 512);
    assert_eq!(rig.pool.slot_mut(0)[..6], [7, 7, 7, 99, 7, 7]);
}

#[test]
fn parts_of_a_device_lie_one_behind_the_other() {
    let calls = format!(
        r#"[{}, {{"method": "bdev_split_create", "params": {{"base_bdev": "M", "split_count": 2}}}}]"#,
        malloc("M", 64)
    );
    let mut rig = Rig::open(&calls, &["Mp0", "Mp1"], 1).unwrap();
    rig.pool.slot_mut(0).fill(5);
    assert_eq!(rig.perform(OpKind::Write, 1, 0, 512), 512);
    assert_eq!(rig.perform(OpKind::Read, 0, 0, 512), 512);
    assert_eq!(rig.pool.slot_mut(0)[0], 0, "the first part is another");
    assert_eq!(rig.perform(OpKind::Read, 0, 16 << 10, 512), -libc::EINVAL, "beyond its end");
    assert_eq!(rig.perform(OpKind::Read, 0, 100, 512), -libc::EINVAL, "no whole blocks");
    assert_eq!(rig.perform(OpKind::Read, 2, 0, 512), -libc::EBADF);
}

#[test]
fn a_device_is_explained_before_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bdev.json");
    let calls = format!(
        r#"[{}, {VIRTUAL}, {},
        {{"method": "bdev_aio_create", "params": {{"name": "A", "filename": "/nowhere/at/all", "block_size": 512}}}},
        {{"method": "bdev_split_create", "params": {{"base_bdev": "X", "split_count": 2}}}},
        {{"method": "bdev_error_create", "params": {{"base_name": "EE_EE_Q"}}}}]"#,
        malloc("M", 100),
        raid(r#""M""#)
    );
    std::fs::write(&path, calls).unwrap();
    let facts = Bdevs::device("R", &options(&path)).unwrap();
    assert_eq!((facts.size_bytes, facts.block_bytes), (12 * 4096, 512), "whole strips");
    let cases = [
        ("M", "M belongs to R, which alone may use it"),
        ("Z", "there is no device Z; there are: M, Nvme0n1, R, A, Xp0, Xp1"),
        ("Nvme0", "there is no device Nvme0"),
        ("Nvme0n1", "bdev.json:1: trtype=VIRT traddr=nobody-made-this ns=1: no device is served"),
        ("A", "bdev.json:2: /nowhere/at/all: there is no such file"),
        ("Xp0", "bdev.json:3: there is no device X"),
    ];
    for (name, expected) in cases {
        let message = Bdevs::device(name, &options(&path)).unwrap_err().message;
        assert!(message.contains(expected), "{name}: {message}");
    }
    let none = Bdevs::device("M", &Settings::default()).unwrap_err().message;
    assert!(none.contains("needs spdk_conf="), "{none}");
}

#[test]
fn a_device_that_is_its_own_base_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bdev.json");
    let delay = |name: &str, base: &str| {
        format!(
            r#"{{"method": "bdev_delay_create", "params": {{"name": "{name}", "base_bdev_name": "{base}", "avg_read_latency": 1,
            "p99_read_latency": 1, "avg_write_latency": 1, "p99_write_latency": 1}}}}"#
        )
    };
    std::fs::write(&path, format!("[{}, {}, {}]", delay("A", "B"), delay("B", "A"), delay("C", "D"))).unwrap();
    let message = Bdevs::device("C", &options(&path)).unwrap_err().message;
    assert!(message.contains("there is no device D"), "{message}");
    let mut looped = format!("[{}", delay("T", "A0"));
    (0..40)
        .for_each(|number| looped.push_str(&format!(",{}", delay(&format!("A{number}"), &format!("A{}", number + 1)))));
    std::fs::write(&path, looped + "]").unwrap();
    let message = Bdevs::device("T", &options(&path)).unwrap_err().message;
    assert!(message.contains("is its own base"), "{message}");
}

#[test]
fn files_that_hold_something_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (path, data) = (folder.path().join("bdev.json"), folder.path().join("data"));
    let calls = format!(
        r#"[{{"method": "bdev_uring_create", "params": {{"name": "U", "filename": "{}", "block_size": 512}}}}]"#,
        data.display()
    );
    std::fs::write(&path, calls).unwrap();
    std::fs::write(&data, "years of work".repeat(1000)).unwrap();
    let refusal = |allowed: &[PathBuf]| Bdevs::overwrite_refusal(Path::new("U"), &options(&path), "w", allowed);
    let said = refusal(&[]).unwrap();
    assert!(said.contains("job w would overwrite it") && said.contains("--allow-destroy"), "{said}");
    assert_eq!(refusal(std::slice::from_ref(&data)), None);
    std::fs::File::create(&data).unwrap().set_len(1 << 20).unwrap();
    assert_eq!(refusal(&[]), None, "nothing but a hole");
}
