//! The device with a minimal host.

mod admin;
mod age;
mod capsules;
mod copiers;
mod faults;
mod host;
mod io;
mod kept;
mod life;
mod memory;
mod signals;
mod timing;
mod zoned;
