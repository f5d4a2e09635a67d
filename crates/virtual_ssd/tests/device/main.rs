//! The device against a host by hand.

mod host;
mod life;
