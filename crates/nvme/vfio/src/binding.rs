//! Binds a function to `vfio-pci`, and returns it to its kernel driver.
//!
//! Both use `driver_override`, so that no other device of the same kind changes its driver. A
//! function whose block devices are in use is refused. The caller determines what is in use,
//! because it knows about mounts and similar uses. If a step fails, the function is returned to its
//! previous driver.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::group::{group_file, is, open_device_file};
use crate::sysfs::link_name;
use crate::{PciAddress, Sysfs, VfioError};

const VFIO_DRIVER: &str = "vfio-pci";

/// A function that is bound to `vfio-pci`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The previous driver; `Some("vfio-pci")` if nothing had to be done.
    pub previous: Option<String>,
}

/// Why the driver of a function was not changed.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The function cannot be inspected.
    #[error(transparent)]
    Function(#[from] VfioError),
    /// A block device on the function is in use.
    #[error("{address} is in use and would disappear: {}", reasons.join("; "))]
    InUse {
        /// The function.
        address: PciAddress,
        /// One sentence for each use.
        reasons: Vec<String>,
    },
    /// A process uses the function. Unbinding would wait for that process to end.
    #[error("{address} is used by a process: end it first (find it with fuser -v {})", group.display())]
    Driven {
        /// The function.
        address: PciAddress,
        /// The group's file that the process has open.
        group: PathBuf,
    },
    /// The operation needs root.
    #[error("changing the driver of {address} needs root; run as root:\n{commands}")]
    NotPermitted {
        /// The function.
        address: PciAddress,
        /// Shell commands that do it, one per line.
        commands: String,
    },
    /// `vfio-pci` is missing or does not accept the function.
    #[error("{address}: vfio-pci rejected it; is the module loaded? (modprobe vfio-pci)")]
    NotTaken {
        /// The function.
        address: PciAddress,
    },
    /// The system refused the operation.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Writes sysfs attributes. Tests simulate the kernel's side.
trait Attributes {
    fn set(&self, attribute: &Path, value: &str) -> io::Result<()>;
}

struct KernelAttributes;

impl Attributes for KernelAttributes {
    fn set(&self, attribute: &Path, value: &str) -> io::Result<()> {
        // Not `fs::write`, which would create a file if the attribute does not exist.
        io::Write::write_all(&mut fs::OpenOptions::new().write(true).open(attribute)?, value.as_bytes())
    }
}

impl Sysfs {
    /// Binds a function to `vfio-pci`. `in_use` returns why a block device, given by its kernel
    /// name, must not disappear; `force` ignores these reasons.
    pub fn bind(
        &self,
        address: PciAddress,
        in_use: impl Fn(&str) -> Vec<String>,
        force: bool,
    ) -> Result<Bound, BindError> {
        DriverChange { sysfs: self, attributes: &KernelAttributes, address }.bind(in_use, force)
    }

    /// Returns a function to the driver that the kernel chooses for it, and returns that driver's
    /// name.
    pub fn restore(&self, address: PciAddress) -> Result<Option<String>, BindError> {
        DriverChange { sysfs: self, attributes: &KernelAttributes, address }.restore()
    }

    /// The commands with which root binds a function to a driver; with `None` to the one that the
    /// kernel chooses.
    pub fn commands(&self, address: PciAddress, driver: Option<&str>) -> String {
        let folder = self.folder(address);
        let mut text = String::new();
        if driver == Some(VFIO_DRIVER) {
            text.push_str("  modprobe vfio-pci\n");
        }
        let probe = self.path("bus/pci/drivers_probe");
        let steps = [
            (driver.unwrap_or(""), folder.join("driver_override")),
            (&address.to_string(), folder.join("driver/unbind")),
            (&address.to_string(), probe),
        ];
        for (value, attribute) in steps {
            // A string accepts all data written to it.
            let _ = writeln!(text, "  echo '{value}' > {}", attribute.display());
        }
        text
    }
}

/// A change of driver.
struct DriverChange<'a> {
    sysfs: &'a Sysfs,
    attributes: &'a dyn Attributes,
    address: PciAddress,
}

impl DriverChange<'_> {
    fn bind(&self, in_use: impl Fn(&str) -> Vec<String>, force: bool) -> Result<Bound, BindError> {
        let facts = self.sysfs.function(self.address)?;
        if facts.driver.as_deref() == Some(VFIO_DRIVER) {
            return Ok(Bound { previous: facts.driver });
        }
        if facts.group.is_none() {
            return Err(VfioError::NoIommu(self.address).into());
        }
        let reasons: Vec<String> = facts.block_devices.iter().flat_map(|name| in_use(name)).collect();
        if !reasons.is_empty() && !force {
            return Err(BindError::InUse { address: self.address, reasons });
        }
        self.move_to(Some(VFIO_DRIVER))?;
        if self.driver().as_deref() == Some(VFIO_DRIVER) {
            return Ok(Bound { previous: facts.driver });
        }
        self.move_to(None)?;
        Err(BindError::NotTaken { address: self.address })
    }

    fn restore(&self) -> Result<Option<String>, BindError> {
        let facts = self.sysfs.function(self.address)?;
        if facts.driver.as_deref() == Some(VFIO_DRIVER)
            && let Some(group) = facts.group.map(group_file)
            && is_open(&group)
        {
            return Err(BindError::Driven { address: self.address, group });
        }
        self.move_to(None)?;
        Ok(self.driver())
    }

    fn driver(&self) -> Option<String> {
        link_name(&self.sysfs.folder(self.address).join("driver"))
    }

    /// Sets the driver override, unbinds the function, and lets the kernel probe again.
    fn move_to(&self, driver: Option<&str>) -> Result<(), BindError> {
        let folder = self.sysfs.folder(self.address);
        // An empty line removes the override.
        let mut steps = vec![(folder.join("driver_override"), format!("{}\n", driver.unwrap_or("")))];
        if self.driver().is_some() {
            steps.push((folder.join("driver/unbind"), self.address.to_string()));
        }
        steps.push((self.sysfs.path("bus/pci/drivers_probe"), self.address.to_string()));
        for (attribute, value) in steps {
            self.attributes.set(&attribute, &value).map_err(|source| self.refused(&attribute, source, driver))?;
        }
        Ok(())
    }

    fn refused(&self, attribute: &Path, source: io::Error, driver: Option<&str>) -> BindError {
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                BindError::NotPermitted { address: self.address, commands: self.sysfs.commands(self.address, driver) }
            }
            _ => BindError::System { what: format!("writing {}", attribute.display()), source },
        }
    }
}

/// Whether a process has a group open. The kernel allows only one.
fn is_open(group: &Path) -> bool {
    matches!(open_device_file(group), Err(VfioError::System { source, .. }) if is(&source, Errno::BUSY))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::sysfs::fixture::Tree;

    const ADDRESS: &str = "0000:00:04.0";

    /// A kernel with the drivers of the tree: `nvme` binds functions without an override.
    struct Kernel<'a> {
        tree: &'a Tree,
        written: RefCell<Vec<String>>,
        refuses: Option<io::ErrorKind>,
    }

    impl Attributes for Kernel<'_> {
        fn set(&self, attribute: &Path, value: &str) -> io::Result<()> {
            if let Some(kind) = self.refuses {
                return Err(kind.into());
            }
            let name = attribute.file_name().unwrap().to_str().unwrap();
            self.written.borrow_mut().push(format!("{name}={}", value.trim()));
            fs::metadata(attribute)?;
            let folder = self.tree.sysfs().folder(ADDRESS.parse().unwrap());
            match name {
                "driver_override" => fs::write(attribute, value)?,
                "unbind" => fs::remove_file(folder.join("driver"))?,
                "drivers_probe" => {
                    let wanted = fs::read_to_string(folder.join("driver_override"))?;
                    let wanted = if wanted.trim().is_empty() { "nvme" } else { wanted.trim() };
                    let driver = self.tree.folder.path().join("bus/pci/drivers").join(wanted);
                    if driver.is_dir() {
                        symlink(driver, folder.join("driver"))?;
                    }
                }
                other => panic!("{other} is no attribute of this kernel"),
            }
            Ok(())
        }
    }

    fn kernel(tree: &Tree) -> Kernel<'_> {
        Kernel { tree, written: RefCell::new(Vec::new()), refuses: None }
    }

    fn change<'a>(sysfs: &'a Sysfs, kernel: &'a Kernel<'a>) -> DriverChange<'a> {
        DriverChange { sysfs, attributes: kernel, address: ADDRESS.parse().unwrap() }
    }

    fn idle(_: &str) -> Vec<String> {
        Vec::new()
    }

    fn disk() -> Tree {
        let tree = Tree::new();
        tree.controller(ADDRESS, 4, Some("nvme")).block_device(ADDRESS, "nvme0n1");
        tree
    }

    #[test]
    fn a_function_is_taken_and_given_back() {
        let tree = disk();
        tree.driver("vfio-pci");
        let (kernel, sysfs) = (kernel(&tree), tree.sysfs());
        let change = change(&sysfs, &kernel);
        assert_eq!(change.bind(idle, false).unwrap(), Bound { previous: Some("nvme".to_owned()) });
        assert_eq!(change.driver().as_deref(), Some("vfio-pci"));
        assert_eq!(
            kernel.written.take(),
            ["driver_override=vfio-pci", "unbind=0000:00:04.0", "drivers_probe=0000:00:04.0"]
        );
        assert_eq!(change.bind(idle, false).unwrap(), Bound { previous: Some("vfio-pci".to_owned()) });
        assert!(kernel.written.take().is_empty(), "nothing is done twice");
        assert_eq!(change.restore().unwrap().as_deref(), Some("nvme"));
        assert_eq!(kernel.written.take()[0], "driver_override=");
    }

    #[test]
    fn a_disk_in_use_is_refused_unless_forced() {
        let tree = disk();
        tree.driver("vfio-pci");
        let (kernel, sysfs) = (kernel(&tree), tree.sysfs());
        let mounted = |name: &str| vec![format!("{name} is mounted on /data")];
        let error = change(&sysfs, &kernel).bind(mounted, false).unwrap_err();
        assert!(error.to_string().contains("nvme0n1 is mounted on /data"), "{error}");
        assert!(kernel.written.borrow().is_empty());
        change(&sysfs, &kernel).bind(mounted, true).unwrap();
    }

    #[test]
    fn a_function_that_vfio_does_not_take_goes_back_to_its_driver() {
        let tree = disk();
        let (kernel, sysfs) = (kernel(&tree), tree.sysfs());
        let error = change(&sysfs, &kernel).bind(idle, false).unwrap_err();
        assert!(matches!(error, BindError::NotTaken { .. }), "{error}");
        assert_eq!(change(&sysfs, &kernel).driver().as_deref(), Some("nvme"));
    }

    #[test]
    fn without_root_the_commands_are_shown() {
        let tree = disk();
        for refusal in [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem] {
            let kernel = Kernel { refuses: Some(refusal), ..kernel(&tree) };
            let error = change(&tree.sysfs(), &kernel).bind(idle, false).unwrap_err().to_string();
            for part in
                ["modprobe vfio-pci", "echo 'vfio-pci' >", "/driver_override", "/driver/unbind", "/drivers_probe"]
            {
                assert!(error.contains(part), "{part} in {error}");
            }
        }
        let back = tree.sysfs().commands(ADDRESS.parse().unwrap(), None);
        assert!(back.contains("echo '' >") && !back.contains("modprobe"), "{back}");
    }

    #[test]
    fn without_an_iommu_nothing_is_changed() {
        let tree = disk();
        tree.driver("vfio-pci");
        fs::remove_file(tree.sysfs().folder(ADDRESS.parse().unwrap()).join("iommu_group")).unwrap();
        let (kernel, sysfs) = (kernel(&tree), tree.sysfs());
        let error = change(&sysfs, &kernel).bind(idle, true).unwrap_err();
        assert!(matches!(error, BindError::Function(VfioError::NoIommu(_))), "{error}");
        assert!(kernel.written.borrow().is_empty());
    }

    #[test]
    fn attributes_that_do_not_exist_are_not_created() {
        let tree = disk();
        let path = tree.folder.path().join("bus/pci/no_such_attribute");
        assert_eq!(KernelAttributes.set(&path, "x").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!path.exists());
        KernelAttributes.set(&tree.folder.path().join("bus/pci/drivers_probe"), "here").unwrap();
        assert_eq!(fs::read_to_string(tree.folder.path().join("bus/pci/drivers_probe")).unwrap(), "here");
    }
}
