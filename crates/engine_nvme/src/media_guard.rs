//! Whether an open file may hold the data of a virtual SSD: what is in it would be lost.
//!
//! The file is judged by what it is (device and inode, its mark, the state beside it), never by its name: links and bind
//! mounts lead to the same file. Deliberately not here: opening it, and what the user allows.

use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iolab_observe::{LayoutMark, layout_mark};
use iolab_virtual_ssd::{is_state, state_path};
use rustix::fs::SeekFrom;
use rustix::io::Errno;

/// Why a file is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Objection {
    /// Whatever the user says.
    InUse(String),
    /// Unless the user says so.
    Foreign(String),
}

/// What is to be said against using the file, which was opened by this path.
pub(crate) fn judge(file: &File, path: &Path) -> Result<(), Objection> {
    let unknown = |error: std::io::Error| Objection::InUse(format!("cannot tell what is there: {error}"));
    let metadata = file.metadata().map_err(unknown)?;
    if !metadata.is_file() {
        return Err(Objection::InUse("not a regular file: name a file that may be created or written".to_owned()));
    }
    if let Some(user) = user_of(&metadata) {
        return Err(Objection::InUse(format!("it is {user}, which is active")));
    }
    if holds_nothing(file, &metadata) || is_state(&state_path(path)) {
        return Ok(());
    }
    match mark(file) {
        Ok(LayoutMark::Present) => Ok(()),
        Ok(_) => Err(Objection::Foreign(format!(
            "the file holds {} bytes that no job and no device is known to have made",
            metadata.len()
        ))),
        Err(error) => Err(unknown(error)),
    }
}

/// The mark of an open file.
pub(crate) fn mark(file: &File) -> std::io::Result<LayoutMark> {
    // The kernel's own link to what is open, whatever has become of its name (proc_pid_fd(5)).
    layout_mark(&PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))
}

/// Whether there is nothing in it but a hole.
fn holds_nothing(file: &File, metadata: &Metadata) -> bool {
    metadata.len() == 0 || rustix::fs::seek(file, SeekFrom::Data(0)) == Err(Errno::NXIO)
}

/// What in the kernel works on the same file: a loop device or a swap area.
fn user_of(metadata: &Metadata) -> Option<String> {
    let same = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|other| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino()))
    };
    let names = std::fs::read_dir("/sys/block").into_iter().flatten().flatten().map(|entry| entry.path());
    for device in names {
        let backing = std::fs::read_to_string(device.join("loop/backing_file")).unwrap_or_default();
        if !backing.is_empty() && same(Path::new(backing.trim_end_matches('\n'))) {
            let name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Some(format!("the backing store of {name}"));
        }
    }
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    let areas = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    areas.map(unescape).any(|area| same(&area)).then(|| "a swap area".to_owned())
}

/// The path in a line of `/proc/swaps`, where blanks are octal numbers (proc(5)).
fn unescape(text: &str) -> PathBuf {
    let replaced = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain));
    PathBuf::from(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_made_is_foreign_and_holes_and_marked_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("precious");
        let open = || File::options().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        assert_eq!(judge(&open(), &path), Ok(()), "an empty file");
        open().set_len(1 << 20).unwrap();
        assert_eq!(judge(&open(), &path), Ok(()), "nothing but a hole");
        std::fs::write(&path, "years of work").unwrap();
        let refused = judge(&open(), &path);
        assert!(matches!(&refused, Err(Objection::Foreign(why)) if why.contains("13 bytes")), "{refused:?}");
        let link = folder.path().join("job.0.0");
        std::fs::hard_link(&path, &link).unwrap();
        assert_eq!(judge(&open(), &link), refused, "the name says nothing");
        if iolab_observe::mark_layout(open()).unwrap() {
            assert_eq!(judge(&open(), &path), Ok(()));
        }
        let folder = File::open(folder.path()).unwrap();
        assert!(matches!(judge(&folder, &path), Err(Objection::InUse(why)) if why.contains("regular file")));
    }
}
