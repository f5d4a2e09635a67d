//! Opening and reading within a limit.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use crate::Limit;

/// Bytes to reserve before anything has been read.
const FIRST_ROOM_BYTES: u64 = 1 << 20;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused it.
    #[error(transparent)]
    System(#[from] io::Error),
    /// Reading it may never end, may wait forever, or may change something.
    #[error("it is {0}; only regular files are read")]
    NotRegular(&'static str),
    /// It is larger than the limit of its kind.
    #[error("it is larger than {} MiB, the limit for {}", .0.bytes >> 20, .0.what)]
    TooLarge(Limit),
    /// It should be text, and is not.
    #[error("it is not text: byte {at} is not UTF-8")]
    NotText {
        /// Offset of the first byte that is not valid UTF-8.
        at: usize,
    },
}

impl ReadError {
    /// Whether the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, ReadError::System(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

/// Opens a regular file for reading, or a pipe that the program inherited as a descriptor (`<(…)`
/// of the shell, `/dev/stdin`), which has a writer.
///
/// # Errors
/// It is missing, may not be read, or is not a regular file.
pub fn open(path: &Path) -> Result<File, ReadError> {
    if is_own_descriptor(path) && std::fs::metadata(path)?.file_type().is_fifo() {
        return Ok(File::open(path)?);
    }
    // Opening a device can change its state (a tape rewinds, a watchdog starts), so its type is
    // examined first.
    check(std::fs::metadata(path)?.file_type())?;
    // The name may refer to something else by now, so this open must not block either.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// Whether a path names a descriptor of this process (proc_pid_fd(5)).
fn is_own_descriptor(path: &Path) -> bool {
    let Some(path) = path.to_str() else { return false };
    let number = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"));
    path == "/dev/stdin" || number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
}

fn check(kind: FileType) -> Result<(), ReadError> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() => "a character device",
        kind if kind.is_block_device() => "a block device",
        _ => "no file",
    };
    Err(ReadError::NotRegular(what))
}

/// Reads all bytes of a regular file.
///
/// # Errors
/// Those of [`open`], or it is longer than the limit.
pub fn read(path: &Path, limit: Limit) -> Result<Vec<u8>, ReadError> {
    read_open(&open(path)?, limit)
}

/// Reads all bytes of a file that [`open`] has opened, from its current position.
///
/// # Errors
/// It cannot be read, or is longer than the limit.
pub fn read_open(file: &File, limit: Limit) -> Result<Vec<u8>, ReadError> {
    let known = file.metadata()?.len();
    if known > limit.bytes {
        return Err(ReadError::TooLarge(limit));
    }
    take(file, known, limit)
}

/// Reads all of standard input, whatever its type.
///
/// # Errors
/// It cannot be read, or is longer than the limit.
pub fn read_standard_input(limit: Limit) -> Result<Vec<u8>, ReadError> {
    take(io::stdin().lock(), 0, limit)
}

fn take(source: impl Read, expected: u64, limit: Limit) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::with_capacity(expected.min(FIRST_ROOM_BYTES) as usize);
    source.take(limit.bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit.bytes {
        return Err(ReadError::TooLarge(limit));
    }
    Ok(bytes)
}

/// Reads a regular file as text.
///
/// # Errors
/// Those of [`read`], or it is not UTF-8.
pub fn read_text(path: &Path, limit: Limit) -> Result<String, ReadError> {
    String::from_utf8(read(path, limit)?).map_err(|error| ReadError::NotText { at: error.utf8_error().valid_up_to() })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    const SMALL: Limit = Limit { what: "a test", bytes: 4 };

    #[test]
    fn only_what_fits_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (content, fits) in [("", true), ("1234", true), ("12345", false)] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(read(&path, SMALL).is_ok_and(|bytes| bytes == content.as_bytes()), fits, "{content}");
        }
        std::fs::write(&path, [b'a', 0xff]).unwrap();
        assert!(matches!(read_text(&path, SMALL), Err(ReadError::NotText { at: 1 })));
        assert!(read(&folder.path().join("missing"), SMALL).is_err_and(|error| error.is_missing()));
    }

    /// A file that claims to have a terabyte costs nothing.
    #[test]
    fn a_huge_file_is_refused_before_it_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 40).unwrap();
        let error = read(file.path(), crate::RECORDING).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 1024 MiB, the limit for a recording");
    }

    /// Files below `/proc` have content, although their length is 0.
    #[test]
    fn a_length_is_not_believed() {
        assert!(matches!(read(Path::new("/proc/self/status"), SMALL), Err(ReadError::TooLarge(_))));
        assert!(!read(Path::new("/proc/self/status"), crate::LOG).unwrap().is_empty());
    }

    /// The shell's `<(…)`.
    #[test]
    fn a_pipe_that_was_handed_over_is_read_within_the_limit() {
        use std::io::Write;
        use std::os::fd::AsRawFd;
        for (content, fits) in [("1234", true), ("12345", false)] {
            let (reader, mut writer) = io::pipe().unwrap();
            writer.write_all(content.as_bytes()).unwrap();
            drop(writer);
            let path = format!("/dev/fd/{}", reader.as_raw_fd());
            assert_eq!(read(Path::new(&path), SMALL).is_ok(), fits);
        }
    }

    #[test]
    fn what_is_not_regular_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (fifo, socket) = (folder.path().join("fifo"), folder.path().join("socket"));
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for (path, what) in [
            (fifo.as_path(), "a FIFO"),
            (&socket, "a socket"),
            (folder.path(), "a folder"),
            (Path::new("/dev/zero"), "a character device"),
            (&link, "a character device"),
        ] {
            let error = read(path, crate::RECORDING).unwrap_err().to_string();
            assert_eq!(error, format!("it is {what}; only regular files are read"), "{}", path.display());
        }
    }
}
