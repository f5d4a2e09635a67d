//! Whether a controller driven from user space, or one of another machine or program, may be
//! written to. The kernel does not know what is in use there, so the content of the device itself
//! is checked.
//!
//! Only for devices on the bus, on the network and behind vfio-user. Virtual ones are meant to be
//! overwritten, and reading them would trigger the faults that are planned for their commands.

use std::path::{Path, PathBuf};

use iolab_guard::{SIGNATURE_BYTES, signatures};

use crate::{DeviceName, DevicePlace, first_bytes};

/// Why a job must not write to the device of this name; `None` if it may, or if the engine will
/// refuse the name itself.
pub(super) fn refusal(name: &Path, job: &str, allowed: &[PathBuf]) -> Option<String> {
    let device = DeviceName::parse(&name.to_string_lossy()).ok()?;
    if !matches!(device.place, DevicePlace::Pcie(_) | DevicePlace::Fabric(_) | DevicePlace::VfioUser(_))
        || is_allowed(&device, allowed)
    {
        return None;
    }
    let start = first_bytes(&device, SIGNATURE_BYTES).map_err(|error| error.to_string());
    judge(&device, start.as_deref().map_err(String::as_str), job)
}

/// Judges the content that was read, or the reason why it could not be.
fn judge(device: &DeviceName, start: Result<&[u8], &str>, job: &str) -> Option<String> {
    let what = match start.map(signatures) {
        Ok(found) if found.is_empty() => return None,
        Ok(found) => format!("it holds {}", found.join(" and ")),
        Err(reason) => format!("cannot examine it: {reason}"),
    };
    Some(format!("{device}: {what}; job {job} would overwrite it. To allow that, add --allow-destroy '{device}'"))
}

/// Whether the user allows this device. Its name may have several forms (`0000:06:00.0`,
/// `06.00.0`).
fn is_allowed(device: &DeviceName, allowed: &[PathBuf]) -> bool {
    let meant = |text: &PathBuf| DeviceName::parse(&text.to_string_lossy()).ok();
    allowed.iter().filter_map(meant).any(|named| named == *device)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DeviceName {
        DeviceName::parse(text).unwrap()
    }

    #[test]
    fn a_device_is_refused_by_what_is_on_it() {
        let device = name("trtype=PCIe traddr=0000:06:00.0 ns=2");
        let mut start = vec![0; SIGNATURE_BYTES];
        assert_eq!(judge(&device, Ok(&start), "w"), None, "nothing is on it");
        start[..4].copy_from_slice(b"XFSB");
        let said = judge(&device, Ok(&start), "w").unwrap();
        for part in ["holds an XFS file system", "job w", "--allow-destroy 'trtype=PCIe traddr=0000.06.00.0 ns=2'"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(judge(&device, Err("no answer"), "w").unwrap().contains("cannot examine it: no answer"));
    }

    #[test]
    fn the_users_word_counts_however_the_device_is_written() {
        let device = name("trtype=PCIe traddr=0000.06.00.0");
        let says = |text: &str| is_allowed(&device, &[PathBuf::from(text)]);
        assert!(says("trtype=PCIe traddr=0000.06.00.0 ns=1") && says("trtype:pcie traddr:06:00.0"));
        assert!(!says("trtype=PCIe traddr=0000.06.00.0 ns=2") && !says("trtype=PCIe traddr=0000.07.00.0"));
        assert!(!says("/dev/nvme0n1"));
    }

    #[test]
    fn virtual_devices_are_not_asked() {
        for text in ["trtype=VIRT model=ideal size=1G", "trtype=VIRT traddr=nobody", "no name at all"] {
            assert_eq!(refusal(Path::new(text), "w", &[]), None);
        }
    }
}
