//! What the jobs run on: a file that both programs share, or a RAM disk of the kernel.
//!
//! The file is laid out once with data that does not compress, so that neither program pays for it and neither
//! reads holes. The RAM disk (zram) is taken only when nobody uses it, and given back as it was.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The target of all runs of one table.
#[derive(Debug)]
pub(super) struct Ground {
    /// What the table's heading says.
    pub(super) name: String,
    pub(super) target: PathBuf,
    pub(super) bytes: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    File(tempfile::TempDir),
    RamDisk,
}

const RAM_DISK: &str = "/dev/zram0";
const RAM_DISK_CONTROL: &str = "/sys/block/zram0";

impl Ground {
    /// A file in a fresh folder below `folder`.
    pub(super) fn file(folder: &Path, bytes: u64) -> Result<Ground, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
        let folder = tempfile::Builder::new().prefix("beside-fio-").tempdir_in(folder).map_err(failed)?;
        let target = folder.path().join("data");
        fill(&mut File::create_new(&target).map_err(failed)?, bytes).map_err(failed)?;
        let name = format!("a file of {} MiB, direct", bytes >> 20);
        Ok(Ground { name, target, bytes, kind: Kind::File(folder) })
    }

    /// The kernel's RAM disk, or why it cannot be had.
    pub(super) fn ram_disk(bytes: u64) -> Result<Ground, String> {
        let failed = |error: std::io::Error| format!("{RAM_DISK}: {error}");
        if in_use()? {
            return Err(format!("{RAM_DISK} is mounted or swapped to"));
        }
        control("reset", "1").map_err(failed)?;
        control("disksize", &bytes.to_string()).map_err(failed)?;
        let ground = Ground {
            name: format!("a RAM disk (zram) of {} MiB, direct", bytes >> 20),
            target: PathBuf::from(RAM_DISK),
            bytes,
            kind: Kind::RamDisk,
        };
        fill(&mut File::options().write(true).open(RAM_DISK).map_err(failed)?, bytes).map_err(failed)?;
        Ok(ground)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        match &self.kind {
            // The folder goes with its handle.
            Kind::File(folder) => debug_assert!(self.target.starts_with(folder.path())),
            // Nothing can be done about a failure here; the next user resets it too.
            Kind::RamDisk => drop(control("reset", "1")),
        }
    }
}

fn control(name: &str, value: &str) -> std::io::Result<()> {
    fs::write(Path::new(RAM_DISK_CONTROL).join(name), value)
}

fn in_use() -> Result<bool, String> {
    for list in ["/proc/mounts", "/proc/swaps"] {
        let text = fs::read_to_string(list).map_err(|error| format!("{list}: {error}"))?;
        if text.lines().any(|line| line.starts_with(RAM_DISK)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Fills with the output of a xorshift generator (Marsaglia 2003): nothing compresses it.
fn fill(target: &mut File, bytes: u64) -> std::io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        for word in block.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        let length = left.min(block.len() as u64);
        target.write_all(&block[..length as usize])?;
        left -= length;
    }
    target.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_filled_and_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let ground = Ground::file(folder.path(), 3 << 20).unwrap();
        let target = ground.target.clone();
        let data = fs::read(&target).unwrap();
        assert_eq!(data.len(), 3 << 20);
        assert!(data.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
        drop(ground);
        assert!(!target.exists());
    }
}
