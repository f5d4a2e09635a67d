//! Whether an open file may hold the data of a virtual SSD: its content would be lost.
//!
//! The guard checks it like the files of jobs. In addition, the state file beside it counts as a
//! mark. Deliberately not here: opening it, and the user's permissions.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use iolab_guard::{Danger, Guard, GuardRules, GuardedPath, PathChange, SIGNATURE_BYTES, signatures};
use iolab_virtual_ssd::{is_state, state_path};

/// Why a file is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Objection {
    /// It must not be used, even if the user allows it.
    InUse(String),
    /// It may be used if the user allows it.
    Foreign(String),
}

/// Whether the file, which was opened by this path, may be used.
pub(crate) fn judge(file: &File, path: &Path) -> Result<(), Objection> {
    let is_file = file.metadata().map(|metadata| metadata.is_file());
    match is_file {
        Ok(true) => {}
        Ok(false) => {
            let why = "not a regular file: name a regular file, or one that can be created";
            return Err(Objection::InUse(why.to_owned()));
        }
        Err(error) => return Err(Objection::InUse(format!("cannot examine it: {error}"))),
    }
    judge_use(file, path)
}

/// Checks a block device, on which a file system or partitions would be lost.
pub(crate) fn judge_device(file: &File, path: &Path) -> Result<(), Objection> {
    judge_use(file, path)?;
    let mut start = Vec::with_capacity(SIGNATURE_BYTES);
    let read = file.take(SIGNATURE_BYTES as u64).read_to_end(&mut start);
    read.map_err(|error| Objection::InUse(format!("cannot examine it: {error}")))?;
    match signatures(&start) {
        found if found.is_empty() => Ok(()),
        found => Err(Objection::Foreign(format!("it holds {}", found.join(" and ")))),
    }
}

fn judge_use(file: &File, path: &Path) -> Result<(), Objection> {
    let guard = Guard::live(GuardRules::default());
    for hazard in guard.hazards_of(&GuardedPath::named(path), &PathChange::OVERWRITES, file) {
        match hazard.danger {
            // The state file beside it shows that a device has created it, if files cannot carry a
            // mark.
            Danger::Foreign { .. } if is_state(&state_path(path)) => {}
            danger @ Danger::Foreign { .. } => return Err(Objection::Foreign(danger.to_string())),
            danger => return Err(Objection::InUse(danger.to_string())),
        }
    }
    Ok(())
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
        if iolab_guard::mark_layout(open()).unwrap() {
            assert_eq!(judge(&open(), &path), Ok(()));
        }
        let folder = File::open(folder.path()).unwrap();
        assert!(matches!(judge(&folder, &path), Err(Objection::InUse(why)) if why.contains("regular file")));
    }
}
