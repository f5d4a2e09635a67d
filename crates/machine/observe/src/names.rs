//! Other names of block devices: those of the device mapper, and the persistent ones below
//! `/dev/disk`.

use std::fs;
use std::path::Path;

use crate::System;
use crate::block_tree::folder_names;

impl System {
    /// The name with which a device-mapper device was registered
    /// (Documentation/ABI/testing/sysfs-block-dm).
    pub fn mapper_name(&self, device: &str) -> Option<String> {
        let name = self.read(&format!("sys/block/{device}/dm/name"))?;
        Some(name.trim_end_matches('\n').to_owned())
    }

    /// Kinds of persistent names on this machine: the part after `by-` in the names of the folders
    /// in `/dev/disk`.
    pub fn persistent_kinds(&self) -> Vec<String> {
        let folders = folder_names(&self.path("dev/disk"));
        folders.iter().filter_map(|folder| folder.strip_prefix("by-").map(str::to_owned)).collect()
    }

    /// Persistent names of a kind with the corresponding kernel names, in the order of the folder.
    pub fn persistent_names(&self, kind: &str) -> Vec<(String, String)> {
        let entries = fs::read_dir(self.path(&format!("dev/disk/by-{kind}"))).into_iter().flatten().flatten();
        let named = entries.filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            Some((entry.file_name().to_str()?.to_owned(), last_part(&target)?))
        });
        named.collect()
    }

    /// The kernel name of a block device or partition, given that name, a path or link below
    /// `/dev`, or the device mapper's name.
    pub fn kernel_name(&self, called: &str) -> Option<String> {
        let path = called.strip_prefix("/dev/").unwrap_or(called);
        if self.has_block_device(path) {
            return Some(path.to_owned());
        }
        let linked = fs::canonicalize(self.path(&format!("dev/{path}"))).ok();
        let linked = linked.and_then(|path| last_part(&path)).filter(|name| self.has_block_device(name));
        let mapped = path.strip_prefix("mapper/").unwrap_or(path);
        linked
            .or_else(|| self.block_devices().into_iter().find(|name| self.mapper_name(name).as_deref() == Some(mapped)))
    }
}

fn last_part(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use crate::system::fixtures::Fixture;

    #[test]
    fn a_device_has_many_names() {
        let mut fixture = Fixture::new();
        for (device, number) in [("sda", "8:0"), ("dm-0", "252:0"), ("dm-1", "252:1")] {
            fixture
                .disk(device, number)
                .file(&format!("sys/block/{device}/stat"), "0")
                .file(&format!("dev/{device}"), "");
        }
        fixture.file("sys/block/dm-0/dm/name", "vg-home\n").file("sys/block/dm-1/dm/name", "crypt root\n");
        fixture.file("dev/disk/by-label/.keep", "").file("dev/disk/by-uuid/.keep", "").file("dev/mapper/.keep", "");
        let system = fixture.system();
        symlink("../../sda", system.path("dev/disk/by-label/big")).unwrap();
        symlink("../dm-0", system.path("dev/mapper/vg-home")).unwrap();
        let mapped = ["dm-0", "dm-1", "sda"].map(|name| system.mapper_name(name));
        assert_eq!(mapped, [Some("vg-home".into()), Some("crypt root".into()), None]);
        assert_eq!(system.persistent_kinds(), ["label", "uuid"]);
        assert_eq!(system.persistent_names("label"), [("big".to_owned(), "sda".to_owned())]);
        assert!(system.persistent_names("uuid").is_empty() && system.persistent_names("id").is_empty());
        let names = [
            ("sda", Some("sda")),
            ("/dev/sda", Some("sda")),
            ("/dev/disk/by-label/big", Some("sda")),
            ("/dev/mapper/vg-home", Some("dm-0")),
            ("/dev/mapper/crypt root", Some("dm-1")),
            ("crypt root", Some("dm-1")),
            ("sdb", None),
            ("/dev/../etc", None),
        ];
        for (called, name) in names {
            assert_eq!(system.kernel_name(called).as_deref(), name, "{called}");
        }
        let mut unsorted = system.block_devices_unsorted();
        unsorted.sort();
        assert_eq!(unsorted, system.block_devices());
    }
}
