//! What written buffers hold.

use iolab_engine::Op;
use iolab_plan::BufferPlan;

/// placeholder
pub struct BufferFiller;

impl BufferFiller {
    /// New.
    pub fn new(_plan: &BufferPlan, _seed: u64) -> BufferFiller {
        BufferFiller
    }
    /// Init.
    pub fn initialise(&mut self, _slot: &mut [u8]) {}
    /// Touches.
    pub fn touches_writes(&self) -> bool {
        false
    }
    /// Before.
    pub fn before_write(&mut self, _op: &Op, _buffer: &mut [u8]) {}
}
