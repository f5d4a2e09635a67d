//! From a path to the block devices below it: file system → device → disk → the disks below.
//!
//! ```text
//! /data/file ─st_dev─▶ dm-0 ─slaves/─▶ sda2 ─parent─▶ sda
//!                           └────────▶ loop0 ─loop/backing_file─▶ /images/disk ─st_dev─▶ vda
//! ```
//! A partition is represented by its whole disk, whose counters include those of the partition.
//! Paths on file systems without a device (tmpfs, overlay, network) have none. Of a btrfs with
//! several devices, only the named one is found.

use std::fs;
use std::path::{Path, PathBuf};

use iolab_order::Arrange;

use crate::{DeviceNumber, System};

/// A block device below some path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDeviceFacts {
    /// Kernel name, e.g. `sda`, `dm-0`.
    pub name: String,
    /// Kernel names of the devices it consists of; empty for a leaf.
    pub parts: Vec<String>,
}

impl System {
    /// The block devices below `paths` (files, folders, device nodes; existing or to be created),
    /// without duplicates, each before the devices it consists of.
    pub fn devices_under(&self, paths: &[PathBuf]) -> Vec<BlockDeviceFacts> {
        let mut found = Vec::new();
        // Thousands of files are often in one file system, and each lookup in sysfs takes a dozen
        // system calls.
        let mut seen = Vec::new();
        for path in paths {
            let Some(number) = self.number_under(path).filter(|number| !seen.contains(number)) else { continue };
            seen.push(number);
            if let Some(name) = self.disk_of(number, path) {
                self.collect(&name, &mut found);
            }
        }
        found
    }

    /// The whole block devices with these kernel names, without duplicates, and the devices below
    /// them.
    pub fn devices_named<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<BlockDeviceFacts> {
        let mut found = Vec::new();
        names.into_iter().for_each(|name| self.collect(name, &mut found));
        found
    }

    /// The sysfs folder of a device, given its number.
    pub fn device_folder(&self, number: DeviceNumber) -> Option<PathBuf> {
        fs::canonicalize(self.path(&format!("sys/dev/block/{number}"))).ok()
    }

    /// The whole disk that `path` is, or is stored on.
    fn disk_under(&self, path: &Path) -> Option<String> {
        self.disk_of(self.number_under(path)?, path)
    }

    /// The number of the device that `path` is, or of the file system that contains it.
    fn number_under(&self, path: &Path) -> Option<DeviceNumber> {
        self.device_of_node(path).or_else(|| self.device_holding(path))
    }

    /// The whole disk with this number, or with a partition of this number, for `path`.
    fn disk_of(&self, number: DeviceNumber, path: &Path) -> Option<String> {
        let folder = self.device_folder(number).or_else(|| {
            let source = self.mount_source(path)?;
            self.device_folder(self.device_of_node(&source)?)
        })?;
        whole_disk(&folder)
    }

    /// The mount source of `path`, for file systems whose `st_dev` is not that of a block device.
    fn mount_source(&self, path: &Path) -> Option<PathBuf> {
        let full = path.ancestors().find_map(|ancestor| fs::canonicalize(ancestor).ok())?;
        let mounts = self.mounts();
        let nearest = mounts
            .iter()
            .filter(|mount| full.starts_with(&mount.mount_point))
            .max_by_key(|mount| mount.mount_point.as_os_str().len())?;
        nearest.source.starts_with('/').then(|| PathBuf::from(&nearest.source))
    }

    /// Adds the disk `name` and everything below it to `found`.
    fn collect(&self, name: &str, found: &mut Vec<BlockDeviceFacts>) {
        if found.iter().any(|device| device.name == name) {
            return;
        }
        let parts = self.parts_of(name);
        found.push(BlockDeviceFacts { name: name.to_owned(), parts: parts.clone() });
        for part in &parts {
            self.collect(part, found);
        }
    }

    /// The whole disks that a disk consists of: slaves of dm and md, the disk below a loop device's
    /// file.
    fn parts_of(&self, name: &str) -> Vec<String> {
        let folder = self.path(&format!("sys/block/{name}"));
        let mut parts: Vec<String> = folder_names(&folder.join("slaves"))
            .iter()
            .filter_map(|slave| whole_disk(&fs::canonicalize(folder.join("slaves").join(slave)).ok()?))
            .collect();
        if let Ok(backing) = fs::read_to_string(folder.join("loop/backing_file")) {
            parts.extend(self.disk_under(Path::new(backing.trim_end_matches('\n'))));
        }
        parts.arrange();
        parts.dedup();
        parts.retain(|part| part != name);
        parts
    }
}

/// Kernel name of the disk with this sysfs folder, or of the disk that contains this partition.
pub(crate) fn whole_disk(folder: &Path) -> Option<String> {
    let disk = if folder.join("partition").exists() { folder.parent()? } else { folder };
    Some(disk.file_name()?.to_str()?.to_owned())
}

/// Names in a folder, sorted; none if it is missing.
pub fn folder_names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str().map(str::to_owned)).collect();
    names.arrange();
    names
}

/// Names of the partitions of the disk with this sysfs folder.
pub fn partitions(folder: &Path) -> Vec<String> {
    let names = folder_names(folder);
    names.into_iter().filter(|name| folder.join(name).join("partition").exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixtures::Fixture;

    fn names(devices: &[BlockDeviceFacts]) -> Vec<(&str, Vec<&str>)> {
        devices.iter().map(|device| (device.name.as_str(), device.parts.iter().map(String::as_str).collect())).collect()
    }

    #[test]
    fn a_partition_is_answered_for_by_its_disk() {
        let mut fixture = Fixture::new();
        fixture.disk("sda", "8:0").partition("sda", "sda1", "8:1").place("/data/file", "8:1");
        let devices = fixture.system().devices_under(&[PathBuf::from("/data/file")]);
        assert_eq!(names(&devices), [("sda", vec![])]);
    }

    #[test]
    fn mapped_devices_are_followed_down_to_the_leaves() {
        let mut fixture = Fixture::new();
        fixture.disk("sda", "8:0").partition("sda", "sda2", "8:2").disk("sdb", "8:16").disk("md0", "9:0");
        fixture.disk("dm-0", "252:0").slave("dm-0", "md0").slave("md0", "sda/sda2").slave("md0", "sdb");
        fixture.place("/data", "252:0");
        let devices = fixture.system().devices_under(&[PathBuf::from("/data")]);
        assert_eq!(
            names(&devices),
            [("dm-0", vec!["md0"]), ("md0", vec!["sda", "sdb"]), ("sda", vec![]), ("sdb", vec![])]
        );
    }

    #[test]
    fn a_loop_device_rests_on_the_disk_of_its_file() {
        let mut fixture = Fixture::new();
        fixture.disk("loop0", "7:0").disk("vda", "254:0").file("sys/block/loop0/loop/backing_file", "/images/disk\n");
        fixture.place("/dev/loop0", "7:0").place("/images/disk", "254:0");
        let devices = fixture.system().devices_under(&[PathBuf::from("/dev/loop0"), PathBuf::from("/images/disk")]);
        assert_eq!(names(&devices), [("loop0", vec!["vda"]), ("vda", vec![])]);
    }

    #[test]
    fn an_anonymous_device_number_is_found_through_the_mount() {
        let mut fixture = Fixture::new();
        fixture.disk("sdc", "8:32").place("/dev/sdc", "8:32").place("/", "0:44").place("/proc", "0:45");
        fixture
            .file("proc/self/mountinfo", "1 0 0:44 / / rw - btrfs /dev/sdc rw\n2 1 0:45 / /proc rw - proc proc rw\n");
        assert_eq!(names(&fixture.system().devices_under(&[PathBuf::from("/")])), [("sdc", vec![])]);
        assert_eq!(fixture.system().devices_under(&[PathBuf::from("/proc")]), []);
    }

    #[test]
    fn nothing_is_found_under_nothing() {
        assert_eq!(Fixture::new().system().devices_under(&[PathBuf::from("/anywhere")]), []);
        assert_eq!(System::live().devices_under(&[PathBuf::from("/proc/self/status")]), []);
    }

    #[test]
    fn device_numbers_parse_as_sysfs_writes_them() {
        assert_eq!(DeviceNumber::parse("8:17\n"), Some(DeviceNumber { major: 8, minor: 17 }));
        assert_eq!(DeviceNumber::parse("8:17").unwrap().to_string(), "8:17");
        for wrong in ["", "8", "8:", ":1", "a:b"] {
            assert_eq!(DeviceNumber::parse(wrong), None, "{wrong}");
        }
    }
}
