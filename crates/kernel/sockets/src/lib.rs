//! Moves bytes between stream sockets and memory, with no copy besides the kernel's.
//!
//! ```text
//! StreamSocket  a connection of either family, with time-outs                            (recv, send)
//! PieceList     one call for many pieces: headers in buffers, data in shared memory   (readv, writev)
//! SocketRing    many sockets by one call: receives go on by themselves into buffers that the kernel
//!               chooses, sends of all sockets leave together                              (io_uring)
//! ```
//!
//! Guarantees: memory that the kernel was told of lives until the kernel is done with it, also when
//! a ring is dropped in the middle. Deliberately not here: what the bytes mean, and clocks.
#![allow(unsafe_code, reason = "island: addresses for the kernel")]

mod parcel;
mod piece_list;
mod ring;
mod stream_socket;

pub use parcel::{Parcel, ParcelEnd, ParcelPart};
pub use piece_list::{PieceList, ReadPieces, WrittenPieces};
pub use ring::{RingBuffer, RingOptions, SocketEvent, SocketRing};
pub use stream_socket::StreamSocket;
