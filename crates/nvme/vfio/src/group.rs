//! An IOMMU group: functions that the IOMMU cannot distinguish. Only one process at a time can open
//! them, all together.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::abi::{self, GROUP_GET_STATUS, GROUP_VIABLE};
use crate::{PciAddress, Sysfs, VfioError, system_call};

#[derive(Debug)]
pub(crate) struct Group {
    file: File,
    number: u32,
}

impl Group {
    /// Opens the group of a function that is bound to `vfio-pci`.
    pub(crate) fn of(address: PciAddress, sysfs: &Sysfs) -> Result<Group, VfioError> {
        let facts = sysfs.function(address)?;
        if facts.driver.as_deref() != Some("vfio-pci") {
            return Err(VfioError::NotBound { address, driver: facts.driver });
        }
        let number = facts.group.ok_or(VfioError::NoIommu(address))?;
        let file = open_device_file(&group_file(number)).map_err(|error| match error {
            VfioError::System { source, .. } if is(&source, Errno::BUSY) => VfioError::Busy { address, group: number },
            other => other,
        })?;
        let group = Group { file, number };
        let mut status = [abi::bytes_of(2), 0];
        system_call::with_words(&group, GROUP_GET_STATUS, &mut status)
            .map_err(VfioError::system(format!("the status of IOMMU group {number}")))?;
        if status[1] & GROUP_VIABLE == 0 {
            return Err(VfioError::NotViable { address, group: number, others: sysfs.in_the_way(number) });
        }
        Ok(group)
    }

    /// Adds the group to a container, whose mappings then apply to its functions.
    pub(crate) fn join(&self, container: &File) -> Result<(), VfioError> {
        system_call::set_container(self, container)
            .map_err(VfioError::system(format!("putting IOMMU group {} into a container", self.number)))
    }
}

impl AsFd for Group {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The file of a group.
pub(crate) fn group_file(number: u32) -> PathBuf {
    PathBuf::from(format!("/dev/vfio/{number}"))
}

/// Opens one of VFIO's files, with advice in the error if it is missing or not permitted.
pub(crate) fn open_device_file(path: &Path) -> Result<File, VfioError> {
    OpenOptions::new().read(true).write(true).open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => VfioError::NoVfio(path.to_owned()),
        io::ErrorKind::PermissionDenied => VfioError::System {
            what: format!("{0}: run as root, or make your user its owner (chown \"$USER\" {0})", path.display()),
            source,
        },
        _ => VfioError::System { what: path.display().to_string(), source },
    })
}

pub(crate) fn is(error: &io::Error, wanted: Errno) -> bool {
    error.raw_os_error() == Some(wanted.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::fixture::Tree;

    #[test]
    fn a_function_of_another_driver_or_without_iommu_is_refused() {
        let tree = Tree::new();
        tree.controller("0000:00:04.0", 4, Some("nvme")).controller("0000:00:05.0", 5, Some("vfio-pci"));
        let sysfs = tree.sysfs();
        let address = "0000:00:04.0".parse().unwrap();
        let error = Group::of(address, &sysfs).unwrap_err();
        assert!(matches!(error, VfioError::NotBound { driver: Some(ref name), .. } if name == "nvme"), "{error}");
        let address = "0000:00:05.0".parse().unwrap();
        std::fs::remove_file(sysfs.folder(address).join("iommu_group")).unwrap();
        assert!(matches!(Group::of(address, &sysfs), Err(VfioError::NoIommu(_))));
    }

    #[test]
    fn a_missing_device_file_means_a_missing_module() {
        let error = open_device_file(Path::new("/dev/vfio/no-such-group")).unwrap_err();
        assert!(error.to_string().contains("modprobe vfio-pci"), "{error}");
    }
}
