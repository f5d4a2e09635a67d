//! Captured commands of this crate: all their known operations are in the trace.

use std::collections::BTreeMap;
use std::path::PathBuf;

use iolab_capture::{CaptureError, CaptureRequest, Captured, capture};
use iolab_trace::{Call, Operation, Reader, Role};

struct Found {
    captured: Captured,
    operations: Vec<Operation>,
    files: Vec<iolab_trace::File>,
    threads: Vec<iolab_trace::Thread>,
}

fn captured(words: &[&str]) -> Result<Found, CaptureError> {
    let command: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut bytes = Vec::new();
    let captured = capture(CaptureRequest { command: &command, output: Box::new(&mut bytes), anonymous: false })?;
    let mut reader = Reader::new(bytes.as_slice()).unwrap();
    let mut operations = Vec::new();
    while let Some(operation) = reader.next_operation().unwrap() {
        operations.push(operation);
    }
    assert_eq!((reader.damage(), reader.end()), (None, Some(&captured.end)));
    assert_eq!((captured.end.operations, captured.bytes), (operations.len() as u64, bytes.len() as u64));
    let (files, threads) = (reader.files().to_vec(), reader.threads().to_vec());
    Ok(Found { captured, operations, files, threads })
}

impl Found {
    /// Operations and bytes by call, on files of this name.
    fn on(&self, name: &str) -> BTreeMap<Call, (u64, u64)> {
        let mut counts = BTreeMap::new();
        for operation in &self.operations {
            let file = self.files.get(operation.file as usize);
            if file.is_some_and(|file| file.path.ends_with(name)) {
                let count: &mut (u64, u64) = counts.entry(operation.call).or_default();
                *count = (count.0 + 1, count.1 + operation.bytes());
            }
        }
        counts
    }
}

/// An example of this crate.
fn example(name: &str) -> String {
    let here = std::env::current_exe().unwrap();
    let folder: PathBuf = here.parent().and_then(|deps| deps.parent()).unwrap().join("examples");
    folder.join(name).to_string_lossy().into_owned()
}

#[test]
fn every_operation_of_every_call_is_seen() {
    const COUNT: u64 = 80;
    const BLOCK: u64 = 4096;
    let folder = tempfile::tempdir().unwrap();
    let found = captured(&[&example("every_call"), folder.path().to_str().unwrap(), &COUNT.to_string()]).unwrap();
    let has_ring = found.captured.status == Some(0);
    assert!(has_ring || found.captured.status == Some(3), "{:?}", found.captured);
    let data = found.on("/data");
    use Call::*;
    for call in [Read, Write, Pread, Pwrite, Readv, Writev, Preadv, Pwritev, Preadv2, Pwritev2, AioRead, AioWrite] {
        assert_eq!(data.get(&call), Some(&(COUNT, COUNT * BLOCK)), "{call:?}");
    }
    for call in [CopyRead, SendfileRead, SpliceRead] {
        assert_eq!(data.get(&call), Some(&(COUNT, COUNT * BLOCK)), "{call:?}");
    }
    for call in [Fsync, Fdatasync, Syncfs, SyncFileRange, Fallocate] {
        assert_eq!(data.get(&call), Some(&(COUNT / 10, 0)), "{call:?}");
    }
    for (call, times) in
        [(Open, COUNT + 1), (Close, 3 * COUNT), (Dup, 3 * COUNT), (Ftruncate, COUNT), (Mmap, COUNT), (Lseek, 3)]
    {
        assert_eq!(data.get(&call), Some(&(times, 0)), "{call:?}");
    }
    if has_ring {
        assert_eq!(data.get(&UringRead), Some(&(COUNT, COUNT * BLOCK)));
        assert_eq!(data.get(&UringWrite), Some(&(COUNT, COUNT * BLOCK)));
        assert_eq!(data.get(&UringFsync), Some(&(COUNT, 0)));
    }
    let copy = found.on("/copy");
    for call in [CopyWrite, SendfileWrite, SpliceWrite] {
        assert_eq!(copy.get(&call), Some(&(COUNT, COUNT * BLOCK)), "{call:?}");
    }
    places_are_right(&found, COUNT, BLOCK);
    // The kernel counted nothing that was not seen.
    let end = &found.captured.end;
    assert_eq!(end.unseen_share(), Some(0.0), "{end:?}");
    assert!(
        end.unseen.iter().any(|unseen| unseen.what.contains("mappings of data files") && unseen.count == Some(COUNT))
    );
}

/// Every call goes over the file from its beginning to its end.
fn places_are_right(found: &Found, count: u64, block: u64) {
    use Call::*;
    for call in
        [Write, Read, Readv, Writev, Pwrite, Preadv2, AioRead, AioWrite, CopyRead, CopyWrite, SendfileRead, SpliceRead]
    {
        let mut places: Vec<u64> = found
            .operations
            .iter()
            .filter(|operation| operation.call == call && operation.length == block)
            .filter_map(|operation| operation.offset)
            .collect();
        places.sort_unstable();
        assert_eq!(places, (0..count).map(|index| index * block).collect::<Vec<_>>(), "{call:?}");
    }
}

#[test]
fn children_threads_and_programs_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; for i in 1 2 3 4 5 6 7 8 9 10; do (echo abc >> log; exec cat log > out$i) & done; wait",
        folder.path().display()
    );
    let found = captured(&["sh", "-c", &script]).unwrap();
    assert_eq!(found.captured.status, Some(0));
    assert_eq!(found.on("/log").get(&Call::Write), Some(&(10, 40)));
    let mut places: Vec<u64> = found
        .operations
        .iter()
        .filter(|operation| operation.call == Call::Write && operation.length == 4)
        .filter_map(|operation| operation.offset)
        .collect();
    places.sort_unstable();
    assert_eq!(places, (0..10).map(|index| index * 4).collect::<Vec<_>>(), "appended one after the other");
    assert!(found.threads.iter().filter(|thread| thread.name == "cat").count() >= 10);
    let share = found.captured.end.unseen_share().unwrap();
    assert!(share < 0.01, "{:?}", found.captured.end);
}

#[test]
fn a_thousand_children() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; i=0; while [ $i -lt 1000 ]; do (echo x >> all) & i=$((i+1)); done; wait",
        folder.path().display()
    );
    let found = captured(&["sh", "-c", &script]).unwrap();
    assert_eq!(found.captured.status, Some(0));
    assert_eq!(found.on("/all").get(&Call::Write), Some(&(1000, 2000)));
}

#[test]
fn a_program_that_dies_leaves_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("echo ab > {}/base.db; kill -9 $$", folder.path().display());
    let found = captured(&["sh", "-c", &script]).unwrap();
    assert_eq!((found.captured.status, found.captured.signal), (None, Some(9)));
    assert!(found.captured.end.outcome.contains("signal 9"));
    assert_eq!(found.on("/base.db").get(&Call::Write), Some(&(1, 3)));
    let file = found.files.iter().find(|file| file.path.ends_with("/base.db")).unwrap();
    assert_eq!(file.role, Role::Table);
}

#[test]
fn signals_stops_and_ends_pass() {
    let found = captured(&["sh", "-c", "(sleep 0.2; kill -CONT $$) & kill -STOP $$; exit 5"]).unwrap();
    assert_eq!(found.captured.status, Some(5));
    let found = captured(&["sh", "-c", "trap 'exit 7' USR1; kill -USR1 $$; exit 1"]).unwrap();
    assert_eq!(found.captured.status, Some(7));
}

#[test]
fn what_cannot_be_run_is_said() {
    match captured(&["/no/such/program"]) {
        Err(CaptureError::Command { program, source }) => {
            assert_eq!(program, "/no/such/program");
            assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
        }
        other => panic!("{:?}", other.map(|found| found.captured)),
    }
    assert!(matches!(captured(&["a\0b"]), Err(CaptureError::ZeroByte)));
}

#[test]
fn its_cost_is_measured() {
    let found = captured(&["true"]).unwrap();
    let overhead = found.captured.overhead;
    assert!(overhead.traced_call_ns > overhead.bare_call_ns, "{overhead:?}");
}
