//! The outside: sysfs and the state folder, behind two small traits, so that tests can have a kernel of their own and a crash at every step.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Settings of block devices.
pub trait Queues {
    /// The text of a setting.
    ///
    /// # Errors
    /// What the system says; `NotFound` when the device has no such setting.
    fn read(&self, device: &str, name: &str) -> io::Result<String>;
    /// Sets it.
    ///
    /// # Errors
    /// What the kernel says of the value.
    fn write(&self, device: &str, name: &str, value: &str) -> io::Result<()>;
    /// Whether it may be set, without setting it.
    ///
    /// # Errors
    /// Why not.
    fn may_write(&self, device: &str, name: &str) -> io::Result<()>;
    /// What tells this device from a later one of the same name.
    fn identity(&self, device: &str) -> String;
}

/// Journals and locks, one of each for a device.
pub trait Notes {
    /// Takes the device for this process and its children; `None` when another has it. It is given back when the file is dropped.
    ///
    /// # Errors
    /// The state folder cannot be used.
    fn lock(&self, device: &str) -> io::Result<Option<File>>;
    /// Writes a journal so that it survives a crash; returns when it does.
    ///
    /// # Errors
    /// The state folder cannot be written.
    fn keep(&self, device: &str, text: &str) -> io::Result<()>;
    /// Removes a journal.
    ///
    /// # Errors
    /// The state folder cannot be written.
    fn forget(&self, device: &str) -> io::Result<()>;
    /// All journals: device and text.
    ///
    /// # Errors
    /// The state folder cannot be read.
    fn kept(&self) -> io::Result<Vec<(String, String)>>;
    /// Which boot of the machine this is.
    fn boot(&self) -> String;
}

/// The machine the program runs on, or a tree like it.
#[derive(Debug, Clone)]
pub struct Machine {
    root: PathBuf,
    state: PathBuf,
}

impl Machine {
    /// `root` holds `sys` and `proc`; `state` is the folder of journals, made when it is needed.
    pub fn new(root: &Path, state: &Path) -> Machine {
        Machine { root: root.to_owned(), state: state.to_owned() }
    }

    fn queue_file(&self, device: &str, name: &str) -> PathBuf {
        self.root.join("sys/block").join(device).join("queue").join(name)
    }

    fn note(&self, device: &str, suffix: &str) -> PathBuf {
        self.state.join(format!("{device}.{suffix}"))
    }
}

impl Queues for Machine {
    fn read(&self, device: &str, name: &str) -> io::Result<String> {
        fs::read_to_string(self.queue_file(device, name))
    }

    fn write(&self, device: &str, name: &str, value: &str) -> io::Result<()> {
        // One write, as the kernel takes one value for each.
        OpenOptions::new().write(true).open(self.queue_file(device, name))?.write_all(value.as_bytes())
    }

    fn may_write(&self, device: &str, name: &str) -> io::Result<()> {
        OpenOptions::new().write(true).open(self.queue_file(device, name)).map(drop)
    }

    fn identity(&self, device: &str) -> String {
        let file = self.root.join("sys/block").join(device).join("diskseq");
        fs::read_to_string(file).unwrap_or_default().trim().to_owned()
    }
}

impl Notes for Machine {
    fn lock(&self, device: &str) -> io::Result<Option<File>> {
        fs::create_dir_all(&self.state)?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(self.note(device, "lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn keep(&self, device: &str, text: &str) -> io::Result<()> {
        let (unfinished, place) = (self.note(device, "new"), self.note(device, "json"));
        let mut file = File::create(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, &place)?;
        // The name is durable when the folder is (fsync(2)).
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
        let mut kept = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json")
                && let Some(device) = path.file_stem().and_then(|stem| stem.to_str())
            {
                kept.push((device.to_owned(), fs::read_to_string(&path)?));
            }
        }
        kept.sort();
        Ok(kept)
    }

    fn boot(&self) -> String {
        let file = self.root.join("proc/sys/kernel/random/boot_id");
        fs::read_to_string(file).unwrap_or_default().trim().to_owned()
    }
}
