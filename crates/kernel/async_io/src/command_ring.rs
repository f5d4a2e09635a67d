//! What every server of a kernel driver needs: commands through io_uring, and a way to be stopped.
//!
//! [`CommandRing`] carries the commands of interfaces that use io_uring; [`Stop`] ends a server
//! from outside. Nothing here knows FUSE or ublk, or reads a clock.

mod ring;
mod stop;

pub use ring::{CommandRing, RingCommand, RingEvent};
pub use stop::Stop;
