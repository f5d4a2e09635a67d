//! The target of jobs when programs are compared: a shared file, or a RAM disk of the kernel.
//!
//! The file is laid out once with incompressible data, so that neither program pays for it and
//! neither reads holes. The RAM disk (zram) is made for the purpose and removed afterwards; others
//! stay unchanged.

mod devices;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) use devices::{Device, Mounted};

/// The target of all runs of one table.
#[derive(Debug)]
pub(crate) struct TestArea {
    /// Its name in the table's heading.
    pub(crate) name: String,
    pub(crate) target: PathBuf,
    pub(crate) bytes: u64,
    /// A folder that is removed with it.
    _folder: Option<tempfile::TempDir>,
    _device: Option<Device>,
}

impl TestArea {
    /// A file in a fresh folder below `folder`.
    pub(crate) fn file(folder: &Path, bytes: u64) -> Result<TestArea, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
        let folder = tempfile::Builder::new().prefix("iolab-area-").tempdir_in(folder).map_err(failed)?;
        let target = folder.path().join("data");
        fill(&mut File::create_new(&target).map_err(failed)?, bytes).map_err(failed)?;
        let name = format!("a file of {} MiB, direct", bytes >> 20);
        Ok(TestArea { name, target, bytes, _folder: Some(folder), _device: None })
    }

    /// A fresh RAM disk of the kernel, or why there is none.
    pub(crate) fn ram_disk(bytes: u64) -> Result<TestArea, String> {
        let device = Device::ram_disk(bytes)?;
        let name = format!("a RAM disk (zram) of {} MiB, direct", bytes >> 20);
        Ok(TestArea { name, target: device.path.clone(), bytes, _folder: None, _device: Some(device) })
    }
}

const PAGE: usize = 4096;

/// Fills with the output of a xorshift generator (Marsaglia 2003): nothing compresses it.
fn fill(target: &mut File, bytes: u64) -> std::io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    // Aligned, so that it may be written past the page cache.
    let mut whole = vec![0; (1 << 20) + PAGE];
    let aligned = whole.as_ptr().align_offset(PAGE);
    let block = &mut whole[aligned..aligned + (1 << 20)];
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
        let area = TestArea::file(folder.path(), 3 << 20).unwrap();
        let target = area.target.clone();
        let data = fs::read(&target).unwrap();
        assert_eq!(data.len(), 3 << 20);
        assert!(data.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
        drop(area);
        assert!(!target.exists());
    }
}
