//! The slots of a lane as memory: for devices that also keep their data in memory, and for bytes
//! that are corrupted on purpose.

use iolab_engine::PoolView;
use iolab_memory::SharedBytes;

/// The slots, as memory that can be copied from and to.
#[derive(Debug)]
pub(crate) struct Slots {
    pub(crate) bytes: SharedBytes,
    pub(crate) view: PoolView,
}

impl Slots {
    /// Where a part of a slot begins in the memory.
    pub(crate) fn place(&self, slot: u16, from: u32, length: u32) -> Option<usize> {
        let within = self.view.range_ptr(usize::from(slot), from as usize, length as usize);
        within.map(|_| self.view.slot_offset(usize::from(slot)) + from as usize)
    }
}
