//! PCI functions in sysfs: their identity, their drivers, and their block devices. This module only
//! reads; `crate::binding` writes.

use std::fs;
use std::path::{Path, PathBuf};

use iolab_order::Arrange;

use crate::{PciAddress, VfioError};

/// Drivers that do no DMA with a device, so that the others of its group may be used
/// (`driver_managed_dma` in the kernel).
const HARMLESS_DRIVERS: [&str; 3] = ["vfio-pci", "pci-stub", "pcieport"];

/// `/sys`, or a tree with the same structure.
#[derive(Debug, Clone)]
pub struct Sysfs {
    root: PathBuf,
}

/// Information about a PCI function, found without accessing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionFacts {
    /// Its address.
    pub address: PciAddress,
    /// The vendor.
    pub vendor_id: u16,
    /// The vendor's device identifier.
    pub device_id: u16,
    /// Base class, sub-class and interface, 8 bits each; an NVMe controller is 0x010802.
    pub class: u32,
    /// The driver that it is bound to.
    pub driver: Option<String>,
    /// Its IOMMU group; `None` without an IOMMU.
    pub group: Option<u32>,
    /// Kernel names of its block devices (`nvme0n1`), while a kernel driver is bound to it.
    pub block_devices: Vec<String>,
}

impl Sysfs {
    /// The machine's own sysfs.
    pub fn live() -> Sysfs {
        Sysfs::at("/sys")
    }

    /// A tree at another path.
    pub fn at(root: impl Into<PathBuf>) -> Sysfs {
        Sysfs { root: root.into() }
    }

    /// A path below the root.
    pub(crate) fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.root.join(below)
    }

    /// The folder of a function.
    pub(crate) fn folder(&self, address: PciAddress) -> PathBuf {
        self.path(format!("bus/pci/devices/{address}"))
    }

    /// Information about a function.
    pub fn function(&self, address: PciAddress) -> Result<FunctionFacts, VfioError> {
        let folder = self.folder(address);
        if !folder.is_dir() {
            return Err(VfioError::NotFound(address));
        }
        Ok(FunctionFacts {
            address,
            vendor_id: hexadecimal(&folder.join("vendor")).unwrap_or(0) as u16,
            device_id: hexadecimal(&folder.join("device")).unwrap_or(0) as u16,
            class: hexadecimal(&folder.join("class")).unwrap_or(0),
            driver: link_name(&folder.join("driver")),
            group: link_name(&folder.join("iommu_group")).and_then(|name| name.parse().ok()),
            block_devices: self.block_devices(&folder),
        })
    }

    /// All functions of a class, in the order of their addresses.
    pub fn functions_of_class(&self, class: u32) -> Vec<FunctionFacts> {
        let names = names_in(&self.path("bus/pci/devices"));
        let addresses = names.iter().filter_map(|name| name.parse().ok());
        let mut found: Vec<FunctionFacts> =
            addresses.filter_map(|address| self.function(address).ok()).filter(|facts| facts.class == class).collect();
        found.arrange_by_key(|facts| facts.address);
        found
    }

    /// The functions of a group whose drivers prevent its use, with these drivers.
    pub(crate) fn in_the_way(&self, group: u32) -> Vec<(PciAddress, String)> {
        let names = names_in(&self.path(format!("kernel/iommu_groups/{group}/devices")));
        let addresses = names.iter().filter_map(|name| name.parse::<PciAddress>().ok());
        let with_driver =
            addresses.filter_map(|address| Some((address, link_name(&self.folder(address).join("driver"))?)));
        with_driver.filter(|(_, driver)| !HARMLESS_DRIVERS.contains(&driver.as_str())).collect()
    }

    fn block_devices(&self, function: &Path) -> Vec<String> {
        let Ok(function) = function.canonicalize() else { return Vec::new() };
        let on_it = |name: &String| {
            let device = self.path("block").join(name).canonicalize();
            device.is_ok_and(|device| device.starts_with(&function))
        };
        let mut devices: Vec<String> =
            names_in(&self.path("block")).into_iter().filter(on_it).map(|name| without_path_number(&name)).collect();
        devices.arrange();
        devices.dedup();
        devices
    }
}

/// With NVMe multipath, the disk `nvme0n1` belongs to no controller; its hidden paths `nvme0c0n1`
/// do.
fn without_path_number(name: &str) -> String {
    let parts = name.strip_prefix("nvme").and_then(|rest| rest.split_once('c')).and_then(|(subsystem, rest)| {
        let namespace = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        namespace.starts_with('n').then_some((subsystem, namespace))
    });
    parts.map_or_else(|| name.to_owned(), |(subsystem, namespace)| format!("nvme{subsystem}{namespace}"))
}

pub(crate) fn link_name(link: &Path) -> Option<String> {
    Some(fs::read_link(link).ok()?.file_name()?.to_string_lossy().into_owned())
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.arrange();
    names
}

fn hexadecimal(file: &Path) -> Option<u32> {
    let text = fs::read_to_string(file).ok()?;
    u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
pub(crate) mod fixture {
    //! A sysfs tree in a temporary folder.

    use std::os::unix::fs::symlink;

    use super::*;

    pub(crate) struct Tree {
        pub(crate) folder: tempfile::TempDir,
    }

    impl Tree {
        pub(crate) fn new() -> Tree {
            let tree = Tree { folder: tempfile::tempdir().unwrap() };
            for folder in ["bus/pci/devices", "block"] {
                fs::create_dir_all(tree.folder.path().join(folder)).unwrap();
            }
            fs::write(tree.folder.path().join("bus/pci/drivers_probe"), "").unwrap();
            tree
        }

        pub(crate) fn sysfs(&self) -> Sysfs {
            Sysfs::at(self.folder.path())
        }

        pub(crate) fn driver(&self, name: &str) -> &Tree {
            let folder = self.folder.path().join("bus/pci/drivers").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("unbind"), "").unwrap();
            self
        }

        /// An NVMe controller in a group, with a driver.
        pub(crate) fn controller(&self, address: &str, group: u32, driver: Option<&str>) -> &Tree {
            let root = self.folder.path();
            let folder = root.join("devices/pci0000:00").join(address);
            fs::create_dir_all(&folder).unwrap();
            for (name, text) in [
                ("vendor", "0x1b36\n"),
                ("device", "0x0010\n"),
                ("class", "0x010802\n"),
                ("driver_override", "(null)\n"),
            ] {
                fs::write(folder.join(name), text).unwrap();
            }
            symlink(&folder, root.join("bus/pci/devices").join(address)).unwrap();
            let members = root.join(format!("kernel/iommu_groups/{group}/devices"));
            fs::create_dir_all(&members).unwrap();
            symlink(&folder, members.join(address)).unwrap();
            symlink(members.parent().unwrap(), folder.join("iommu_group")).unwrap();
            if let Some(driver) = driver {
                self.driver(driver);
                symlink(root.join("bus/pci/drivers").join(driver), folder.join("driver")).unwrap();
            }
            self
        }

        pub(crate) fn block_device(&self, address: &str, name: &str) -> &Tree {
            let folder = self.folder.path().join("devices/pci0000:00").join(address).join("nvme/nvme0").join(name);
            fs::create_dir_all(&folder).unwrap();
            symlink(&folder, self.folder.path().join("block").join(name)).unwrap();
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::Tree;
    use super::*;

    #[test]
    fn a_function_is_described() {
        let tree = Tree::new();
        tree.controller("0000:00:04.0", 4, Some("nvme")).block_device("0000:00:04.0", "nvme0n1");
        tree.controller("0000:00:05.0", 5, None).block_device("0000:00:04.0", "nvme2c0n3");
        let found = tree.sysfs().functions_of_class(0x01_0802);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].vendor_id, found[0].device_id, found[0].group), (0x1b36, 0x10, Some(4)));
        assert_eq!(found[0].driver.as_deref(), Some("nvme"));
        assert_eq!(found[0].block_devices, ["nvme0n1", "nvme2n3"]);
        assert_eq!((found[1].driver.as_deref(), found[1].block_devices.len()), (None, 0));
        assert!(tree.sysfs().functions_of_class(0x02_0000).is_empty());
        let absent = tree.sysfs().function("0000:00:06.0".parse().unwrap());
        assert!(matches!(absent, Err(VfioError::NotFound(_))));
    }

    #[test]
    fn others_of_a_group_are_in_the_way_unless_their_drivers_are_harmless() {
        let tree = Tree::new();
        tree.controller("0000:00:04.0", 4, Some("vfio-pci")).controller("0000:00:04.1", 4, Some("nvme"));
        tree.controller("0000:00:04.2", 4, None).controller("0000:00:05.0", 5, Some("nvme"));
        let blocking = tree.sysfs().in_the_way(4);
        assert_eq!(blocking, [("0000:00:04.1".parse().unwrap(), "nvme".to_owned())]);
        assert!(tree.sysfs().in_the_way(9).is_empty());
    }

    #[test]
    fn hidden_paths_stand_for_their_disk() {
        for (name, disk) in
            [("nvme0n1", "nvme0n1"), ("nvme1c10n2", "nvme1n2"), ("sdc", "sdc"), ("nvmecart", "nvmecart")]
        {
            assert_eq!(without_path_number(name), disk);
        }
    }
}
