//! Layouts of structures, compared with bytes written out by hand.

mod bytes;
mod queue_entries;
mod registers;
mod structures;
