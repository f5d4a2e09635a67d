//! The character device of a namespace: opened, and queried for its block format.
//!
//! Unsafe: the `ioctl` calls of `include/uapi/linux/nvme_ioctl.h`.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use iolab_engine::OpenError;

use super::command::dword12;
use crate::ring::last_errno;

/// `NVME_IOCTL_ID`: `_IO('N', 0x40)`.
const IOCTL_ID: libc::c_ulong = 0x4e40;
/// `NVME_IOCTL_ADMIN_CMD`: `_IOWR('N', 0x41, 72 bytes)`.
const IOCTL_ADMIN: libc::c_ulong = 0xc048_4e41;
/// Identify, and its CNS for a namespace (NVM Express Base Specification, section 5.1.13).
const IDENTIFY: u8 = 0x06;
const IDENTIFY_BYTES: usize = 4096;

/// `struct nvme_passthru_cmd`.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    reserved1: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<AdminCommand>() == 72);

/// The block format of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// NSZE.
    pub(crate) blocks: u64,
    /// Binary logarithm of the data bytes of a block.
    pub(crate) block_shift: u32,
    /// Bytes of metadata of each block.
    pub(crate) metadata_bytes: u32,
    /// Whether the metadata is interleaved with the data.
    pub(crate) is_extended: bool,
    /// Type of protection information; 0 for none.
    pub(crate) protection: u8,
}

impl Format {
    /// Reads Identify Namespace (NVM Command Set Specification, section 4.1.5.1).
    fn of(bytes: &[u8; IDENTIFY_BYTES]) -> Result<Format, String> {
        let blocks = u64::from_le_bytes(bytes[..8].try_into().unwrap_or_default());
        let flbas = bytes[26];
        let number = usize::from(flbas & 0xf | (flbas >> 1) & 0x30);
        let format = &bytes[128 + 4 * number..132 + 4 * number];
        let block_shift = u32::from(format[2]);
        if blocks == 0 || !(9..=31).contains(&block_shift) || blocks.leading_zeros() < block_shift {
            return Err(format!("it says that it has {blocks} blocks of 2^{block_shift} bytes"));
        }
        Ok(Format {
            blocks,
            block_shift,
            metadata_bytes: u32::from(u16::from_le_bytes([format[0], format[1]])),
            is_extended: flbas & 0x10 != 0,
            protection: bytes[29] & 7,
        })
    }

    /// Whether the device handles the metadata itself: eight bytes of protection information with
    /// PRACT (section 5.2.2.1).
    pub(crate) fn is_stripped(&self, protection: u32) -> bool {
        self.protection > 0 && self.metadata_bytes == 8 && protection & dword12::PRACT != 0
    }
}

/// A namespace behind its character device.
#[derive(Debug)]
pub(crate) struct GenericNamespace {
    pub(crate) path: String,
    pub(crate) nsid: u32,
    pub(crate) format: Format,
    file: File,
}

impl GenericNamespace {
    /// Opens it and reads its format.
    pub(crate) fn open(path: &Path) -> Result<GenericNamespace, OpenError> {
        let name = path.display().to_string();
        let failed = |what: String, errno: Option<i32>| OpenError { message: what, errno };
        if let Some(generic) = generic_of(path) {
            let what = format!("{name} is a block device; io_uring_cmd drives its namespace as {}", generic.display());
            return Err(failed(what, Some(libc::EINVAL)));
        }
        let file = File::options().read(true).write(true).open(path).map_err(|error| {
            let what = match error.kind() {
                std::io::ErrorKind::NotFound => format!(
                    "there is no device {name}: io_uring_cmd needs the character device of an NVMe namespace, which \
                     Linux 5.19 has as /dev/ng0n1 where its nvme driver has a controller (ls /dev/ng*)"
                ),
                _ => format!("cannot open {name}: {error}"),
            };
            failed(what, error.raw_os_error())
        });
        let no_namespace = || format!("{name} is not the character device of an NVMe namespace (ls /dev/ng*)");
        let file = match file {
            // Folders cannot be opened for writing.
            Err(error) if error.errno == Some(libc::EISDIR) => return Err(failed(no_namespace(), error.errno)),
            other => other?,
        };
        let is_character = file.metadata().is_ok_and(|data| data.file_type().is_char_device());
        // SAFETY: this request has no argument.
        let nsid = if is_character { unsafe { libc::ioctl(file.as_raw_fd(), IOCTL_ID as _) } } else { -1 };
        if nsid <= 0 {
            return Err(failed(no_namespace(), Some(libc::EINVAL)));
        }
        let nsid = nsid as u32;
        let bytes = identify(&file, nsid)
            .map_err(|errno| failed(format!("{name}: Identify failed (errno {errno}); it needs root"), Some(errno)))?;
        let format = Format::of(&bytes).map_err(|what| failed(format!("{name}: {what}"), Some(libc::EINVAL)))?;
        Ok(GenericNamespace { path: name, nsid, format, file })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

fn identify(file: &File, nsid: u32) -> Result<[u8; IDENTIFY_BYTES], i32> {
    let mut bytes = [0; IDENTIFY_BYTES];
    let mut command = AdminCommand {
        opcode: IDENTIFY,
        nsid,
        addr: bytes.as_mut_ptr() as u64,
        data_len: IDENTIFY_BYTES as u32,
        ..AdminCommand::default()
    };
    // SAFETY: the kernel reads and writes one command and the buffer that it names; both live
    // through the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), IOCTL_ADMIN as _, &raw mut command) };
    match result {
        0 => Ok(bytes),
        result if result > 0 => Err(super::command::errno_of(result)),
        _ => Err(last_errno()),
    }
}

/// The character device of the namespace with this block device's name: /dev/ng0n1 for
/// /dev/nvme0n1.
fn generic_of(path: &Path) -> Option<PathBuf> {
    let numbers = path.file_name()?.to_str()?.strip_prefix("nvme")?;
    let is_namespace = numbers.contains('n') && path.starts_with("/dev");
    is_namespace.then(|| path.with_file_name(format!("ng{numbers}")))
}

/// The block device of a namespace: /dev/nvme0n1 for /dev/ng0n1.
pub(crate) fn block_device_of(path: &Path) -> Option<PathBuf> {
    let numbers = path.file_name()?.to_str()?.strip_prefix("ng")?;
    Some(path.with_file_name(format!("nvme{numbers}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_from_identify() {
        let mut bytes = [0; IDENTIFY_BYTES];
        bytes[..8].copy_from_slice(&1_000_000_u64.to_le_bytes());
        // Format 3: 4096 bytes, 8 of metadata, interleaved with the data, protection of type 1.
        (bytes[26], bytes[29]) = (0x13, 1);
        bytes[128 + 12..128 + 16].copy_from_slice(&[8, 0, 12, 0]);
        let format = Format::of(&bytes).unwrap();
        let expected =
            Format { blocks: 1_000_000, block_shift: 12, metadata_bytes: 8, is_extended: true, protection: 1 };
        assert_eq!(format, expected);
        assert!(format.is_stripped(dword12::PRACT) && !format.is_stripped(0));
        bytes[128 + 14] = 3;
        assert!(Format::of(&bytes).unwrap_err().contains("2^3 bytes"));
    }

    #[test]
    fn the_two_devices_of_a_namespace() {
        assert_eq!(generic_of(Path::new("/dev/nvme1n2")), Some("/dev/ng1n2".into()));
        assert_eq!(generic_of(Path::new("/dev/nvme1")), None);
        assert_eq!(block_device_of(Path::new("/dev/ng1n2")), Some("/dev/nvme1n2".into()));
    }
}
