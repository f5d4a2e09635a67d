//! Shadow doorbells: the host writes its doorbells to its own memory, and rings the real ones only
//! when EventIdx requests it (Base, sections 5.7 and 7.13).
//!
//! ```text
//! shadow   SQ 0 tail | CQ 0 head | SQ 1 tail | ...   written by the host
//! EventIdx the same layout                           written here: "ring when you pass this"
//! ```
//!
//! A host rings when its tail passes EventIdx. One before the tail therefore means never, and the
//! tail itself means the next time.

use iolab_nvme_spec::registers::DoorbellStride;
use iolab_pci_device::{HostMemory, MappingAccess, SharedBytes};

use crate::sync::{Ordering, fence};

const STRIDE: DoorbellStride = DoorbellStride(0);

/// The addresses of the buffers, as set by the host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShadowAddresses {
    pub(crate) doorbells: u64,
    pub(crate) events: u64,
}

/// The two buffers.
#[derive(Debug)]
pub(super) struct ShadowDoorbells {
    addresses: ShadowAddresses,
    bytes: usize,
    doorbells: SharedBytes,
    events: SharedBytes,
}

impl ShadowDoorbells {
    /// Maps buffers of a page each; `None` if they are not mapped.
    pub(super) fn new<M: HostMemory>(
        memory: &mut M,
        addresses: ShadowAddresses,
        bytes: usize,
    ) -> Option<ShadowDoorbells> {
        let doorbells = memory.window(addresses.doorbells, bytes, MappingAccess::Read).ok()?;
        let events = memory.window(addresses.events, bytes, MappingAccess::ReadWrite).ok()?;
        Some(ShadowDoorbells { addresses, bytes, doorbells, events })
    }

    /// Looks the buffers up again after mappings have changed; `false` if they are gone.
    pub(super) fn look_up<M: HostMemory>(&mut self, memory: &mut M) -> bool {
        match ShadowDoorbells::new(memory, self.addresses, self.bytes) {
            Some(new) => {
                *self = new;
                true
            }
            None => false,
        }
    }

    #[inline]
    pub(super) fn tail(&self, queue: u16) -> u32 {
        self.doorbells.load_u32(STRIDE.shadow_submission_tail(queue) as usize, Ordering::Acquire)
    }

    #[inline]
    pub(super) fn head(&self, queue: u16) -> u32 {
        self.doorbells.load_u32(STRIDE.shadow_completion_head(queue) as usize, Ordering::Acquire)
    }

    /// Requests the doorbell of a submission queue for the next new tail, or stops requesting it.
    pub(super) fn set_event(&self, queue: u16, tail: u32, is_wanted: bool) {
        // Hosts compare modulo 65536, whatever the size of the queue.
        let event = if is_wanted { tail as u16 } else { (tail as u16).wrapping_sub(1) };
        let offset = STRIDE.shadow_submission_tail(queue) as usize;
        self.events.store_u32(offset, u32::from(event), Ordering::Release);
        if is_wanted {
            // The caller then reads the tail. The host stores its tail and then loads EventIdx,
            // with a full barrier between them. With a full barrier here too, at least one of the
            // two sees what the other stored. (A store with SeqCst is not enough: a load with
            // Acquire may be reordered before it.)
            fence(Ordering::SeqCst);
        }
    }
}
