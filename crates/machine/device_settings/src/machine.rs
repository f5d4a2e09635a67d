//! Sysfs and the state folder, behind two small traits, so that tests can simulate a kernel, and a
//! crash at every step.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use iolab_order::Arrange;

use crate::attributes::is_attribute;

/// A journal is a few hundred bytes long.
const MOST_JOURNAL_BYTES: u64 = 64 << 10;
/// Most journals read: more than a machine has devices.
const MOST_JOURNALS: usize = 4096;

/// Settings of block devices.
pub trait Queues {
    /// Reads a setting.
    ///
    /// # Errors
    /// The system's error; `NotFound` when the device has no such setting.
    fn read(&self, device: &str, name: &str) -> io::Result<String>;
    /// Sets it.
    ///
    /// # Errors
    /// The kernel's error for the value.
    fn write(&self, device: &str, name: &str, value: &str) -> io::Result<()>;
    /// Checks whether it may be set, without setting it.
    ///
    /// # Errors
    /// Why it may not.
    fn may_write(&self, device: &str, name: &str) -> io::Result<()>;
    /// Distinguishes this device from a later one with the same name.
    fn identity(&self, device: &str) -> String;
}

/// Journals and locks, one of each for a device.
pub trait Notes {
    /// Locks the device for this process and its children; `None` when another process has it.
    /// Dropping the file releases the lock.
    ///
    /// # Errors
    /// The state folder cannot be used.
    fn lock(&self, device: &str) -> io::Result<Option<File>>;
    /// Writes a journal durably.
    ///
    /// # Errors
    /// The state folder cannot be written.
    fn keep(&self, device: &str, text: &str) -> io::Result<()>;
    /// Removes a journal.
    ///
    /// # Errors
    /// The state folder cannot be written.
    fn forget(&self, device: &str) -> io::Result<()>;
    /// All journals, as device and text.
    ///
    /// # Errors
    /// The state folder cannot be read.
    fn kept(&self) -> io::Result<Vec<(String, String)>>;
    /// Identifies the current boot of the machine.
    fn boot(&self) -> String;
}

/// The machine that the program runs on, or a tree like it.
#[derive(Debug, Clone)]
pub struct Machine {
    root: PathBuf,
    state: PathBuf,
}

impl Machine {
    /// `root` contains `sys` and `proc`; `state` is the folder of journals, created when needed.
    pub fn new(root: &Path, state: &Path) -> Machine {
        Machine { root: root.to_owned(), state: state.to_owned() }
    }

    /// The file of a setting. Names may come from journals, so only existing settings and devices
    /// of the kernel are accepted.
    fn queue_file(&self, device: &str, name: &str) -> io::Result<PathBuf> {
        if !is_attribute(name) {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                format!("`{}` is not a setting that iolab changes", name.escape_debug()),
            ));
        }
        Ok(self.device_folder(device)?.join("queue").join(name))
    }

    fn device_folder(&self, device: &str) -> io::Result<PathBuf> {
        check_name(device)?;
        Ok(self.root.join("sys/block").join(device))
    }

    /// Opens a file of the state folder: a regular file of this user, never through a link, and
    /// without blocking.
    fn open_note(&self, options: &mut OpenOptions, path: &Path) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = options.custom_flags(flags.bits() as i32).mode(0o600).open(path)?;
        let metadata = file.metadata()?;
        let user = rustix::process::geteuid();
        if !metadata.is_file() || metadata.uid() != user.as_raw() {
            let what = format!("{} is not a regular file of user {}: remove it", path.display(), user.as_raw());
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        Ok(file)
    }

    /// Reads a journal, but no more than its maximum size.
    fn read_note(&self, path: &Path) -> io::Result<String> {
        let file = self.open_note(OpenOptions::new().read(true), path)?;
        let mut text = String::new();
        file.take(MOST_JOURNAL_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MOST_JOURNAL_BYTES {
            let what = format!("{} is too long for a journal: remove it", path.display());
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        Ok(text)
    }

    /// Refuses a state folder that others may write to.
    fn check_state(&self) -> io::Result<()> {
        let metadata = fs::metadata(&self.state)?;
        let user = rustix::process::geteuid();
        if metadata.uid() != user.as_raw() || metadata.mode() & 0o022 != 0 {
            let what = format!(
                "{} is not private to user {} (owner {}, mode {:o}): change that, or set IOLAB_STATE to another folder",
                self.state.display(),
                user.as_raw(),
                metadata.uid(),
                metadata.mode() & 0o7777
            );
            return Err(io::Error::new(ErrorKind::PermissionDenied, what));
        }
        Ok(())
    }

    fn note(&self, device: &str, suffix: &str) -> PathBuf {
        self.state.join(format!("{device}.{suffix}"))
    }
}

/// Checks that the name of a block device is a single entry of `/sys/block`.
fn check_name(device: &str) -> io::Result<()> {
    if device.is_empty() || device.contains(['/', '\0']) || device == "." || device == ".." {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            format!("`{}` is not the name of a block device", device.escape_debug()),
        ));
    }
    Ok(())
}

impl Queues for Machine {
    fn read(&self, device: &str, name: &str) -> io::Result<String> {
        fs::read_to_string(self.queue_file(device, name)?)
    }

    fn write(&self, device: &str, name: &str, value: &str) -> io::Result<()> {
        // A single write, because the kernel takes each write as one value.
        OpenOptions::new().write(true).open(self.queue_file(device, name)?)?.write_all(value.as_bytes())
    }

    fn may_write(&self, device: &str, name: &str) -> io::Result<()> {
        OpenOptions::new().write(true).open(self.queue_file(device, name)?).map(drop)
    }

    fn identity(&self, device: &str) -> String {
        let text = self.device_folder(device).and_then(|folder| fs::read_to_string(folder.join("diskseq")));
        text.unwrap_or_default().trim().to_owned()
    }
}

impl Notes for Machine {
    fn lock(&self, device: &str) -> io::Result<Option<File>> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.state)?;
        self.check_state()?;
        check_name(device)?;
        let mut options = OpenOptions::new();
        let file = self.open_note(options.create(true).truncate(false).write(true), &self.note(device, "lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn keep(&self, device: &str, text: &str) -> io::Result<()> {
        let (unfinished, place) = (self.note(device, "new"), self.note(device, "json"));
        // A leftover of a killed process.
        if let Err(error) = fs::remove_file(&unfinished)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = self.open_note(OpenOptions::new().write(true).create_new(true), &unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, &place)?;
        // The name is durable once the folder is (fsync(2)).
        File::open(&self.state)?.sync_all()
    }

    fn forget(&self, device: &str) -> io::Result<()> {
        match fs::remove_file(self.note(device, "json")) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn kept(&self) -> io::Result<Vec<(String, String)>> {
        let entries = match fs::read_dir(&self.state) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        self.check_state()?;
        let mut kept = Vec::new();
        for entry in entries.take(MOST_JOURNALS) {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json")
                && let Some(device) = path.file_stem().and_then(|stem| stem.to_str())
            {
                // A journal that cannot be read is reported for its device, and does not affect
                // others.
                let text = self.read_note(&path).unwrap_or_else(|error| format!("unreadable: {error}"));
                kept.push((device.to_owned(), text));
            }
        }
        kept.arrange();
        Ok(kept)
    }

    fn boot(&self) -> String {
        let file = self.root.join("proc/sys/kernel/random/boot_id");
        fs::read_to_string(file).unwrap_or_default().trim().to_owned()
    }
}
