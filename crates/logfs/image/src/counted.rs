//! A device that counts the bytes read, for other threads to follow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iolab_disk::{ActionKind, BlockDevice, DiskCompletion, DiskRequest, Geometry};

/// Counts the bytes read, to show the progress of a check.
#[derive(Debug)]
pub(crate) struct Counted<D> {
    device: D,
    read_bytes: Arc<AtomicU64>,
}

impl<D: BlockDevice> Counted<D> {
    pub(crate) fn new(device: D, read_bytes: Arc<AtomicU64>) -> Counted<D> {
        Counted { device, read_bytes }
    }
}

impl<D: BlockDevice> BlockDevice for Counted<D> {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        let (kind, (_, bytes)) = (request.action.kind(), request.action.range());
        self.device.submit(request)?;
        if kind == ActionKind::Read {
            self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        self.device.reap(wait, done);
    }
}
