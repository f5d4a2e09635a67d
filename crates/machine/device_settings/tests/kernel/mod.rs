//! A simulated sysfs whose files react as the kernel's do, and a process that dies after a given
//! number of steps.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use iolab_device_settings::{Machine, Notes, Queues};

/// Dies at a step: nothing that it does afterwards has any effect, as after SIGKILL.
pub(crate) struct Process {
    pub(crate) machine: Machine,
    root: PathBuf,
    /// Steps with an effect that remain.
    left: Cell<u32>,
}

pub(crate) const FOREVER: u32 = u32::MAX;

/// Two disks under a new root; `sda` has all settings, `zram0` has no scheduler.
pub(crate) fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("folders");
        fs::write(path, text).expect("a file");
    };
    file("proc/sys/kernel/random/boot_id", "boot-1\n");
    for device in ["sda", "zram0"] {
        file(&format!("sys/block/{device}/diskseq"), "7\n");
        let queue = format!("sys/block/{device}/queue");
        file(&format!("{queue}/nomerges"), "0\n");
        file(&format!("{queue}/max_sectors_kb"), "128\n");
        file(&format!("{queue}/max_hw_sectors_kb"), "256\n");
        file(&format!("{queue}/read_ahead_kb"), "256\n");
    }
    file("sys/block/sda/queue/scheduler", "[none] mq-deadline kyber \n");
    file("sys/block/sda/queue/nr_requests", "64\n");
    file("sys/block/sda/queue/wbt_lat_usec", "2000\n");
    file("sys/block/sda/queue/io_poll", "0\n");
    folder
}

/// Every setting of both disks.
pub(crate) fn settings(root: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for device in ["sda", "zram0"] {
        for entry in fs::read_dir(root.join("sys/block").join(device).join("queue")).expect("a queue") {
            let path = entry.expect("an entry").path();
            let name = format!("{device}/{}", path.file_name().expect("a name").to_string_lossy());
            all.insert(name, fs::read_to_string(path).expect("a setting"));
        }
    }
    all
}

impl Process {
    pub(crate) fn new(root: &Path, steps: u32) -> Process {
        let machine = Machine::new(root, &root.join("state"));
        Process { machine, root: root.to_owned(), left: Cell::new(steps) }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.left.get() == 0
    }

    fn step(&self) -> io::Result<()> {
        if self.is_dead() {
            return Err(io::Error::other("killed"));
        }
        self.left.set(self.left.get() - u32::from(self.left.get() != FOREVER));
        if self.is_dead() { Err(io::Error::other("killed")) } else { Ok(()) }
    }

    fn store(&self, device: &str, name: &str, text: &str) -> io::Result<()> {
        fs::write(self.root.join("sys/block").join(device).join("queue").join(name), text)
    }
}

impl Queues for Process {
    fn read(&self, device: &str, name: &str) -> io::Result<String> {
        self.machine.read(device, name)
    }

    fn write(&self, device: &str, name: &str, value: &str) -> io::Result<()> {
        self.step()?;
        let refused = || io::Error::from(io::ErrorKind::InvalidInput);
        match name {
            "scheduler" => {
                let text = self.read(device, name)?.replace(['[', ']'], "");
                let words: Vec<&str> = text.split_whitespace().collect();
                if !words.contains(&value) {
                    return Err(refused());
                }
                let chosen =
                    words.iter().map(|word| if *word == value { format!("[{word}]") } else { (*word).to_owned() });
                self.store(device, name, &(chosen.collect::<Vec<_>>().join(" ") + "\n"))?;
                // The kernel resets these together with the scheduler.
                self.store(device, "nr_requests", if value == "none" { "64\n" } else { "128\n" })?;
                self.store(device, "wbt_lat_usec", if value == "none" { "2000\n" } else { "0\n" })
            }
            "max_sectors_kb" if value.parse::<u32>().is_ok_and(|kib| kib > 256) => Err(refused()),
            "max_sectors_kb" => {
                // Limits are committed together, which sets read-ahead to its default.
                self.store(device, "read_ahead_kb", "128\n")?;
                self.store(device, name, &format!("{value}\n"))
            }
            // Older kernels accept the word without an effect.
            "io_poll" => Ok(()),
            "read_ahead_kb" => {
                let kib: u32 = value.parse().map_err(|_| refused())?;
                self.store(device, name, &format!("{}\n", kib / 4 * 4))
            }
            _ => self.store(device, name, &format!("{value}\n")),
        }
    }

    fn may_write(&self, device: &str, name: &str) -> io::Result<()> {
        self.machine.may_write(device, name)
    }

    fn identity(&self, device: &str) -> String {
        self.machine.identity(device)
    }
}

impl Notes for Process {
    fn lock(&self, device: &str) -> io::Result<Option<File>> {
        self.machine.lock(device)
    }

    fn keep(&self, device: &str, text: &str) -> io::Result<()> {
        self.step()?;
        self.machine.keep(device, text)
    }

    fn forget(&self, device: &str) -> io::Result<()> {
        self.step()?;
        self.machine.forget(device)
    }

    fn kept(&self) -> io::Result<Vec<(String, String)>> {
        self.machine.kept()
    }

    fn boot(&self) -> String {
        self.machine.boot()
    }
}
