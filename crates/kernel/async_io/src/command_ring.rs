//! What servers of kernel drivers need: commands through io_uring, and a way to stop a server.
//!
//! [`CommandRing`] carries the commands of interfaces that use io_uring; [`Stop`] ends a server
//! from outside. This module knows neither FUSE nor ublk, and reads no clock.

mod ring;
mod stop;

pub use ring::{CommandRing, RingCommand, RingEvent};
pub use stop::Stop;
