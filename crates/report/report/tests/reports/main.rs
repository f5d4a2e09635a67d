//! Reports of recordings, in every format.

mod against_fio;
mod figures;
mod fixture;
mod golden;
mod intervals;
mod log_lines;
mod observed;
mod structure;
