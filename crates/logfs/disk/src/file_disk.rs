//! A file or block device as a disk, through plain system calls.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

use crate::opened_file::{Caching, DiskOptions, OpenedFile};
use crate::{Action, BlockDevice, DeviceError, DiskCompletion, DiskRequest, Geometry};

/// A file of fixed size. Requests are carried out inside `submit`, so that only one is in flight at
/// a time; [`crate::UringDisk`] is faster.
#[derive(Debug)]
pub struct FileDisk {
    file: File,
    geometry: Geometry,
    done: Vec<DiskCompletion>,
}

impl FileDisk {
    /// Opens a file or block device for reading and writing.
    ///
    /// # Errors
    /// The error of opening it or of asking for its size.
    pub fn open(path: &Path, block_bytes: u32, caching: Caching) -> io::Result<FileDisk> {
        let opening = DiskOptions { caching, block_bytes: Some(block_bytes), ..DiskOptions::default() };
        OpenedFile::open(path, &opening).map(FileDisk::on)
    }

    pub(crate) fn on(target: OpenedFile) -> FileDisk {
        FileDisk { file: target.file, geometry: target.geometry, done: Vec::new() }
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
                    // A discard is advice: a range that cannot be punched stays as it is.
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

    fn submit(&mut self, mut request: DiskRequest) -> Result<(), DiskRequest> {
        let result = self.perform(&mut request.action);
        self.done.push(request.complete(result));
        Ok(())
    }

    fn reap(&mut self, _wait: bool, done: &mut Vec<DiskCompletion>) {
        done.append(&mut self.done);
    }

    fn is_synchronous(&self) -> bool {
        true
    }
}
