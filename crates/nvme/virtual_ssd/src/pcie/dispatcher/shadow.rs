//! Shadow doorbells: the host writes its doorbells to its own memory and rings the real ones only
//! when EventIdx asks for it (Base, sections 5.7 and 7.13).
//!
//! ```text
//! shadow   SQ 0 tail | CQ 0 head | SQ 1 tail | ...   written by the host
//! EventIdx the same layout                           written here: "ring when you pass this"
//! ```
//!
//! A host rings when its tail passes EventIdx: one before the tail means never, the tail itself
//! means next time.

use iolab_nvme_spec::registers::DoorbellStride;
use iolab_pci_device::{HostMemory, MappingAccess, SharedBytes};

use crate::sync::{Ordering, fence};

const STRIDE: DoorbellStride = DoorbellStride(0);

/// Where the buffers are, as the host has told.
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
    /// Buffers of a page each; `None` where they are not mapped.
    pub(super) fn new<M: HostMemory>(
        memory: &mut M,
        addresses: ShadowAddresses,
        bytes: usize,
    ) -> Option<ShadowDoorbells> {
        let doorbells = memory.window(addresses.doorbells, bytes, MappingAccess::Read).ok()?;
        let events = memory.window(addresses.events, bytes, MappingAccess::ReadWrite).ok()?;
        Some(ShadowDoorbells { addresses, bytes, doorbells, events })
    }

    /// Mappings have changed; `false` where the buffers are gone.
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

    /// Asks for the doorbell of a submission queue the next time, or not.
    pub(super) fn set_event(&self, queue: u16, tail: u32, is_wanted: bool) {
        // Hosts compare modulo 65536, whatever the size of the queue.
        let event = if is_wanted { tail as u16 } else { (tail as u16).wrapping_sub(1) };
        let offset = STRIDE.shadow_submission_tail(queue) as usize;
        self.events.store_u32(offset, u32::from(event), Ordering::Release);
        if is_wanted {
            // A look at the tail follows. The host stores its tail and then loads EventIdx, with a
            // full barrier between; with one here, too, at least one of the two sees what the other
            // stored. (A store with SeqCst is not enough: a load with Acquire may go ahead of it.)
            fence(Ordering::SeqCst);
        }
    }
}
