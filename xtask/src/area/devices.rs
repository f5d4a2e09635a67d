//! Block devices made for one measurement, and file systems of the kernel on them. Both are removed
//! when dropped.
//!
//! A device is written from end to end before it is used, like any used disk. The first write to a
//! place of a sparse file or of a RAM disk pays for the allocation of memory or blocks; a file
//! system that writes in place would pay once, and one that writes a log again and again. For the
//! same reason, file systems are made without discarding the device's content.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::fill;

/// Makes and removes RAM disks: reading `hot_add` makes one and says its number.
const RAM_DISKS: &str = "/sys/class/zram-control";

/// A device for exclusive use.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    RamDisk { number: u32 },
    Loop { file: tempfile::TempPath },
}

impl Device {
    /// A RAM disk of the kernel (zram), or why there is none.
    ///
    /// Memory is compacted before, and filled past the page cache: pages that do not follow each
    /// other are read at 60 % of the speed, and two disks, or two places of one, would differ by
    /// that.
    pub(crate) fn ram_disk(bytes: u64) -> Result<Device, String> {
        compact_memory();
        let failed = |error: std::io::Error| format!("a RAM disk (zram): {error}");
        let answer = fs::read_to_string(Path::new(RAM_DISKS).join("hot_add")).map_err(failed)?;
        let number: u32 = answer.trim().parse().map_err(|_| format!("{RAM_DISKS} answered {answer}"))?;
        let device = Device { path: format!("/dev/zram{number}").into(), kind: Kind::RamDisk { number } };
        fs::write(format!("/sys/block/zram{number}/disksize"), bytes.to_string()).map_err(failed)?;
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let mut disk = File::options().write(true).custom_flags(direct).open(&device.path).map_err(failed)?;
        fill(&mut disk, bytes).map_err(failed)?;
        Ok(device)
    }

    /// A loop device over a file in `folder`, bypassing the page cache.
    pub(crate) fn over_a_file(folder: &Path, name: &str, bytes: u64) -> Result<Device, String> {
        let failed = |error: std::io::Error| format!("a loop device: {error}");
        let builder = |name: &str| tempfile::Builder::new().prefix(name).suffix(".img").tempfile_in(folder);
        let mut file = builder(name).map_err(failed)?;
        fill(file.as_file_mut(), bytes).map_err(failed)?;
        let file = file.into_temp_path();
        let path = run(Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(&file))?;
        Ok(Device { path: path.trim().into(), kind: Kind::Loop { file } })
    }
}

/// Frees the page cache and moves what is left of memory together, where the system permits it.
fn compact_memory() {
    rustix::fs::sync();
    for (file, word) in [("drop_caches", "3"), ("compact_memory", "1")] {
        let _ = fs::write(Path::new("/proc/sys/vm").join(file), word);
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        match &self.kind {
            Kind::RamDisk { number } => {
                // udev may have the device open at just this moment; a disk that cannot be removed
                // holds memory.
                until_done(|| {
                    let _ = fs::write(format!("/sys/block/zram{number}/reset"), "1");
                    fs::write(Path::new(RAM_DISKS).join("hot_remove"), number.to_string()).is_ok()
                });
            }
            Kind::Loop { file } => {
                debug_assert!(file.exists(), "the file goes after its device");
                let _ = run(Command::new("losetup").arg("--detach").arg(&self.path));
            }
        }
    }
}

/// A file system of the kernel on a device, mounted in a folder of its own.
#[derive(Debug)]
pub(crate) struct Mounted<'a> {
    folder: tempfile::TempDir,
    /// Dropped after the unmount.
    _device: &'a Device,
}

impl<'a> Mounted<'a> {
    /// Makes it by this program and mounts it.
    pub(crate) fn new(mkfs: &str, options: &[&str], device: &'a Device) -> Result<Mounted<'a>, String> {
        let folder = tempfile::Builder::new().prefix("iolab-mount-").tempdir().map_err(|error| error.to_string())?;
        run(Command::new(mkfs).args(options).arg(&device.path))?;
        run(Command::new("mount").arg(&device.path).arg(folder.path()))?;
        Ok(Mounted { folder, _device: device })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // Just after a run, the kernel may hold files of it still.
        until_done(|| run(Command::new("umount").arg(self.folder.path())).is_ok());
    }
}

/// Tries for two seconds.
fn until_done(mut done: impl FnMut() -> bool) {
    for _ in 0..40 {
        if done() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// The output of a program, or its error message.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
