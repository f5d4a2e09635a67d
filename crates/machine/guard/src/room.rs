//! Checks before a run whether there is enough space for what it will write.
//!
//! A completely full file system affects all of its users, so some of it is left free. Quotas and
//! compressing file systems are not taken into account.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::statvfs;

/// Part of a file system that is left free: a hundredth of it, at least [`LEAST_LEFT_BYTES`], at
/// most [`MOST_LEFT_BYTES`].
const LEFT_SHARE: u64 = 100;
const LEAST_LEFT_BYTES: u64 = 1 << 20;
const MOST_LEFT_BYTES: u64 = 256 << 20;
/// How often a file system that seems too full is asked again.
const TRIES: u32 = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// The space that a file will need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceNeed {
    /// The file, existing or not.
    pub path: PathBuf,
    /// Bytes of storage that it will take, including those that it takes already.
    pub bytes: u64,
}

/// A file system with too little space for its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    /// One of the files that will be on it.
    pub path: PathBuf,
    /// Bytes that all files on it still need.
    pub needed_bytes: u64,
    /// Bytes that may be used: what an ordinary user may write, minus what is left free.
    pub usable_bytes: u64,
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: the file system has {} bytes free, but the files need {} more",
            self.path.display(),
            self.usable_bytes,
            self.needed_bytes
        )
    }
}

/// A file system, and what files still need of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystemRoom {
    /// Its number on this machine (`st_dev`).
    pub device: u64,
    /// Bytes that may be used: what an ordinary user may write, minus what is left free.
    pub usable_bytes: u64,
    /// The files, with the bytes that each still needs.
    pub missing: BTreeMap<PathBuf, u64>,
}

impl FileSystemRoom {
    /// Adds what another run needs of the same file system. A file of both is needed once.
    pub fn add(&mut self, other: FileSystemRoom) {
        self.usable_bytes = self.usable_bytes.min(other.usable_bytes);
        for (path, bytes) in other.missing {
            let most = self.missing.entry(path).or_default();
            *most = bytes.max(*most);
        }
    }

    /// What is short, if anything is.
    pub fn shortage(&self) -> Option<Shortage> {
        let needed_bytes = self.missing.values().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        let (path, _) = self.missing.first_key_value()?;
        let short = needed_bytes > self.usable_bytes;
        short.then(|| Shortage { path: path.clone(), needed_bytes, usable_bytes: self.usable_bytes })
    }
}

/// The file systems that `needs` need more of. What cannot be examined is not judged.
pub fn rooms(needs: &[SpaceNeed]) -> Vec<FileSystemRoom> {
    let mut whole: BTreeMap<&Path, u64> = BTreeMap::new();
    for need in needs {
        let most = whole.entry(&need.path).or_default();
        *most = need.bytes.max(*most);
    }
    let mut by_device: BTreeMap<u64, BTreeMap<PathBuf, u64>> = BTreeMap::new();
    for (path, bytes) in whole {
        let Some((device, allocated)) = place_of(path) else { continue };
        let missing = bytes.saturating_sub(allocated);
        if missing > 0 {
            by_device.entry(device).or_default().insert(path.to_owned(), missing);
        }
    }
    let room = |(device, missing): (u64, BTreeMap<PathBuf, u64>)| {
        let there = existing(missing.first_key_value()?.0);
        let mut room = FileSystemRoom { device, usable_bytes: usable_bytes(&there)?, missing };
        for _ in 0..TRIES {
            if room.shortage().is_none() || !settles(&there) {
                break;
            }
            room.usable_bytes = usable_bytes(&there)?;
        }
        Some(room)
    };
    by_device.into_iter().filter_map(room).collect()
}

/// Makes the file system give back the space of files that have just been removed: ext4 does so
/// only when its journal is committed, which it does every five seconds, and XFS in the background.
/// False if that is not possible.
fn settles(there: &Path) -> bool {
    let settled = File::open(there).map(rustix::fs::syncfs);
    std::thread::sleep(BETWEEN_TRIES);
    matches!(settled, Ok(Ok(())))
}

/// The file systems with too little space for `needs`.
pub fn shortages(needs: &[SpaceNeed]) -> Vec<Shortage> {
    rooms(needs).iter().filter_map(FileSystemRoom::shortage).collect()
}

/// The file system that has or will have a file, and how many bytes of it the file takes now.
fn place_of(path: &Path) -> Option<(u64, u64)> {
    if let Ok(metadata) = fs::metadata(path) {
        // st_blocks counts 512-byte units whatever the block size (stat(3type)).
        return metadata.is_file().then(|| (metadata.dev(), metadata.blocks().saturating_mul(512)));
    }
    Some((fs::metadata(nearest_folder(path)).ok()?.dev(), 0))
}

fn nearest_folder(path: &Path) -> PathBuf {
    let folders = path.ancestors().skip(1).filter(|ancestor| !ancestor.as_os_str().is_empty());
    folders.filter(|folder| folder.is_dir()).map(Path::to_owned).next().unwrap_or_else(|| PathBuf::from("."))
}

/// The file, or the nearest folder above it that is there.
fn existing(path: &Path) -> PathBuf {
    if path.exists() { path.to_owned() } else { nearest_folder(path) }
}

/// What may be used of the file system on which something is; `None` if it has no size and so
/// cannot run out of space (ramfs).
fn usable_bytes(there: &Path) -> Option<u64> {
    let facts = statvfs(there).ok()?;
    let whole = facts.f_blocks.saturating_mul(facts.f_frsize);
    if whole == 0 {
        return None;
    }
    let left = (whole / LEFT_SHARE).clamp(LEAST_LEFT_BYTES, MOST_LEFT_BYTES);
    Some(facts.f_bavail.saturating_mul(facts.f_frsize).saturating_sub(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_file_system_holds_is_short() {
        let folder = tempfile::tempdir().unwrap();
        let need = |name: &str, bytes| SpaceNeed { path: folder.path().join(name), bytes };
        assert_eq!(shortages(&[need("small", 1 << 16)]), []);
        let found = shortages(&[need("a", 1 << 60), need("b", 1 << 60), need("a", 1 << 59)]);
        assert_eq!(found.len(), 1, "one file system: {found:?}");
        assert_eq!(found[0].needed_bytes, 2 << 60);
        assert_eq!(shortages(&[need("no/such/folder/f", 1 << 60)]).len(), 1);
    }

    #[test]
    fn a_file_of_two_runs_is_needed_once_and_files_of_each_add_up() {
        let room = |missing: &[(&str, u64)]| FileSystemRoom {
            device: 1,
            usable_bytes: 100,
            missing: missing.iter().map(|(path, bytes)| (PathBuf::from(path), *bytes)).collect(),
        };
        for (other, short) in [(&[("shared", 60)][..], None), (&[("shared", 60), ("own", 41)], Some(101))] {
            let mut all = room(&[("shared", 50)]);
            assert_eq!(all.shortage(), None);
            all.add(room(other));
            assert_eq!(all.shortage().map(|shortage| shortage.needed_bytes), short);
        }
    }

    #[test]
    fn sums_do_not_overflow_and_what_is_there_counts() {
        let folder = tempfile::tempdir().unwrap();
        let need = |name: &str, bytes| SpaceNeed { path: folder.path().join(name), bytes };
        assert_eq!(shortages(&[need("a", u64::MAX), need("b", u64::MAX)])[0].needed_bytes, u64::MAX);
        std::fs::write(folder.path().join("full"), vec![1; 1 << 20]).unwrap();
        assert_eq!(shortages(&[need("full", 1 << 20)]), []);
        assert_eq!(shortages(&[need("/dev/null", 1 << 60)]), [], "a device has no blocks to allocate");
    }
}
