//! The registers of one controller: a page of properties and a page of doorbells, as memory that
//! the host writes.
//!
//! ```text
//! 0000h  CAP VS INTMS INTMC CC CSTS NSSR AQA ASQ ACQ   the host stores, the controller looks now and then
//! 1000h  doorbells: SQ 0 tail, CQ 0 head, SQ 1 tail …  the host stores, dispatchers look all the time
//! ```
//!
//! If register accesses are messages, [`Registers::read`] and [`Registers::write`] handle them and
//! protect read-only registers. A host that stores into the memory can overwrite read-only
//! registers, but only the host itself reads those.
//!
//! If the registers are memory, INTMC reads as zero instead of as the mask, because storing the
//! current mask must be recognised as a write. The effects of registers are not implemented here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use iolab_memory::{SharedBytes, SharedWord};
use iolab_nvme_spec::registers::{
    Capabilities, ControllerConfiguration, ControllerStatus, DOORBELLS, DoorbellStride, Register,
};

/// Bytes of the registers: properties and doorbells.
pub const REGISTER_BYTES: usize = 0x2000;

const CAP: usize = Register::CAP.0 as usize;
const VS: usize = Register::VS.0 as usize;
const INTMS: usize = Register::INTMS.0 as usize;
const INTMC: usize = Register::INTMC.0 as usize;
const CC: usize = Register::CC.0 as usize;
const CSTS: usize = Register::CSTS.0 as usize;
const NSSR: usize = Register::NSSR.0 as usize;
const AQA: usize = Register::AQA.0 as usize;
const ASQ: usize = Register::ASQ.0 as usize;
const ACQ: usize = Register::ACQ.0 as usize;
const CRTO: usize = Register::CRTO.0 as usize;

const STRIDE: DoorbellStride = DoorbellStride(0);

/// Registers of one controller; clones are the same registers.
#[derive(Debug, Clone)]
pub struct Registers {
    memory: SharedBytes,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    mask: AtomicU32,
    gone: AtomicBool,
    /// Whether a doorbell that does not exist was written.
    unknown_doorbell: AtomicBool,
}

/// The values of CAP and VS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) capabilities: Capabilities,
    pub(crate) version: u32,
}

impl Registers {
    /// Registers in `memory`, which has at least [`REGISTER_BYTES`].
    pub(crate) fn new(memory: SharedBytes) -> Option<Registers> {
        let memory = memory.window(0, REGISTER_BYTES)?;
        Some(Registers { memory, state: Arc::new(State::default()) })
    }

    /// The memory that a host may map.
    pub fn memory(&self) -> &SharedBytes {
        &self.memory
    }

    /// Reads as a host does, 4 or 8 bytes at a multiple of 4; all ones if there is no register.
    pub fn read(&self, offset: u32) -> u32 {
        let offset = offset as usize;
        if self.is_gone() || !offset.is_multiple_of(4) || offset >= REGISTER_BYTES {
            return u32::MAX;
        }
        match offset {
            INTMS | INTMC => self.mask(),
            _ => self.memory.load_u32(offset, Ordering::Acquire),
        }
    }

    /// Writes as a host does; read-only registers are not changed.
    pub fn write(&self, offset: u32, value: u32) {
        let offset = offset as usize;
        if self.is_gone() || !offset.is_multiple_of(4) || offset >= REGISTER_BYTES {
            return;
        }
        const ASQ_HIGH: usize = ASQ + 4;
        const ACQ_HIGH: usize = ACQ + 4;
        match offset {
            INTMS => drop(self.state.mask.fetch_or(value, Ordering::AcqRel)),
            INTMC => drop(self.state.mask.fetch_and(!value, Ordering::AcqRel)),
            // These must not change while the controller is enabled (Base, section 3.1.8).
            AQA | ASQ | ASQ_HIGH | ACQ | ACQ_HIGH if self.configuration().en() => {}
            AQA | ASQ | ASQ_HIGH | ACQ | ACQ_HIGH => self.memory.store_u32(offset, value, Ordering::Relaxed),
            CC | NSSR => self.memory.store_u32(offset, value, Ordering::Release),
            _ if offset as u64 >= DOORBELLS => self.memory.store_u32(offset, value, Ordering::Release),
            _ => {}
        }
    }

    /// Does the same as [`Registers::write`] for accesses by message, for which a write to a
    /// doorbell without a queue can be detected.
    pub fn write_checked(&self, offset: u32, value: u32, queues: u16) {
        if STRIDE.queue_of(u64::from(offset)).is_some_and(|(queue, _)| queue > u64::from(queues)) {
            self.state.unknown_doorbell.store(true, Ordering::Release);
        } else {
            self.write(offset, value);
        }
    }

    /// Whether a doorbell that does not exist was written since the last call.
    pub(crate) fn take_unknown_doorbell(&self) -> bool {
        self.state.unknown_doorbell.load(Ordering::Relaxed) && self.state.unknown_doorbell.swap(false, Ordering::AcqRel)
    }

    /// Restores the state after power-on or a controller reset. `keep` preserves the admin queue
    /// registers, as a reset by CC.EN does.
    pub(crate) fn initialise(&self, identity: Identity, keep: bool) {
        self.memory.store_u64(CAP, identity.capabilities.0, Ordering::Relaxed);
        self.memory.store_u32(VS, identity.version, Ordering::Relaxed);
        if !keep {
            self.memory.store_u32(CC, 0, Ordering::Relaxed);
            self.memory.store_u32(AQA, 0, Ordering::Relaxed);
            self.memory.store_u64(ASQ, 0, Ordering::Relaxed);
            self.memory.store_u64(ACQ, 0, Ordering::Relaxed);
        }
        self.memory.store_u32(INTMS, 0, Ordering::Relaxed);
        self.memory.store_u32(INTMC, 0, Ordering::Relaxed);
        self.memory.store_u32(NSSR, 0, Ordering::Relaxed);
        // Controller Ready With Media Timeout: the same as CAP.TO (Base 2.0, section 3.1.3.25).
        self.memory.store_u32(CRTO, u32::from(identity.capabilities.to()), Ordering::Relaxed);
        self.state.mask.store(0, Ordering::Relaxed);
        // Hosts may ring doorbells at the same time.
        self.memory.fill_words(DOORBELLS as usize, REGISTER_BYTES - DOORBELLS as usize, 0);
    }

    /// CC.
    #[inline]
    pub(crate) fn configuration(&self) -> ControllerConfiguration {
        ControllerConfiguration(self.memory.load_u32(CC, Ordering::Acquire))
    }

    /// Clears CC.EN, as a subsystem reset does.
    pub(crate) fn clear_configuration(&self) {
        self.memory.store_u32(CC, 0, Ordering::Release);
    }

    /// Clears the host's settings, as a reset of the function does.
    pub(crate) fn write_power_on(&self) {
        self.memory.store_u32(AQA, 0, Ordering::Relaxed);
        self.memory.store_u64(ASQ, 0, Ordering::Relaxed);
        self.memory.store_u64(ACQ, 0, Ordering::Relaxed);
        self.clear_configuration();
    }

    /// CSTS.
    #[inline]
    pub(crate) fn status(&self) -> ControllerStatus {
        ControllerStatus(self.memory.load_u32(CSTS, Ordering::Acquire))
    }

    pub(crate) fn set_status(&self, status: ControllerStatus) {
        self.memory.store_u32(CSTS, status.0, Ordering::Release);
    }

    /// The values of AQA, ASQ and ACQ.
    pub(crate) fn admin_queues(&self) -> (u32, u64, u64) {
        let aqa = self.memory.load_u32(AQA, Ordering::Relaxed);
        (aqa, self.memory.load_u64(ASQ, Ordering::Relaxed), self.memory.load_u64(ACQ, Ordering::Relaxed))
    }

    /// Takes the word written to NSSR.
    #[inline]
    pub(crate) fn take_subsystem_reset(&self) -> u32 {
        let word = self.memory.load_u32(NSSR, Ordering::Relaxed);
        if word != 0 {
            self.memory.store_u32(NSSR, 0, Ordering::Relaxed);
        }
        word
    }

    /// Applies stores to INTMS and INTMC if these are memory.
    #[inline]
    pub(crate) fn take_masks(&self) {
        let (set, clear) =
            (self.memory.load_u32(INTMS, Ordering::Relaxed), self.memory.load_u32(INTMC, Ordering::Relaxed));
        if set != 0 || clear != 0 {
            self.change_masks(set, clear);
        }
    }

    #[cold]
    fn change_masks(&self, set: u32, clear: u32) {
        self.memory.store_u32(INTMS, 0, Ordering::Relaxed);
        self.memory.store_u32(INTMC, 0, Ordering::Relaxed);
        let mask = (self.mask() | set) & !clear;
        self.state.mask.store(mask, Ordering::Release);
    }

    /// The mask of the first 32 vectors.
    #[inline]
    pub(crate) fn mask(&self) -> u32 {
        self.state.mask.load(Ordering::Acquire)
    }

    /// Location of the tail doorbell of a submission queue.
    pub(crate) const fn tail_offset(queue: u16) -> usize {
        STRIDE.submission_tail(queue) as usize
    }

    /// The tail doorbell of a submission queue.
    pub(crate) fn tail_doorbell(&self, queue: u16) -> Option<SharedWord> {
        self.memory.word(Registers::tail_offset(queue))
    }

    /// Location of the head doorbell of a completion queue.
    pub(crate) const fn head_offset(queue: u16) -> usize {
        STRIDE.completion_head(queue) as usize
    }

    /// Whether the device has been removed.
    pub(crate) fn is_gone(&self) -> bool {
        self.state.gone.load(Ordering::Acquire)
    }

    /// Removes the device: every register reads as all ones from now on (PCI Express, completion
    /// time-out).
    pub(crate) fn remove(&self) {
        self.state.gone.store(true, Ordering::Release);
        self.memory.fill_words(0, REGISTER_BYTES, u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers() -> Registers {
        let registers = Registers::new(SharedBytes::anonymous(REGISTER_BYTES).unwrap()).unwrap();
        let identity = Identity { capabilities: Capabilities(0x1122_3344_5566_7788), version: 0x10400 };
        registers.initialise(identity, false);
        registers
    }

    #[test]
    fn what_is_read_only_stays() {
        let registers = registers();
        let cases: [(usize, u32, u32); 9] = [
            (CAP, 0, 0x5566_7788),
            (CAP + 4, 0, 0x1122_3344),
            (VS, 7, 0x10400),
            (CSTS, 0xff, 0),
            (AQA, 0x001f_001f, 0x001f_001f),
            (ASQ, 0x1000, 0x1000),
            (ACQ + 4, 9, 9),
            (0x38, 5, 0),
            (0x1008, 3, 3),
        ];
        for (offset, value, expected) in cases {
            registers.write(offset as u32, value);
            assert_eq!(registers.read(offset as u32), expected, "{offset:#x}");
        }
        registers.write(CC as u32, 1);
        registers.write(AQA as u32, 0);
        assert_eq!(registers.admin_queues(), (0x001f_001f, 0x1000, 9 << 32), "fixed while enabled");
        assert_eq!(registers.read(0x2000), u32::MAX);
        assert_eq!(registers.read(0x15), u32::MAX);
        registers.write(0x2000, 1);
    }

    #[test]
    fn masks_are_set_and_cleared_by_messages_and_by_memory() {
        let registers = registers();
        registers.write(INTMS as u32, 0b1110);
        registers.write(INTMC as u32, 0b0100);
        assert_eq!((registers.mask(), registers.read(INTMC as u32)), (0b1010, 0b1010));
        registers.memory().store_u32(INTMS, 0b0001, Ordering::Relaxed);
        registers.take_masks();
        registers.memory().store_u32(INTMC, 0b1011, Ordering::Relaxed);
        registers.take_masks();
        assert_eq!(registers.mask(), 0);
    }

    #[test]
    fn a_device_that_is_gone_reads_as_all_ones() {
        let registers = registers();
        registers.remove();
        registers.write(CC as u32, 1);
        assert_eq!((registers.read(CC as u32), registers.read(CSTS as u32)), (u32::MAX, u32::MAX));
    }

    #[test]
    fn doorbells_of_no_queue_are_noticed() {
        let registers = registers();
        registers.write_checked(0x1000 + 8 * 3, 1, 3);
        assert!(!registers.take_unknown_doorbell());
        registers.write_checked(0x1000 + 8 * 4, 1, 3);
        assert!(registers.take_unknown_doorbell());
        assert!(!registers.take_unknown_doorbell());
    }
}
