//! The device against a host by hand.

mod admin;
mod faults;
mod host;
mod io;
mod life;
mod memory;
mod signals;
mod timing;
mod workers;
mod zoned;
