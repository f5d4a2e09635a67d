//! What a server of a kernel driver needs before it knows which driver: commands through io_uring,
//! and a way to be asked to end.
//!
//! [`CommandRing`] carries the commands of interfaces that speak through io_uring, [`Stop`] ends a
//! server from outside. Nothing here knows FUSE or ublk, or reads a clock.

mod ring;
mod stop;

pub use ring::{CommandRing, RingCommand, RingEvent};
pub use stop::Stop;
