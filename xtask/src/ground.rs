//! What jobs run on when programs are compared: a file that they share, or a RAM disk of the kernel.
//!
//! The file is laid out once with data that does not compress, so that neither program pays for it and neither
//! reads holes. The RAM disk (zram) is made for the purpose and removed afterwards; others stay as they are.

mod devices;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) use devices::{Device, Mounted};

/// The target of all runs of one table.
#[derive(Debug)]
pub(crate) struct Ground {
    /// What the table's heading says.
    pub(crate) name: String,
    pub(crate) target: PathBuf,
    pub(crate) bytes: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    File(tempfile::TempDir),
    RamDisk { number: u32 },
}

/// Makes and removes RAM disks: reading `hot_add` makes one and says its number.
const RAM_DISKS: &str = "/sys/class/zram-control";

impl Ground {
    /// A file in a fresh folder below `folder`.
    pub(crate) fn file(folder: &Path, bytes: u64) -> Result<Ground, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
        let folder = tempfile::Builder::new().prefix("iolab-ground-").tempdir_in(folder).map_err(failed)?;
        let target = folder.path().join("data");
        fill(&mut File::create_new(&target).map_err(failed)?, bytes).map_err(failed)?;
        let name = format!("a file of {} MiB, direct", bytes >> 20);
        Ok(Ground { name, target, bytes, kind: Kind::File(folder) })
    }

    /// A fresh RAM disk of the kernel, or why it cannot be had.
    pub(crate) fn ram_disk(bytes: u64) -> Result<Ground, String> {
        let failed = |error: std::io::Error| format!("a RAM disk (zram): {error}");
        let answer = fs::read_to_string(Path::new(RAM_DISKS).join("hot_add")).map_err(failed)?;
        let number: u32 = answer.trim().parse().map_err(|_| format!("{RAM_DISKS} answered {answer}"))?;
        let target = PathBuf::from(format!("/dev/zram{number}"));
        let name = format!("a RAM disk (zram) of {} MiB, direct", bytes >> 20);
        // From here on, dropping the ground removes the disk.
        let ground = Ground { name, target, bytes, kind: Kind::RamDisk { number } };
        fs::write(format!("/sys/block/zram{number}/disksize"), bytes.to_string()).map_err(failed)?;
        fill(&mut File::options().write(true).open(&ground.target).map_err(failed)?, bytes).map_err(failed)?;
        Ok(ground)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        match &self.kind {
            // The folder goes with its handle.
            Kind::File(folder) => debug_assert!(self.target.starts_with(folder.path())),
            Kind::RamDisk { number } => {
                // A disk that cannot be removed holds memory until it is reset; more than trying is not possible here.
                let _ = fs::write(format!("/sys/block/zram{number}/reset"), "1");
                let _ = fs::write(Path::new(RAM_DISKS).join("hot_remove"), number.to_string());
            }
        }
    }
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
