//! The operations that a plan gives, and what their buffers hold.

mod arbitrary;
mod beginnings;
mod buffers;
mod golden;
mod order;
mod random;
mod source;
mod support;
