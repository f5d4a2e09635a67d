//! A device whose writes stay in memory: the device below is read and never changed.
//!
//! Written blocks are kept until this is dropped. A read waits for the device below even when all
//! of it is in memory. Meant for inspecting a file system, which writes little when it is opened;
//! not for many changes.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;

use iolab_disk::{Action, BlockDevice, Buffer, DiskCompletion, DiskRequest, Geometry};

/// The decorator.
#[derive(Debug)]
pub struct Overlay<D> {
    below: D,
    /// Written blocks, by offset.
    written: BTreeMap<u64, Buffer>,
    /// Offsets of the reads in flight, by tag.
    reads: HashMap<u64, u64>,
    done: Vec<DiskCompletion>,
}

impl<D: BlockDevice> Overlay<D> {
    /// An overlay over this device.
    pub fn new(below: D) -> Overlay<D> {
        Overlay { below, written: BTreeMap::new(), reads: HashMap::new(), done: Vec::new() }
    }

    fn keep(&mut self, at: u64, bytes: &[u8]) {
        let block = self.below.geometry().block_bytes as usize;
        for (number, part) in bytes.chunks(block).enumerate() {
            self.written.insert(at + (number * block) as u64, Buffer::padded(part, block));
        }
    }

    /// Copies written blocks over what was read.
    fn cover(&self, at: u64, buffer: &mut Buffer) {
        for (place, block) in self.written.range(at..at + buffer.len() as u64) {
            let start = (place - at) as usize;
            buffer[start..start + block.len()].copy_from_slice(block);
        }
    }
}

impl<D: BlockDevice> BlockDevice for Overlay<D> {
    fn geometry(&self) -> Geometry {
        self.below.geometry()
    }

    fn waking(&mut self) -> Option<OwnedFd> {
        self.below.waking()
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        let is_good = self.geometry().admits(&request.action);
        match &request.action {
            Action::Read { at, .. } => {
                let (tag, at) = (request.tag, *at);
                self.below.submit(request)?;
                self.reads.insert(tag, at);
            }
            // Let the device below report the invalid request; it carries out nothing of it.
            _ if !is_good => return self.below.submit(request),
            Action::Write { at, buffer } => {
                let at = *at;
                let bytes = buffer.to_vec();
                self.keep(at, &bytes);
                self.done.push(request.complete(Ok(())));
            }
            Action::Flush | Action::Discard { .. } => self.done.push(request.complete(Ok(()))),
        }
        Ok(())
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        let mut below = Vec::new();
        self.below.reap(wait && self.done.is_empty(), &mut below);
        for completion in &mut below {
            let at = self.reads.remove(&completion.tag);
            if let (Some(at), Some(buffer)) = (at, &mut completion.buffer) {
                self.cover(at, buffer);
            }
        }
        done.append(&mut self.done);
        done.append(&mut below);
    }
}

#[cfg(test)]
mod tests {
    use iolab_disk::RamDisk;

    use super::*;

    fn perform(device: &mut impl BlockDevice, action: Action) -> DiskCompletion {
        device.submit(DiskRequest { tag: 9, action }).unwrap();
        let mut done = Vec::new();
        device.reap(true, &mut done);
        assert_eq!(done.len(), 1);
        done.remove(0)
    }

    #[test]
    fn writes_are_read_back_and_never_reach_what_is_below() {
        let below = RamDisk::new(8192, 512);
        below.with(|bytes| bytes.fill(7));
        let mut overlay = Overlay::new(below.clone());
        let written = perform(&mut overlay, Action::Write { at: 1024, buffer: Buffer::padded(&[1; 1024], 512) });
        assert_eq!(written.result, Ok(()));
        perform(&mut overlay, Action::Flush).result.unwrap();
        let read = perform(&mut overlay, Action::Read { at: 512, buffer: Buffer::zeroed(2048) });
        let bytes = read.buffer.unwrap();
        assert_eq!([bytes[0], bytes[512], bytes[1535], bytes[1536]], [7, 1, 1, 7]);
        assert!(below.with(|bytes| bytes.iter().all(|byte| *byte == 7)));
    }

    #[test]
    fn a_bad_range_is_refused_as_below() {
        let below = RamDisk::new(4096, 512);
        let mut overlay = Overlay::new(below);
        let beyond = perform(&mut overlay, Action::Write { at: 4096, buffer: Buffer::zeroed(512) });
        assert!(beyond.result.is_err());
        assert!(overlay.written.is_empty());
    }
}
