//! Outputs that are not files: descriptors of the caller, terminals, `/dev/null` and named pipes.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::OutputError;
use crate::judge::Name;

/// How often to wait for a reader of a pipe: both ends are usually started at the same time.
const READER_WAITS: u32 = 500;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// The descriptor that a path names: `/dev/stdout`, `/dev/stderr`, `/dev/fd/N`, `/proc/self/fd/N`.
/// The shell opened it for this program, so its target was chosen there; writes to files are
/// appended.
pub(crate) fn named_descriptor(path: &Path) -> Result<Option<File>, OutputError> {
    let failed = |error: std::io::Error| OutputError::io("opening", path, error);
    let number = match path.to_str() {
        Some("/dev/stdout") => Some(1),
        Some("/dev/stderr") => Some(2),
        Some(text) => ["/dev/fd/", "/proc/self/fd/"]
            .iter()
            .find_map(|folder| text.strip_prefix(folder))
            .and_then(|rest| rest.parse().ok()),
        None => None,
    };
    let file = match number {
        None => return Ok(None),
        Some(1) => File::from(std::io::stdout().as_fd().try_clone_to_owned().map_err(failed)?),
        Some(2) => File::from(std::io::stderr().as_fd().try_clone_to_owned().map_err(failed)?),
        Some(number) => {
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let fd = rustix::fs::open(format!("/proc/self/fd/{number}"), flags, Mode::empty());
            blocking(File::from(fd.map_err(|errno| failed(errno.into()))?), path)?
        }
    };
    Ok(Some(file))
}

/// Judges a character device or a pipe before it is opened: merely opening can start a watchdog, or
/// rewind a tape.
pub(crate) fn judge(path: &Path, stat: &Stat) -> Result<(), OutputError> {
    if FileType::from_raw_mode(stat.st_mode) == FileType::Fifo || is_harmless(stat) {
        return Ok(());
    }
    let what = "a character device that is neither a terminal nor null, zero, full or random".to_owned();
    Err(OutputError::Never { path: path.to_owned(), what })
}

/// Opens a stream that was judged.
pub(crate) fn open(Name { folder, name, path, .. }: &Name) -> Result<File, OutputError> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut waits_left = READER_WAITS;
    let file = loop {
        match rustix::fs::openat(folder, name, flags, Mode::empty()) {
            Ok(fd) => break File::from(fd),
            Err(Errno::NXIO) if waits_left > 0 => {
                waits_left -= 1;
                std::thread::sleep(BETWEEN_LOOKS);
            }
            Err(Errno::NXIO) => return Err(OutputError::unusable(path, "a pipe without a reader")),
            Err(errno) => return Err(OutputError::io("opening", path, errno)),
        }
    };
    let stat = rustix::fs::fstat(&file).map_err(|errno| OutputError::io("opening", path, errno))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo | FileType::CharacterDevice => judge(path, &stat)?,
        _ => return Err(OutputError::Changed { path: path.clone() }),
    }
    blocking(file, path)
}

/// Terminals, and devices that overwrite nothing: null, zero, full, random, urandom, kmsg
/// (Documentation/admin-guide/devices.txt of the kernel).
fn is_harmless(stat: &Stat) -> bool {
    const MEMORY: u32 = 1;
    /// tty, console, ptmx, the slaves of pseudo terminals, USB and other serial lines, hypervisor
    /// consoles.
    const TERMINALS: [std::ops::RangeInclusive<u32>; 6] =
        [4..=5, 136..=143, 166..=166, 188..=188, 204..=204, 229..=229];
    match (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)) {
        (MEMORY, minor) => [3, 5, 7, 8, 9, 11].contains(&minor),
        (major, _) => TERMINALS.iter().any(|range| range.contains(&major)),
    }
}

/// Opening must not block, but writing may.
fn blocking(file: File, path: &Path) -> Result<File, OutputError> {
    let flags = rustix::fs::fcntl_getfl(&file).map_err(|errno| OutputError::io("opening", path, errno))?;
    let set = rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK);
    set.map_err(|errno| OutputError::io("opening", path, errno))?;
    Ok(file)
}
