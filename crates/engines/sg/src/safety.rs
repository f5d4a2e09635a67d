//! Whether a job may write to a SCSI disk past the kernel's block layer, which would protect what
//! is in use. Cold.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use iolab_guard::{SIGNATURE_BYTES, signatures};

use crate::device::ScsiDevice;

/// Why a job must not write to this device; `None` if it may, or if it cannot be opened, which its
/// own opening will tell.
pub(crate) fn refusal(name: &Path, job: &str, allowed: &[PathBuf]) -> Option<String> {
    let device = ScsiDevice::open(name).ok()?;
    let block = device.block_device();
    if allowed.iter().any(|path| path == name || Some(path) == block.as_ref()) {
        return None;
    }
    let what = judge(&device, block.as_deref())?;
    let name = name.display();
    Some(format!("{name}: {what}; job {job} would overwrite it. To allow that, add --allow-destroy {name}"))
}

/// The reason against it; `None` if there is none.
fn judge(device: &ScsiDevice, block: Option<&Path>) -> Option<String> {
    if let Some(block) = block {
        let shown = block.display();
        // Exclusively, as in mkfs(8): fails if a mounted file system, RAID or volume group holds
        // it.
        match File::options().read(true).custom_flags(libc::O_EXCL).open(block) {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => return Some(format!("{shown} is in use")),
            Err(error) => return Some(format!("cannot examine {shown}: {error}")),
        }
    }
    match device.first_bytes(SIGNATURE_BYTES).map(|start| signatures(&start)) {
        Ok(found) if found.is_empty() => None,
        Ok(found) => Some(format!("it holds {}", found.join(" and "))),
        Err(why) => Some(format!("cannot examine it: {why}")),
    }
}
