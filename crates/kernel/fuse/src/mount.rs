//! Mounting and unmounting: by system calls as root, otherwise by `fusermount3`.
//!
//! `fusermount3` is set-uid root. It mounts, and sends the connection's descriptor back through a
//! socket whose number it finds in `_FUSE_COMMFD` (see its manual page). A mount that is dropped is
//! detached, so that no dead mount remains.

use std::ffi::{CString, OsString};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags};
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType};

use crate::FuseError;

const HELPER: &str = "fusermount3";

/// How to mount.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// The source in the list of mounts.
    pub source: String,
    /// The type of the file system is `fuse.` followed by this.
    pub subtype: String,
    /// Flags of mount(2). `fusermount3` applies its own rules: of these flags, it gets only
    /// read-only.
    pub flags: MountFlags,
    /// The largest transfer, bytes.
    pub payload_bytes: usize,
}

/// A mounted file system.
#[derive(Debug, Clone)]
pub struct Mount {
    path: PathBuf,
    by_helper: bool,
    /// The file system's device number, from the kernel's list of mounts.
    superblock: Option<Vec<u8>>,
}

/// The result of unmounting: gone, still in use, or failed.
#[derive(Debug)]
pub enum Unmounted {
    /// It is gone.
    Gone,
    /// Somebody is using it.
    Busy,
    /// It failed, for this reason.
    Failed(String),
}

/// Unmounts what is mounted on a folder, unless somebody is using it.
pub fn unmount(path: &Path) -> Unmounted {
    let by_helper = !rustix::process::geteuid().is_root();
    Mount { path: path.to_owned(), by_helper, superblock: None }.unmount()
}

/// The source, in the list of mounts, of what is mounted on a folder as `fuse.SUBTYPE`. `None` if
/// the topmost mount there is a different one, or if there is none.
pub fn source_on(path: &Path, subtype: &str) -> Option<PathBuf> {
    source_in(&mount_list(), path, subtype)
}

fn source_in(list: &[u8], path: &Path, subtype: &str) -> Option<PathBuf> {
    let mut found = None;
    for line in list.split(|&byte| byte == b'\n') {
        let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        if words.get(4).map(|word| unescaped(word)).as_deref() != Some(path.as_os_str().as_bytes()) {
            continue;
        }
        let behind = words.iter().position(|word| *word == b"-").unwrap_or(words.len());
        let is_it = words.get(behind + 1).is_some_and(|kind| kind.strip_prefix(b"fuse.") == Some(subtype.as_bytes()));
        let source = words.get(behind + 2).filter(|_| is_it);
        found = source.map(|word| PathBuf::from(OsString::from_vec(unescaped(word))));
    }
    found
}

/// A mount that another mount namespace still has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldMount {
    /// A process of that namespace.
    pub process: u32,
    /// Where that process sees it.
    pub path: PathBuf,
}

/// The mounts of `source` as `fuse.SUBTYPE` that other mount namespaces have, one process for each
/// namespace. Processes that this one may not look at are left out.
pub fn held_elsewhere(source: &Path, subtype: &str) -> Vec<HeldMount> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut seen: Vec<_> = std::fs::read_link("/proc/self/ns/mnt").into_iter().collect();
    let mut held = Vec::new();
    for entry in processes.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(namespace) = std::fs::read_link(entry.path().join("ns/mnt")) else { continue };
        if seen.contains(&namespace) {
            continue;
        }
        let list = std::fs::read(entry.path().join("mountinfo")).unwrap_or_default();
        seen.push(namespace);
        held.extend(mounted_in(&list, source, subtype).into_iter().map(|path| HeldMount { process, path }));
    }
    held
}

/// Where a list of mounts says that `source` is mounted as `fuse.SUBTYPE`.
fn mounted_in(list: &[u8], source: &Path, subtype: &str) -> Vec<PathBuf> {
    let mount_point = |line: &[u8]| {
        let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        let path = PathBuf::from(OsString::from_vec(unescaped(words.get(4)?)));
        let behind = words.iter().position(|word| *word == b"-")?;
        let is_kind = words.get(behind + 1)?.strip_prefix(b"fuse.") == Some(subtype.as_bytes());
        let is_source = unescaped(words.get(behind + 2)?) == source.as_os_str().as_bytes();
        (is_kind && is_source).then_some(path)
    };
    list.split(|&byte| byte == b'\n').filter_map(mount_point).collect()
}

/// Mounts on a folder and gives the connection.
///
/// # Errors
/// [`FuseError::NoFuse`], [`FuseError::Unusable`], [`FuseError::Mount`].
pub fn mount(path: &Path, options: &MountOptions) -> Result<(OwnedFd, Mount), FuseError> {
    let path = path.canonicalize().map_err(|error| match error.raw_os_error() {
        Some(libc::ENOTCONN) => {
            let what = "the server of the existing mount has died; remove the mount with `umount -l`";
            unusable(path, what)
        }
        _ => unusable(path, &format!("{error}; create the folder first")),
    })?;
    if !path.is_dir() {
        return Err(unusable(&path, "it is not a folder"));
    }
    let (fd, by_helper) = if rustix::process::geteuid().is_root() {
        (mount_as_root(&path, options)?, false)
    } else {
        (mount_by_helper(&path, options)?, true)
    };
    let superblock = superblock(&mount_list(), &path);
    Ok((fd, Mount { path, by_helper, superblock }))
}

fn unusable(path: &Path, reason: &str) -> FuseError {
    FuseError::Unusable { path: path.to_path_buf(), reason: reason.to_owned() }
}

fn refused(path: &Path, reason: impl ToString) -> FuseError {
    FuseError::Mount { path: path.to_path_buf(), reason: reason.to_string() }
}

fn mount_as_root(path: &Path, options: &MountOptions) -> Result<OwnedFd, FuseError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let fd = rustix::fs::open("/dev/fuse", flags, Mode::empty()).map_err(|error| FuseError::NoFuse(error.into()))?;
    let data = mount_data(fd.as_raw_fd(), options.payload_bytes);
    let data = CString::new(data).map_err(|error| refused(path, error))?;
    let kind = format!("fuse.{}", options.subtype);
    rustix::mount::mount(&*options.source, path, &*kind, options.flags, data.as_c_str())
        .map_err(|error| refused(path, error))?;
    Ok(fd)
}

/// The options of fuse(4). Users other than root may access it; the kernel decides by the file's
/// mode what they may do.
fn mount_data(fd: i32, payload_bytes: usize) -> String {
    format!(
        "fd={fd},rootmode=40000,user_id={},group_id={},default_permissions,allow_other,max_read={payload_bytes}",
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    )
}

fn mount_by_helper(path: &Path, options: &MountOptions) -> Result<OwnedFd, FuseError> {
    let failed = |error: Errno| refused(path, error);
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(failed)?;
    // The helper inherits this end.
    rustix::io::fcntl_setfd(&theirs, FdFlags::empty()).map_err(failed)?;
    let MountOptions { source, subtype, payload_bytes, .. } = options;
    let read_only = if options.flags.contains(MountFlags::RDONLY) { ",ro" } else { "" };
    // A comma or backslash ends a value there unless a backslash stands before it.
    let source = source.replace('\\', "\\\\").replace(',', "\\,");
    let words = format!("fsname={source},subtype={subtype},default_permissions,max_read={payload_bytes}{read_only}");
    let done = Command::new(HELPER)
        .args(["-o", &words, "--"])
        .arg(path)
        .env("_FUSE_COMMFD", theirs.as_raw_fd().to_string())
        .stdin(Stdio::null())
        .output();
    drop(theirs);
    let done = done.map_err(|error| {
        refused(path, format!("{HELPER}: {error}; without it only root can mount (in Debian: package fuse3)"))
    })?;
    if !done.status.success() {
        return Err(refused(path, String::from_utf8_lossy(&done.stderr).trim()));
    }
    receive_descriptor(&ours).map_err(|error| refused(path, format!("{HELPER} sent no descriptor: {error}")))
}

fn receive_descriptor(socket: &OwnedFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8; 1];
    rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    descriptors.next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

impl Mount {
    /// Unmounts unless somebody uses it. The server must keep serving meanwhile, because the kernel
    /// may send requests.
    pub(crate) fn unmount(&self) -> Unmounted {
        if self.by_helper {
            return match Command::new(HELPER).arg("-u").arg("--").arg(&self.path).stdin(Stdio::null()).output() {
                Ok(done) if done.status.success() => Unmounted::Gone,
                Ok(done) if String::from_utf8_lossy(&done.stderr).contains("busy") => Unmounted::Busy,
                Ok(done) => Unmounted::Failed(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
                Err(error) => Unmounted::Failed(error.to_string()),
            };
        }
        match rustix::mount::unmount(&self.path, UnmountFlags::NOFOLLOW) {
            Ok(()) => Unmounted::Gone,
            Err(Errno::BUSY) => Unmounted::Busy,
            Err(error) => Unmounted::Failed(error.to_string()),
        }
    }

    /// Detaches the mount from its users, if it is still there. Nobody serves it any more, so it is
    /// only looked up in the kernel's list, without a request to it.
    fn detach_if_left(&self) {
        let is_left = self.superblock.is_some() && superblock(&mount_list(), &self.path) == self.superblock;
        if !is_left {
            return;
        }
        if self.by_helper {
            let _ = Command::new(HELPER).args(["-u", "-z", "--"]).arg(&self.path).stderr(Stdio::null()).status();
        } else {
            let flags = UnmountFlags::DETACH | UnmountFlags::FORCE | UnmountFlags::NOFOLLOW;
            let _ = rustix::mount::unmount(&self.path, flags);
        }
    }
}

fn mount_list() -> Vec<u8> {
    std::fs::read("/proc/self/mountinfo").unwrap_or_default()
}

/// The device number of what is mounted on `path`, in a list as proc_pid_mountinfo(5) describes it;
/// the topmost is the last.
fn superblock(list: &[u8], path: &Path) -> Option<Vec<u8>> {
    let mut found = None;
    for line in list.split(|&byte| byte == b'\n') {
        let mut words = line.split(|&byte| byte == b' ').skip(2);
        let (device, mount_point) = (words.next(), words.nth(1));
        if mount_point.map(unescaped).as_deref() == Some(path.as_os_str().as_bytes()) {
            found = device.map(<[u8]>::to_vec);
        }
    }
    found
}

/// Blanks and backslashes are escaped as a backslash and three octal digits.
fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

/// Detaches when the server ends; the connection must be closed first.
#[derive(Debug)]
pub struct Mounted(pub Mount);

impl Drop for Mounted {
    fn drop(&mut self) {
        self.0.detach_if_left();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_folder_is_refused_with_advice() {
        let (source, subtype) = ("iolab".to_owned(), "iolab".to_owned());
        let options = MountOptions { source, subtype, flags: MountFlags::empty(), payload_bytes: 8192 };
        let missing = mount(Path::new("/nonexistent/folder"), &options).unwrap_err().to_string();
        assert!(missing.contains("create the folder first"), "{missing}");
        let file = mount(Path::new("/proc/self/exe"), &options).unwrap_err().to_string();
        assert!(file.contains("it is not a folder"), "{file}");
    }

    #[test]
    fn a_mount_is_found_in_the_list() {
        let list = b"21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
            30 21 0:40 / /mnt/a rw - fuse.iolab iolab rw\n\
            31 21 0:41 / /mnt/with\\040blank rw shared:1 - fuse.iolab iolab rw\n\
            32 30 0:42 / /mnt/a rw - tmpfs tmpfs rw\n";
        let table = [("/", Some("8:1")), ("/mnt/a", Some("0:42")), ("/mnt/with blank", Some("0:41")), ("/mnt", None)];
        for (path, device) in table {
            assert_eq!(superblock(list, Path::new(path)).as_deref(), device.map(str::as_bytes), "{path}");
        }
        let source = |path| source_in(list, Path::new(path), "iolab");
        assert_eq!((source("/mnt/with blank"), source("/mnt/a")), (Some(PathBuf::from("iolab")), None));
        let places = |source: &str, subtype| mounted_in(list, Path::new(source), subtype);
        assert_eq!(places("iolab", "iolab"), [PathBuf::from("/mnt/a"), PathBuf::from("/mnt/with blank")]);
        assert_eq!((places("iolab", "other"), places("/dev/sda1", "iolab")), (vec![], vec![]));
        assert_eq!(unescaped(b"a\\134040\\"), b"a\\040\\");
        assert!(superblock(&mount_list(), Path::new("/proc")).is_some());
    }

    #[test]
    fn a_descriptor_comes_through_the_socket() {
        use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
        use std::os::fd::AsFd;
        let pair = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let (ours, theirs) = pair.unwrap();
        let (reading, writing) = rustix::pipe::pipe().unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let fds = [writing.as_fd()];
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&fds)));
        rustix::net::sendmsg(&theirs, &[io::IoSlice::new(b"x")], &mut ancillary, SendFlags::empty()).unwrap();
        let received = receive_descriptor(&ours).unwrap();
        rustix::io::write(&received, b"through").unwrap();
        let mut bytes = [0; 16];
        assert_eq!(rustix::io::read(&reading, &mut bytes), Ok(7));
        drop(theirs);
        assert!(receive_descriptor(&ours).is_err());
    }
}
