//! The file that holds the data of a virtual SSD. Jobs, services and exports all open or create it
//! here.
//!
//! Guarantees: a file that iolab did not create is used only if the user has named it
//! ([`allow_media`]). A file in use by the kernel or by another process of iolab (flock(2)) is
//! never used. A created file gets the mark of iolab's files. A refused file stays unchanged, and
//! nothing is left beside it.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use iolab_guard::{Identity, LayoutMark, layout_mark, mark_layout};
use iolab_virtual_ssd::{Config, ConfigError, Subsystem, data_made_for, state_path};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::media_guard::{Objection, judge, judge_device};

/// A file cannot hold the data of a device, or cannot be removed with it.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// Using it would be unsafe.
    #[error("media: {path}: {why}")]
    Refused {
        /// The file.
        path: String,
        /// Why, and what to do.
        why: String,
    },
    /// An operation on it failed.
    #[error("media: {path}: {source}")]
    System {
        /// The file.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Files whose content may be lost.
static ALLOWED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The user allows the content of these files to be lost. Applies to the whole process.
pub fn allow_media<'a>(paths: impl IntoIterator<Item = &'a Path>) {
    let mut allowed = ALLOWED.lock().unwrap_or_else(PoisonError::into_inner);
    allowed.extend(paths.into_iter().map(Path::to_owned));
}

/// An open file, and whether it was just created.
#[derive(Debug)]
struct MediaFile {
    file: File,
    is_made: bool,
}

/// Makes the drive that `config` describes, with its data in the named file, if any.
///
/// # Errors
/// A file that may not be used, or an invalid description.
pub(crate) fn make_with_file(config: Config) -> Result<Arc<Subsystem>, DriveError> {
    let Some(path) = config.media_file().map(Path::to_owned) else { return Ok(Subsystem::new(config)?) };
    let MediaFile { file, is_made } = open(&path)?;
    let made = file.metadata().ok().map(|metadata| Identity::of(&metadata)).filter(|_| is_made);
    let drive = Subsystem::with_file(config, file);
    if drive.is_err() && made.is_some() && made == identity_at(&path) {
        // The file was created for a drive that could not be made. The drive's error is the one to
        // report.
        let _ = std::fs::remove_file(&path);
    }
    Ok(drive?)
}

/// A drive cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// Its file.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// Its description.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Whether the file may be used for data, without creating or changing anything.
///
/// # Errors
/// The reason if it may not.
pub fn check_media(path: &Path) -> Result<(), MediaError> {
    match open_there(path, false) {
        Ok(file) => admit(&file, path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(source) => Err(failed(path, source)),
    }
}

/// Removes the data of a device and its state file. `false` if there are none.
///
/// # Errors
/// A file that no device of iolab has created, or that is in use. Then nothing is removed.
pub fn remove_media(path: &Path) -> Result<bool, MediaError> {
    let file = match open_there(path, false) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        opened => opened.map_err(|source| failed(path, source))?,
    };
    let metadata = file.metadata().map_err(|source| failed(path, source))?;
    let state = state_path(path);
    let own = Identity::of(&metadata);
    let is_known = data_made_for(&state) == Some((metadata.dev(), metadata.ino()));
    let is_marked = !matches!(layout_mark(&file), Ok(LayoutMark::Absent) | Err(_));
    let is_named = identity_at(path) == Some(own);
    if !(is_known && is_marked && is_named) {
        let why = "this device did not create it, so it is kept; remove it yourself if you do not need it";
        return Err(refused(path, why));
    }
    if let Err(Objection::InUse(why)) = judge(&file, path) {
        return Err(refused(path, &why));
    }
    lock(&file, path)?;
    std::fs::remove_file(path).map_err(|source| failed(path, source))?;
    std::fs::remove_file(&state).map_err(|source| failed(&state, source))?;
    Ok(true)
}

/// The existing file, or a new one with the mark.
fn open(path: &Path) -> Result<MediaFile, MediaError> {
    let failed = |source| failed(path, source);
    let mut new = OpenOptions::new();
    let (file, is_made) = match new.read(true).write(true).create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => (open_there(path, true).map_err(failed)?, false),
        made => (made.map_err(failed)?, true),
    };
    admit(&file, path)?;
    lock(&file, path)?;
    if file.metadata().map_err(failed)?.len() == 0 {
        // If the file system does not support marks, the state file beside the data identifies the
        // owner.
        let _marked = mark_layout(&file).map_err(failed)?;
    }
    Ok(MediaFile { file, is_made })
}

/// The identity of the file at a path, without following a link.
fn identity_at(path: &Path) -> Option<Identity> {
    std::fs::symlink_metadata(path).ok().map(|metadata| Identity::of(&metadata))
}

/// Opens without waiting for the other end of a pipe.
fn open_there(path: &Path, write: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(write).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}

fn admit(file: &File, path: &Path) -> Result<(), MediaError> {
    admit_judged(judge(file, path), file, path)
}

/// Whether a block device may hold data.
pub(crate) fn admit_device(file: &File, path: &Path) -> Result<(), MediaError> {
    admit_judged(judge_device(file, path), file, path)
}

/// Whether the user allows the target of this name, a path or not, to be overwritten.
pub(crate) fn is_allowed_path(name: &Path) -> bool {
    ALLOWED.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|allowed| allowed == name)
}

fn admit_judged(judged: Result<(), Objection>, file: &File, path: &Path) -> Result<(), MediaError> {
    match judged {
        Ok(()) => Ok(()),
        Err(Objection::Foreign(_)) if is_allowed(file) => Ok(()),
        Err(Objection::Foreign(why)) => Err(refused(
            path,
            &format!("{why}. To overwrite it, add --allow-destroy {}; otherwise name another file", path.display()),
        )),
        Err(Objection::InUse(why)) => Err(refused(path, &why)),
    }
}

fn is_allowed(file: &File) -> bool {
    let Ok(own) = file.metadata() else { return false };
    let own = Identity::of(&own);
    let same = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|other| Identity::of(&other) == own);
    ALLOWED.lock().unwrap_or_else(PoisonError::into_inner).iter().any(same)
}

/// Excludes other processes of iolab while the file is open.
pub(crate) fn lock(file: &File, path: &Path) -> Result<(), MediaError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(refused(
            path,
            "another iolab process uses it: end that process first, or use the device that it serves",
        )),
        // File systems without locks are trusted.
        _ => Ok(()),
    }
}

fn refused(path: &Path, why: &str) -> MediaError {
    MediaError::Refused { path: path.display().to_string(), why: why.to_owned() }
}

fn failed(path: &Path, source: io::Error) -> MediaError {
    MediaError::System { path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use iolab_testkit::folder::names;

    use super::*;

    fn config(path: &Path, size: &str) -> Config {
        Config::parse(&format!("size={size} media=file:{}", path.display())).unwrap()
    }

    #[test]
    fn what_is_refused_is_as_it_was_and_nothing_is_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("precious");
        std::fs::write(&path, "years of work").unwrap();
        for _ in 0..2 {
            let said = make_with_file(config(&path, "16M")).unwrap_err().to_string();
            assert!(said.contains("13 bytes") && said.contains("--allow-destroy"), "{said}");
            assert!(check_media(&path).is_err() && remove_media(&path).is_err());
        }
        let huge = folder.path().join("huge");
        assert!(make_with_file(config(&huge, "1000000G")).unwrap_err().to_string().contains("no room"));
        assert_eq!(names(folder.path()), ["precious"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"years of work");
    }

    #[test]
    fn what_a_device_has_made_is_used_again_and_removed_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let drive = make_with_file(config(&path, "16M")).unwrap();
        assert!(make_with_file(config(&path, "16M")).unwrap_err().to_string().contains("another iolab process"));
        assert!(remove_media(&path).unwrap_err().to_string().contains("another iolab process"));
        drop(drive);
        drop(make_with_file(config(&path, "16M")).unwrap());
        // The device did not create a file that replaced its own.
        let kept = folder.path().join("kept");
        std::fs::rename(&path, &kept).unwrap();
        std::fs::copy(&kept, &path).unwrap();
        assert!(remove_media(&path).unwrap_err().to_string().contains("did not create it"));
        std::fs::rename(&kept, &path).unwrap();
        assert!(remove_media(&path).unwrap());
        assert!(!remove_media(&path).unwrap());
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn what_the_user_allows_is_used_but_never_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        std::fs::write(&path, "may be lost").unwrap();
        allow_media([path.as_path()]);
        drop(make_with_file(config(&path, "16M")).unwrap());
        assert!(remove_media(&path).unwrap_err().to_string().contains("did not create it"));
        assert_eq!(names(folder.path()), ["image", "image.state"]);
    }
}
