//! The open files behind the descriptors of a process, with their positions.
//!
//! A descriptor is looked up in procfs when it is first used, and then tracked: its position by the
//! calls that move it, its number by `close`, `dup` and similar. Descriptors from `dup` or `fork`
//! share one position, as in the kernel (open(2), "open file description").

use std::cell::RefCell;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::rc::Rc;

use iolab_trace::{File, FileKind, Flags, Role};

use crate::by_number::ByNumber;
use crate::capture::Recorder;
use crate::open_file::{Open, SharedOpen};
use crate::uring::SharedRing;

/// The descriptors of a process.
#[derive(Debug, Default, Clone)]
pub(crate) struct Table {
    open: ByNumber<i32, SharedOpen>,
    rings: ByNumber<i32, SharedRing>,
}

impl Table {
    pub(crate) fn get(&self, fd: i32) -> Option<SharedOpen> {
        self.open.get(&fd).cloned()
    }

    pub(crate) fn ring(&self, fd: i32) -> Option<SharedRing> {
        self.rings.get(&fd).cloned()
    }

    pub(crate) fn rings(&self) -> impl Iterator<Item = &SharedRing> {
        self.rings.values()
    }

    pub(crate) fn insert(&mut self, fd: i32, open: SharedOpen) {
        self.open.insert(fd, open);
    }

    pub(crate) fn insert_ring(&mut self, fd: i32, ring: SharedRing) {
        self.rings.insert(fd, ring);
    }

    pub(crate) fn close(&mut self, fd: i32) {
        self.open.remove(&fd);
        self.rings.remove(&fd);
    }

    /// Closes a range, the last included.
    pub(crate) fn close_range(&mut self, first: u64, last: u64) {
        let is_kept = |fd: &i32| !(first..=last).contains(&(*fd as u64));
        self.open.retain(|fd, _| is_kept(fd));
        self.rings.retain(|fd, _| is_kept(fd));
    }

    /// Makes `to` refer to the same open file as `fd`.
    pub(crate) fn copy(&mut self, fd: i32, to: i32) {
        self.close(to);
        self.open.get(&fd).cloned().into_iter().for_each(|open| drop(self.open.insert(to, open)));
        self.rings.get(&fd).cloned().into_iter().for_each(|ring| drop(self.rings.insert(to, ring)));
    }

    /// Removes the descriptors that exec closed.
    pub(crate) fn after_exec(&mut self, process: i32) {
        self.open.retain(|fd, _| std::fs::symlink_metadata(link(process, *fd)).is_ok());
        self.rings.clear();
    }
}

fn link(thread: i32, fd: i32) -> String {
    format!("/proc/{thread}/fd/{fd}")
}

/// Looks up a descriptor of a stopped thread; `None` if it is not open.
pub(crate) fn look_up(recorder: &mut Recorder<'_>, thread: i32, fd: i32) -> Option<SharedOpen> {
    let target = std::fs::read_link(link(thread, fd)).ok()?;
    let path = target.to_string_lossy();
    let path = path.strip_suffix(" (deleted)").unwrap_or(&path);
    let facts = std::fs::metadata(link(thread, fd)).ok();
    let kind = facts.as_ref().map_or(FileKind::Unknown, |facts| kind_of(path, facts.file_type()));
    let storage = facts.as_ref().filter(|_| kind == FileKind::Regular || kind == FileKind::BlockDevice);
    let size_bytes = storage.map(MetadataExt::size).filter(|_| kind == FileKind::Regular);
    let role = if kind == FileKind::Regular { Role::of_path(path) } else { Role::Other };
    let (device, inode) = storage.map_or((0, 0), |facts| (facts.dev(), facts.ino()));
    let file = recorder.file(device, inode, File { path: path.to_owned(), kind, role, size_bytes });
    let (position, flags) = position_and_flags(thread, fd).unwrap_or_default();
    Some(Rc::new(RefCell::new(Open { file, kind, position, flags: flags_of_open(flags) })))
}

/// The position of a descriptor now, and its flags.
pub(crate) fn position_and_flags(thread: i32, fd: i32) -> Option<(u64, i32)> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/fdinfo/{fd}")).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    Some((field("pos:")?.parse().ok()?, i32::from_str_radix(field("flags:")?, 8).ok()?))
}

fn kind_of(path: &str, kind: std::fs::FileType) -> FileKind {
    let of_kernel = ["/proc/", "/sys/", "/dev/shm/", "/memfd:", "anon_inode:"];
    if of_kernel.iter().any(|start| path.starts_with(start)) {
        FileKind::Kernel
    } else if kind.is_file() {
        FileKind::Regular
    } else if kind.is_block_device() {
        FileKind::BlockDevice
    } else if kind.is_dir() {
        FileKind::Folder
    } else if kind.is_fifo() {
        FileKind::Pipe
    } else if kind.is_socket() {
        FileKind::Socket
    } else if kind.is_char_device() {
        FileKind::CharacterDevice
    } else {
        FileKind::Unknown
    }
}

/// The meaning of open(2) flags for each operation on the descriptor.
pub(crate) fn flags_of_open(flags: i32) -> Flags {
    Flags::default()
        .and_if(flags & libc::O_DIRECT != 0, Flags::DIRECT)
        .and_if(flags & libc::O_SYNC == libc::O_SYNC, Flags::FILE_SYNC)
        .and_if(flags & libc::O_SYNC == libc::O_DSYNC, Flags::DATA_SYNC)
        .and_if(flags & libc::O_APPEND != 0, Flags::APPEND)
}
