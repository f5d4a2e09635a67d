//! Where in its file an operation goes.
//!
//! A placement answers in two steps, because the size is drawn between them: `place` offers an
//! offset and the room there, `commit` says how much was used. Offsets count from the start of the
//! file's extent. Every offer has room for the direction's smallest size, and no offer reaches past
//! the extent.

mod mapped;
mod sequenced;
mod sequential;
mod skewed;
mod sprandom;
mod strided;
mod uniform;

pub(crate) use mapped::Mapped;
pub(crate) use sequenced::Sequenced;
pub(crate) use sequential::{Sequential, Skipping};
pub(crate) use skewed::Skewed;
pub(crate) use sprandom::Sprandom;
pub(crate) use strided::Strided;
pub(crate) use uniform::{Once, Uniform};

/// An offer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    /// Bytes from the start of the extent.
    pub(crate) offset: u64,
    /// Bytes from there to the end. The size is drawn among those that fit.
    pub(crate) room: u64,
    /// Unvisited bytes from there. The drawn size is cut to this.
    pub(crate) free: u64,
    /// Chosen at random, not derived from the preceding operation.
    pub(crate) random: bool,
}

/// Chooses offsets. Files and directions are indices.
pub(crate) trait Placement: Send {
    /// Whether a file never ends.
    fn is_endless(&self) -> bool;
    /// Offers an offset; `None` at the end of the file. The simple placements force inlining,
    /// because the call would double their cost.
    fn place(&mut self, file: usize, direction: usize) -> Option<Spot>;
    /// Takes `length` bytes of the last offer.
    fn commit(&mut self, file: usize, direction: usize, offset: u64, length: u64);
    /// Begins a pass with new random numbers. Each file's [`Placement::begin`] follows.
    fn reseed(&mut self, seed: u64);
    /// Begins one file, again or for the first time.
    fn begin(&mut self, file: usize, seed: u64);
    /// Memory held.
    fn memory_bytes(&self) -> usize;
}

impl Placement for Box<dyn Placement> {
    fn is_endless(&self) -> bool {
        (**self).is_endless()
    }

    #[inline]
    fn place(&mut self, file: usize, direction: usize) -> Option<Spot> {
        (**self).place(file, direction)
    }

    #[inline]
    fn commit(&mut self, file: usize, direction: usize, offset: u64, length: u64) {
        (**self).commit(file, direction, offset, length);
    }

    fn reseed(&mut self, seed: u64) {
        (**self).reseed(seed);
    }

    fn begin(&mut self, file: usize, seed: u64) {
        (**self).begin(file, seed);
    }

    fn memory_bytes(&self) -> usize {
        (**self).memory_bytes()
    }
}
