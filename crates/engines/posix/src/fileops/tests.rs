//! The file-operation engines in a scratch folder.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use iolab_engine::{
    Completions, Engine, Lane, LaneRequest, Op, OpKind, OpenError, PoolView, Submission, TargetFile, Wait,
};
use iolab_options::{Setting, Settings, Value};

use crate::fileops::{DirCreate, DirDelete, DirStat, Falloc, FileCreate, FileDelete, FileStat, Ftruncate};

const LENGTH: u32 = 4096;

fn op(kind: OpKind, file: u32) -> Op {
    Op { offset: 0, length: LENGTH, buffer_offset: 0, file, slot: 0, kind, priority: 0 }
}

fn open<E: Engine>(files: &[TargetFile], options: &Settings) -> Result<E::Lane, OpenError> {
    E::open(&LaneRequest { files, depth: 2, buffers: PoolView::EMPTY, options, direct: false, seed: 0, worker: 0 })
}

fn on_paths<E: Engine>(paths: &[PathBuf]) -> E::Lane {
    let as_target =
        |path: &PathBuf| TargetFile { path: path.clone(), fd: -1, size_bytes: 10_000, is_block_device: false };
    let files: Vec<TargetFile> = paths.iter().map(as_target).collect();
    open::<E>(&files, &Settings::default()).unwrap()
}

fn result(lane: &mut impl Lane, op: Op) -> i32 {
    assert_eq!(lane.submit(&op), Submission::Accepted, "{op:?}");
    let mut out = Completions::with_room(1);
    assert_eq!(lane.reap(Wait::POLL, &mut out), Ok(1));
    out.as_slice()[0].result
}

fn paths_in(folder: &Path) -> Vec<PathBuf> {
    vec![folder.join("one"), folder.join("below/two")]
}

#[test]
fn files_are_created_once_and_closed() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths_in(folder.path());
    let mut lane = on_paths::<FileCreate>(&paths);
    assert!(paths.iter().all(|path| !path.exists()), "opening the lane creates no file");
    fs::write(&paths[1], "kept").unwrap();
    for file in [0, 1, 0] {
        assert_eq!(result(&mut lane, op(OpKind::Write, file)), LENGTH as i32);
    }
    assert_eq!(fs::metadata(&paths[0]).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::read(&paths[0]).unwrap(), b"");
    assert_eq!(fs::read(&paths[1]).unwrap(), b"kept");
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let open_now = descriptors.filter(|fd| fs::read_link(fd).is_ok_and(|to| to.starts_with(folder.path()))).count();
    assert_eq!(open_now, 0);
}

#[test]
fn what_is_deleted_was_there_and_then_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths_in(folder.path());
    fs::write(&paths[0], "existing").unwrap();
    let mut lane = on_paths::<FileDelete>(&paths);
    assert_eq!(fs::read(&paths[0]).unwrap(), b"existing", "what exists is left alone");
    assert_eq!(fs::metadata(&paths[1]).unwrap().len(), 10_000);
    for file in [1, 0] {
        assert_eq!(result(&mut lane, op(OpKind::Read, file)), LENGTH as i32);
        assert!(!paths[file as usize].exists());
        assert_eq!(result(&mut lane, op(OpKind::Read, file)), -libc::ENOENT);
    }
}

#[test]
fn directories_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths_in(folder.path());
    let mut create = on_paths::<DirCreate>(&paths);
    assert!(!paths[0].exists());
    for file in [0, 1] {
        assert_eq!(result(&mut create, op(OpKind::Write, file)), LENGTH as i32);
        assert_eq!(result(&mut create, op(OpKind::Write, file)), -libc::EEXIST);
        assert!(paths[file as usize].is_dir());
    }
    fs::remove_dir(&paths[1]).unwrap();
    let mut delete = on_paths::<DirDelete>(&paths);
    assert!(paths[1].is_dir(), "a missing directory is made for its deletion");
    fs::write(paths[0].join("inside"), "").unwrap();
    assert_eq!(result(&mut delete, op(OpKind::Write, 0)), -libc::ENOTEMPTY);
    assert_eq!(result(&mut delete, op(OpKind::Write, 1)), LENGTH as i32);
    let mut stat = on_paths::<DirStat>(&paths);
    assert_eq!(result(&mut stat, op(OpKind::Read, 1)), LENGTH as i32);
    assert!(paths[1].is_dir());
}

#[test]
fn the_stat_types_differ_on_links_to_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    symlink(folder.path().join("nowhere"), &link).unwrap();
    for (word, expected) in [("stat", -libc::ENOENT), ("lstat", LENGTH as i32), ("statx", -libc::ENOENT)] {
        let mut options = Settings::default();
        let value = Value::Choice(word.to_owned());
        options.set("stat_type", Setting { value, text: word.to_owned(), source: 0, span: (0, 0) });
        let target = TargetFile { path: link.clone(), fd: -1, size_bytes: 0, is_block_device: false };
        let mut lane = open::<FileStat>(&[target], &options).unwrap();
        assert_eq!(result(&mut lane, op(OpKind::Read, 0)), expected, "{word}");
    }
}

#[test]
fn paths_that_cannot_be_are_said_at_once_and_other_kinds_refused() {
    let folder = tempfile::tempdir().unwrap();
    let blocker = folder.path().join("file");
    fs::write(&blocker, "").unwrap();
    for (path, errno) in [(blocker.join("below"), libc::ENOTDIR), (PathBuf::from("a\0b"), libc::EINVAL)] {
        let target = TargetFile { path, fd: -1, size_bytes: 0, is_block_device: false };
        let error = open::<FileStat>(&[target], &Settings::default()).unwrap_err();
        assert!(error.errno.is_none_or(|number| [errno, libc::EEXIST].contains(&number)), "{error:?}");
    }
    let mut lane = on_paths::<FileStat>(&[blocker]);
    for kind in [OpKind::Trim, OpKind::Sync, OpKind::DataSync, OpKind::SyncFileRange] {
        assert_eq!(lane.submit(&op(kind, 0)), Submission::Refused(libc::EOPNOTSUPP), "{kind:?}");
    }
    assert_eq!(lane.submit(&op(OpKind::Read, 1)), Submission::Refused(libc::ENOENT));
}

fn on_file<E: Engine>(file: &File) -> E::Lane {
    let target = TargetFile { path: "ranged".into(), fd: file.as_raw_fd(), size_bytes: 0, is_block_device: false };
    open::<E>(&[target], &Settings::default()).unwrap()
}

#[test]
fn falloc_keeps_extends_and_punches() {
    let named = tempfile::NamedTempFile::new().unwrap();
    // Opened for reading, as the runner does for rw=read: the lane must reopen it for writing.
    let mut lane = on_file::<Falloc>(&File::open(named.path()).unwrap());
    let state = || named.as_file().metadata().map(|metadata| (metadata.len(), metadata.blocks() > 0)).unwrap();
    assert_eq!(state(), (0, false));
    assert_eq!(result(&mut lane, op(OpKind::Read, 0)), LENGTH as i32);
    assert_eq!(state(), (0, true), "blocks beyond the end");
    assert_eq!(result(&mut lane, op(OpKind::Write, 0)), LENGTH as i32);
    assert_eq!(state(), (u64::from(LENGTH), true));
    assert_eq!(result(&mut lane, op(OpKind::Trim, 0)), 0);
    assert_eq!(state(), (u64::from(LENGTH), false));
    for kind in [OpKind::Sync, OpKind::DataSync, OpKind::SyncFileRange] {
        assert_eq!(result(&mut lane, op(kind, 0)), 0, "{kind:?}");
    }
    assert_eq!(result(&mut lane, Op { length: 0, ..op(OpKind::Write, 0) }), -libc::EINVAL);
}

#[test]
fn ftruncate_goes_to_the_offset_and_does_nothing_else() {
    let file = tempfile::tempfile().unwrap();
    let mut lane = on_file::<Ftruncate>(&file);
    for offset in [8192, 0, 4096] {
        assert_eq!(result(&mut lane, Op { offset, ..op(OpKind::Write, 0) }), LENGTH as i32);
        assert_eq!(file.metadata().unwrap().len(), offset);
    }
    for kind in [OpKind::Read, OpKind::Trim] {
        assert_eq!(lane.submit(&op(kind, 0)), Submission::Refused(libc::EOPNOTSUPP), "{kind:?}");
    }
    assert_eq!(result(&mut lane, op(OpKind::Sync, 0)), 0);
    assert_eq!(result(&mut lane, Op { offset: u64::MAX, ..op(OpKind::Write, 0) }), -libc::EINVAL);
}

#[test]
fn a_descriptor_that_is_none_is_said_at_once() {
    let target = TargetFile { path: "closed".into(), fd: -1, size_bytes: 0, is_block_device: false };
    let error = open::<Falloc>(&[target], &Settings::default()).unwrap_err();
    assert_eq!(error.errno, Some(libc::EBADF));
    assert!(error.message.starts_with("cannot open closed for writing: "), "{}", error.message);
}
