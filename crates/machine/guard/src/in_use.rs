//! What the kernel and other programs use at this moment: mounted, used as swap, used by a loop
//! device, part of a volume, locked.
//!
//! Everything is compared by identity, so that a hard link, a bind mount or a second device node of
//! something in use counts as in use. The tables are read once, by [`InUse::look`].

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolab_observe::{DeviceNumber, MountEntry, System, folder_names, partitions};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::hazard::{Danger, Hazard};
use crate::{Identity, loop_status, opening};

/// How often and how long to wait for a lock: programs that start at the same time examine the same
/// files.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// The tables of what is in use.
#[derive(Debug)]
pub(crate) struct InUse {
    system: System,
    mounts: Vec<MountEntry>,
    /// The file or device behind each active loop device.
    loops: Vec<(String, Identity)>,
    swaps: Vec<(PathBuf, Identity)>,
}

impl InUse {
    /// Reads the tables.
    pub(crate) fn look(system: &System) -> InUse {
        let identity = |path: &Path| match system.device_of_node(path) {
            Some(number) => Some(Identity::Device(number)),
            None => fs::metadata(path).ok().map(|metadata| Identity::of(&metadata)),
        };
        let shown = |name: &String| {
            let by_kernel = || loop_status::backing(&system.path(&format!("dev/{name}")));
            let by_name = || {
                let path = system.read(&format!("sys/block/{name}/loop/backing_file"))?;
                identity(Path::new(path.trim_end_matches('\n')))
            };
            if system.is_live() { by_kernel().or_else(by_name) } else { by_name() }
        };
        let is_active = |name: &String| system.path(&format!("sys/block/{name}/loop/backing_file")).exists();
        let loops = folder_names(&system.path("sys/block")).into_iter().filter(|name| name.starts_with("loop"));
        let loops = loops.filter(is_active).filter_map(|name| shown(&name).map(|shown| (name, shown)));
        let swaps = system.swaps().into_iter().filter_map(|swap| identity(&swap.path).map(|found| (swap.path, found)));
        InUse { loops: loops.collect(), swaps: swaps.collect(), mounts: system.mounts(), system: system.clone() }
    }

    /// The hazards of a regular file that is open as `file`. With `locks`, checks whether another
    /// program has locked it, which takes the lock for a moment.
    pub(crate) fn of_file(&self, path: &Path, identity: Identity, file: &File, locks: bool) -> Vec<Hazard> {
        let mut hazards = self.of_identity(path, identity);
        if locks && is_locked(file) {
            hazards.push(Danger::Locked.at(path));
        }
        hazards
    }

    /// The hazards of a block device that is open as `file`, if it is open.
    pub(crate) fn of_device(&self, path: &Path, number: DeviceNumber, file: Option<&File>) -> Vec<Hazard> {
        let Some(folder) = self.system.device_folder(number) else {
            return vec![Danger::Unknown { reason: "sysfs does not know this device".into() }.at(path)];
        };
        let own_partitions = partitions(&folder);
        let mut hazards = Vec::new();
        for related in related_folders(&folder, &own_partitions) {
            let device = folder_name(&related);
            let number = fs::read_to_string(related.join("dev")).ok().and_then(|text| DeviceNumber::parse(&text));
            hazards.extend(self.mounts_of(path, &related, number));
            hazards.extend(number.map(Identity::Device).into_iter().flat_map(|it| self.of_identity(path, it)));
            let held = |holder| Danger::Held { device: device.clone(), holder }.at(path);
            hazards.extend(folder_names(&related.join("holders")).into_iter().map(held));
        }
        if !own_partitions.is_empty() {
            hazards.push(Danger::Partitioned { partitions: own_partitions }.at(path));
        }
        if hazards.is_empty() && file.is_some_and(is_claimed) {
            hazards.push(Danger::Claimed.at(path));
        }
        hazards
    }

    /// Swap areas and loop devices on it.
    fn of_identity(&self, path: &Path, identity: Identity) -> Vec<Hazard> {
        let swaps = self.swaps.iter().filter(|(_, found)| *found == identity);
        let swaps = swaps.map(|(area, _)| Danger::Swap { area: area.clone() }.at(path));
        let loops = self.loops.iter().filter(|(_, shown)| *shown == identity);
        let loops = loops.map(|(name, _)| Danger::LoopBacking { loop_device: name.clone() }.at(path));
        swaps.chain(loops).collect()
    }

    fn mounts_of(&self, path: &Path, folder: &Path, number: Option<DeviceNumber>) -> Vec<Hazard> {
        // btrfs and some others are mounted under an anonymous number: compare the source.
        let shows = |mount: &&MountEntry| {
            Some(mount.device) == number || self.is_device(Path::new(&mount.source), folder, number)
        };
        let hazard = |mount: &MountEntry| {
            Danger::Mounted { device: folder_name(folder), mount_point: mount.mount_point.clone() }.at(path)
        };
        self.mounts.iter().filter(shows).map(hazard).collect()
    }

    /// Whether a path such as `/dev/mapper/x` is the device with this sysfs folder and number.
    fn is_device(&self, node: &Path, folder: &Path, number: Option<DeviceNumber>) -> bool {
        if !node.starts_with("/dev") {
            return false;
        }
        match self.system.device_of_node(node) {
            Some(found) => Some(found) == number,
            None => node.file_name().is_some_and(|name| name.to_string_lossy() == folder_name(folder)),
        }
    }
}

/// The device itself, its partitions, and the disk that it is a partition of: all devices that
/// share blocks with it.
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
fn is_claimed(file: &File) -> bool {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    matches!(rustix::fs::open(opening::again(file), flags, Mode::empty()), Err(Errno::BUSY))
}

/// Whether another program has locked an open file (flock(2)).
fn is_locked(file: &File) -> bool {
    // A lock belongs to the open file description: a separate one leaves the caller's locks
    // unchanged.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(own) = rustix::fs::open(opening::again(file), flags, Mode::empty()) else { return false };
    for attempt in 0..TRIES {
        match flock(&own, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if attempt + 1 == TRIES => return true,
            Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
            // Closing the descriptor releases the lock.
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests;
