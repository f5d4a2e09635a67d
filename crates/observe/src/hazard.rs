//! What would be destroyed by writing to a path.
//!
//! Facts only, each with a sentence for the user: the binary refuses, or goes on when the user said so. An
//! empty list means that nothing was found, for these dangers: a block device (or a partition of it, or the
//! disk it is part of) that is mounted, used as swap, part of a dm or md device, behind a loop device, claimed
//! by somebody in the kernel, or partitioned; a regular file that holds data which no job made.
//! A raw device with data but none of these signs (an unmounted file system on a whole disk) is not a hazard:
//! overwriting devices is what a storage benchmark is for.

use std::fmt;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;

use crate::block_tree::{folder_names, partitions};
use crate::{LayoutMark, System, is_fio_generated_name, layout_mark};

/// A path that a run will write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteTarget<'a> {
    /// File or device.
    pub path: &'a Path,
    /// Whether its name was made from the job's name, so that whatever is there was made by a job.
    pub generated: bool,
}

/// One reason not to write to a path. `Display` says it in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hazard {
    /// The device, or one that shares its blocks, is mounted.
    Mounted {
        /// The path asked about.
        path: PathBuf,
        /// Kernel name of the device that is mounted.
        device: String,
        /// Where.
        mount_point: PathBuf,
    },
    /// The device or file is swapped to.
    Swap {
        /// The path asked about.
        path: PathBuf,
        /// The swap area.
        area: PathBuf,
    },
    /// Another block device is built on it (device mapper, RAID, bcache).
    Held {
        /// The path asked about.
        path: PathBuf,
        /// Kernel name of the device that is held.
        device: String,
        /// Kernel name of the device built on it.
        holder: String,
    },
    /// A loop device shows its content as a disk.
    LoopBacking {
        /// The path asked about.
        path: PathBuf,
        /// Kernel name of the loop device.
        loop_device: String,
    },
    /// The kernel says that somebody holds it for exclusive use, perhaps in another mount namespace.
    Claimed {
        /// The path asked about.
        path: PathBuf,
    },
    /// The device has partitions.
    Partitioned {
        /// The path asked about.
        path: PathBuf,
        /// Their kernel names.
        partitions: Vec<String>,
    },
    /// A regular file with data that no job is known to have made.
    ForeignFile {
        /// The path asked about.
        path: PathBuf,
        /// Its size, bytes.
        size_bytes: u64,
        /// Whether its file system could carry the mark at all; if not, it may be ours after all.
        marks_work: bool,
    },
    /// It could not be looked at, so nothing can be said.
    Unknown {
        /// The path asked about.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
}

impl Hazard {
    /// The path asked about.
    pub fn path(&self) -> &Path {
        match self {
            Hazard::Mounted { path, .. }
            | Hazard::Swap { path, .. }
            | Hazard::Held { path, .. }
            | Hazard::LoopBacking { path, .. }
            | Hazard::Claimed { path }
            | Hazard::Partitioned { path, .. }
            | Hazard::ForeignFile { path, .. }
            | Hazard::Unknown { path, .. } => path,
        }
    }

    /// Whether `allow_mounted_write=1` is the user's word for accepting it.
    pub fn is_about_a_device_in_use(&self) -> bool {
        !matches!(self, Hazard::ForeignFile { .. } | Hazard::Unknown { .. })
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hazard::Mounted { path, device, mount_point } => {
                write!(f, "{}: {device} is mounted on {}", path.display(), mount_point.display())
            }
            Hazard::Swap { path, area } => write!(f, "{}: the system swaps to {}", path.display(), area.display()),
            Hazard::Held { path, device, holder } => {
                write!(f, "{}: {device} is part of {holder}, which is active", path.display())
            }
            Hazard::LoopBacking { path, loop_device } => {
                write!(f, "{}: it is the backing store of {loop_device}, which is active", path.display())
            }
            Hazard::Claimed { path } => {
                write!(f, "{}: the kernel holds it for exclusive use (a mount elsewhere, perhaps)", path.display())
            }
            Hazard::Partitioned { path, partitions } => {
                write!(f, "{}: it has partitions ({})", path.display(), partitions.join(", "))
            }
            Hazard::ForeignFile { path, size_bytes, .. } => {
                write!(f, "{}: the file holds {size_bytes} bytes that no job is known to have made", path.display())
            }
            Hazard::Unknown { path, reason } => write!(f, "{}: cannot tell what is there: {reason}", path.display()),
        }
    }
}

impl System {
    /// Everything that writing to `target` would destroy; empty when nothing was found.
    pub fn hazards(&self, target: WriteTarget<'_>) -> Vec<Hazard> {
        if self.device_of_node(target.path).is_some() {
            return self.device_hazards(target.path);
        }
        match fs::metadata(target.path) {
            Ok(metadata) if metadata.is_file() => self.file_hazards(target, metadata.len()),
            Ok(_) => Vec::new(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => vec![Hazard::Unknown { path: target.path.to_owned(), reason: error.to_string() }],
        }
    }

    fn device_hazards(&self, path: &Path) -> Vec<Hazard> {
        let owned = || path.to_owned();
        let Some(folder) = self.device_of_node(path).and_then(|number| self.device_folder(number)) else {
            return vec![Hazard::Unknown { path: owned(), reason: "sysfs does not know this device".into() }];
        };
        let own_partitions = partitions(&folder);
        let mut hazards = Vec::new();
        for related in related_folders(&folder, &own_partitions) {
            hazards.extend(self.mount_hazards(path, &related));
            hazards.extend(self.swap_hazards(path, &related));
            let device = folder_name(&related);
            hazards.extend(folder_names(&related.join("holders")).into_iter().map(|holder| Hazard::Held {
                path: owned(),
                device: device.clone(),
                holder,
            }));
            hazards.extend(self.loop_hazards(path, |backing| self.is_device(backing, &related)));
        }
        if !own_partitions.is_empty() {
            hazards.push(Hazard::Partitioned { path: owned(), partitions: own_partitions });
        }
        if hazards.is_empty() && self.is_live() && is_claimed(path) {
            hazards.push(Hazard::Claimed { path: owned() });
        }
        hazards
    }

    fn mount_hazards(&self, path: &Path, folder: &Path) -> Vec<Hazard> {
        let device = folder_name(folder);
        let number = fs::read_to_string(folder.join("dev")).ok().and_then(|text| crate::DeviceNumber::parse(&text));
        let mounts = self.mounts().into_iter();
        // btrfs and some others mount under an anonymous number: there the source tells.
        let shows =
            mounts.filter(|mount| Some(mount.device) == number || self.is_device(Path::new(&mount.source), folder));
        let hazard = |mount: crate::Mount| Hazard::Mounted {
            path: path.to_owned(),
            device: device.clone(),
            mount_point: mount.mount_point,
        };
        shows.map(hazard).collect()
    }

    fn swap_hazards(&self, path: &Path, folder: &Path) -> Vec<Hazard> {
        let areas = self.swaps().into_iter().filter(|swap| !swap.is_file && self.is_device(&swap.path, folder));
        areas.map(|swap| Hazard::Swap { path: path.to_owned(), area: swap.path }).collect()
    }

    /// Active loop devices whose backing store satisfies `is_this`.
    fn loop_hazards(&self, path: &Path, is_this: impl Fn(&Path) -> bool) -> Vec<Hazard> {
        let loops = folder_names(&self.path("sys/block")).into_iter().filter(|name| name.starts_with("loop"));
        let behind = loops.filter(|name| {
            let backing = self.read(&format!("sys/block/{name}/loop/backing_file"));
            backing.is_some_and(|text| is_this(Path::new(text.trim_end_matches('\n'))))
        });
        behind.map(|loop_device| Hazard::LoopBacking { path: path.to_owned(), loop_device }).collect()
    }

    /// Whether a path such as `/dev/mapper/x` is the device with this sysfs folder.
    fn is_device(&self, node: &Path, folder: &Path) -> bool {
        if !node.starts_with("/dev") {
            return false;
        }
        match self.device_of_node(node) {
            Some(number) => self.device_folder(number).is_some_and(|found| found == folder),
            None => node.file_name().is_some_and(|name| name.to_string_lossy() == folder_name(folder)),
        }
    }

    fn file_hazards(&self, target: WriteTarget<'_>, size_bytes: u64) -> Vec<Hazard> {
        let path = target.path;
        let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut hazards = self.loop_hazards(path, |backing| backing == full);
        let areas = self.swaps().into_iter().filter(|swap| swap.is_file && swap.path == full);
        hazards.extend(areas.map(|swap| Hazard::Swap { path: path.to_owned(), area: swap.path }));
        if target.generated || is_fio_generated_name(path) || holds_no_data(path, size_bytes) {
            return hazards;
        }
        match layout_mark(path) {
            Ok(LayoutMark::Present) => {}
            Ok(mark) => hazards.push(Hazard::ForeignFile {
                path: path.to_owned(),
                size_bytes,
                marks_work: mark == LayoutMark::Absent,
            }),
            Err(error) => hazards.push(Hazard::Unknown { path: path.to_owned(), reason: error.to_string() }),
        }
        hazards
    }
}

/// The device itself, its partitions, and the disk it is a partition of: all that share blocks with it.
fn related_folders(folder: &Path, own_partitions: &[String]) -> Vec<PathBuf> {
    let mut related = vec![folder.to_owned()];
    related.extend(own_partitions.iter().map(|name| folder.join(name)));
    if folder.join("partition").exists() {
        related.extend(folder.parent().map(Path::to_owned));
    }
    related
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// `O_EXCL` without `O_CREAT` on a block device fails with `EBUSY` when it is in use (open(2)).
fn is_claimed(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    matches!(rustix::fs::open(path, flags, Mode::empty()), Err(Errno::BUSY))
}

/// Whether a regular file is empty or one hole (`SEEK_DATA`, lseek(2)).
fn holds_no_data(path: &Path, size_bytes: u64) -> bool {
    if size_bytes == 0 {
        return true;
    }
    let Ok(file) = File::open(path) else { return false };
    matches!(rustix::fs::seek(file.as_fd(), SeekFrom::Data(0)), Err(Errno::NXIO))
}

#[cfg(test)]
mod tests;
