//! A disk in memory, which lives as long as a clone of it is kept.

use std::cell::RefCell;
use std::rc::Rc;

use crate::{Action, BlockDevice, DeviceError, DiskCompletion, DiskRequest, Geometry};

/// A disk in memory. Clones are the same disk: a test keeps one while a file system owns another.
/// Requests are carried out when they are submitted, and any number may wait to be reaped; a
/// discard leaves zeroes.
#[derive(Debug, Clone)]
pub struct RamDisk {
    contents: Rc<RefCell<Vec<u8>>>,
    geometry: Geometry,
    done: Rc<RefCell<Vec<DiskCompletion>>>,
}

impl RamDisk {
    /// A disk of zeroes. The size is cut to whole blocks.
    pub fn new(size_bytes: u64, block_bytes: u32) -> RamDisk {
        let size = size_bytes - size_bytes % u64::from(block_bytes.max(1));
        RamDisk::with_contents(vec![0; size as usize], block_bytes)
    }

    /// A disk that holds `contents`, cut to whole blocks.
    pub fn with_contents(mut contents: Vec<u8>, block_bytes: u32) -> RamDisk {
        let block_bytes = block_bytes.max(1);
        contents.truncate(contents.len() - contents.len() % block_bytes as usize);
        let geometry = Geometry { size_bytes: contents.len() as u64, block_bytes };
        RamDisk { contents: Rc::new(RefCell::new(contents)), geometry, done: Rc::default() }
    }

    /// Gives access to the disk's content.
    pub fn with<T>(&self, look: impl FnOnce(&mut [u8]) -> T) -> T {
        look(&mut self.contents.borrow_mut())
    }

    fn perform(&self, action: &mut Action) -> Result<(), DeviceError> {
        if !self.geometry.admits(action) {
            return Err(DeviceError::BadRange);
        }
        let (at, length) = action.range();
        let mut contents = self.contents.borrow_mut();
        let place = &mut contents[at as usize..(at + length) as usize];
        match action {
            Action::Read { buffer, .. } => buffer.copy_from_slice(place),
            Action::Write { buffer, .. } => place.copy_from_slice(buffer),
            Action::Flush => {}
            Action::Discard { .. } => place.fill(0),
        }
        Ok(())
    }
}

impl BlockDevice for RamDisk {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, mut request: DiskRequest) -> Result<(), DiskRequest> {
        let result = self.perform(&mut request.action);
        self.done.borrow_mut().push(request.complete(result));
        Ok(())
    }

    fn reap(&mut self, _wait: bool, done: &mut Vec<DiskCompletion>) {
        done.append(&mut self.done.borrow_mut());
    }

    fn is_memory(&self) -> bool {
        true
    }

    fn is_synchronous(&self) -> bool {
        true
    }
}
