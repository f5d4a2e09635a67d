//! Moves bytes between stream sockets and memory, with no copy besides the kernel's.
//!
//! ```text
//! PieceList   one call for many pieces: headers in buffers, data in shared memory     (readv, writev)
//! SocketRing  many sockets by one call: receives go on by themselves into buffers that the kernel
//!             chooses, sends of all sockets leave together                             (io_uring)
//! ```
//!
//! Guarantees: memory that was passed to the kernel lives until the kernel is done with it, even if
//! a ring is dropped in the middle. This crate does not know what the bytes mean, reads no clock,
//! and does not wait for plain sockets.
#![allow(unsafe_code, reason = "island: addresses for the kernel")]

mod parcel;
mod piece_list;
mod ring;

pub use parcel::{Parcel, ParcelEnd, ParcelPart};
pub use piece_list::{PieceList, ReadPieces, WrittenPieces};
pub use ring::{RingBuffer, RingOptions, SocketEvent, SocketRing};
