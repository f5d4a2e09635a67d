//! Why a device cannot be used through VFIO. Every message says what is wrong and how to fix it.

use std::io;
use std::path::PathBuf;

use crate::PciAddress;

/// Why a device could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum VfioError {
    /// There is no such function.
    #[error("there is no PCI function {0} (lspci -D lists them)")]
    NotFound(PciAddress),
    /// The function is bound to another driver.
    #[error("{address} belongs to {}: bind it to vfio-pci first", driver.as_deref().map_or("no driver".to_owned(), |name| format!("the driver {name}")))]
    NotBound {
        /// The function.
        address: PciAddress,
        /// The driver.
        driver: Option<String>,
    },
    /// The function has no IOMMU.
    #[error(
        "{0} is not behind an IOMMU, so it could write anywhere in memory: enable VT-d or AMD-Vi in the firmware, \
        and boot with intel_iommu=on if the kernel needs it"
    )]
    NoIommu(PciAddress),
    /// The kernel does not support VFIO.
    #[error("{}: the kernel has no VFIO: run modprobe vfio-pci", .0.display())]
    NoVfio(PathBuf),
    /// Other functions of the group still have drivers that do DMA.
    #[error(
        "the IOMMU cannot separate {address} from the other functions of its group {group}, which are still in use: \
        {}; bind them to vfio-pci as well, or unbind them",
        named(others)
    )]
    NotViable {
        /// The function.
        address: PciAddress,
        /// Its group.
        group: u32,
        /// The other functions, and their drivers.
        others: Vec<(PciAddress, String)>,
    },
    /// Another process has the group open.
    #[error("{address}: its IOMMU group {group} is in use by another process")]
    Busy {
        /// The function.
        address: PciAddress,
        /// Its group.
        group: u32,
    },
    /// The kernel or the device lacks a required feature.
    #[error("{0}")]
    Unsupported(String),
    /// The system refused the request.
    #[error("{what}: {source}")]
    System {
        /// What was tried, and what a user can do.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

fn named(others: &[(PciAddress, String)]) -> String {
    let each: Vec<String> = others.iter().map(|(address, driver)| format!("{address} ({driver})")).collect();
    if each.is_empty() { "unknown ones".to_owned() } else { each.join(", ") }
}

impl VfioError {
    /// For `map_err`: the system refused the action `what`.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> VfioError {
        let what = what.into();
        move |source| VfioError::System { what, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_what_is_in_the_way() {
        let address: PciAddress = "0000:03:00.0".parse().unwrap();
        let others = vec![("0000:03:00.1".parse().unwrap(), "snd_hda_intel".to_owned())];
        let text = VfioError::NotViable { address, group: 7, others }.to_string();
        assert!(text.contains("group 7") && text.contains("0000:03:00.1 (snd_hda_intel)"), "{text}");
        let text = VfioError::NotBound { address, driver: Some("nvme".to_owned()) }.to_string();
        assert!(text.contains("the driver nvme: bind it to vfio-pci"), "{text}");
        let text = VfioError::NotBound { address, driver: None }.to_string();
        assert!(text.contains("no driver"), "{text}");
    }
}
