//! Whether a namespace may be written to, bypassing the kernel's block layer: nothing there
//! protects a mounted file system.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use iolab_guard::{SIGNATURE_BYTES, signatures};

use super::namespace::block_device_of;

/// Why a job must not write to this device; `None` if it may.
pub(super) fn refusal(device: &Path, job: &str, allowed: &[PathBuf]) -> Option<String> {
    if allowed.iter().any(|path| path == device) {
        return None;
    }
    let block = block_device_of(device)?;
    let what = judge(&block)?;
    let device = device.display();
    Some(format!("{device}: {what}; job {job} would overwrite it. To allow that, add --allow-destroy {device}"))
}

/// The reason against it; `None` if there is none.
fn judge(block: &Path) -> Option<String> {
    let shown = block.display();
    // Exclusively, as in mkfs(8): fails if a mounted file system, RAID or volume group holds it.
    let file = match File::options().read(true).custom_flags(libc::O_EXCL).open(block) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => return Some(format!("{shown} is in use")),
        Err(error) => return Some(format!("cannot examine {shown}: {error}")),
    };
    let mut start = Vec::new();
    let read = file.take(SIGNATURE_BYTES as u64).read_to_end(&mut start);
    match read.map(|_| signatures(&start)) {
        Ok(found) if found.is_empty() => None,
        Ok(found) => Some(format!("it holds {}", found.join(" and "))),
        Err(error) => Some(format!("cannot examine {shown}: {error}")),
    }
}
