//! A file or block device as a disk, by plain system calls.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, OFlags, fallocate};

use crate::{Action, BlockDevice, Completion, DeviceError, Geometry, Request};

/// Whether the kernel's page cache lies between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// Through the page cache; a flush writes it back.
    PageCache,
    /// `O_DIRECT`.
    Direct,
}

/// A file of fixed size. Requests are carried out inside `submit`, so that one is in flight at a time; for speed take a [`crate::LaneDisk`].
#[derive(Debug)]
pub struct FileDisk {
    file: File,
    geometry: Geometry,
    done: Vec<Completion>,
}

impl FileDisk {
    /// Opens a file or block device for reading and writing.
    ///
    /// # Errors
    /// What opening it or asking for its size says.
    pub fn open(path: &Path, block_bytes: u32, caching: Caching) -> io::Result<FileDisk> {
        let flags = if caching == Caching::Direct { OFlags::DIRECT } else { OFlags::empty() };
        FileDisk::of(
            OpenOptions::new().read(true).write(true).custom_flags(flags.bits() as i32).open(path)?,
            block_bytes,
        )
    }

    /// A file or block device that is open already; writes to one that is open for reading only fail.
    ///
    /// # Errors
    /// What asking for its size says.
    pub fn of(mut file: File, block_bytes: u32) -> io::Result<FileDisk> {
        // Block devices have no length in their metadata, but an end to seek to.
        let size_bytes = file.seek(SeekFrom::End(0))?;
        let block = u64::from(block_bytes.max(1));
        let geometry = Geometry { size_bytes: size_bytes - size_bytes % block, block_bytes: block_bytes.max(1) };
        Ok(FileDisk { file, geometry, done: Vec::new() })
    }

    fn perform(&self, action: &mut Action) -> Result<(), DeviceError> {
        if !self.geometry.admits(action) {
            return Err(DeviceError::BadRange);
        }
        let result = match action {
            Action::Read { at, buffer } => self.file.read_exact_at(buffer, *at),
            Action::Write { at, buffer } => self.file.write_all_at(buffer, *at),
            Action::Flush => self.file.sync_data(),
            Action::Discard { at, length } => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                match fallocate(&self.file, flags, *at, *length) {
                    // A discard is advice: what cannot be punched stays as it is.
                    Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
                    other => other.map_err(io::Error::from),
                }
            }
        };
        result
            .map_err(|error| DeviceError::Failed(error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error())))
    }
}

impl BlockDevice for FileDisk {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, mut request: Request) -> Result<(), Request> {
        let result = self.perform(&mut request.action);
        self.done.push(request.complete(result));
        Ok(())
    }

    fn reap(&mut self, _wait: bool, done: &mut Vec<Completion>) {
        done.append(&mut self.done);
    }
}
