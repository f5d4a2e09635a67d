//! The only way to read a whole file that a user names: it must be a regular file, and at most a
//! stated number of bytes is read.
//!
//! The file may come from another person: a recording sent by mail, or an `include` line in a job
//! file. Its name may be that of `/dev/zero`, of a FIFO without a writer, or of a terabyte of data.
//! Therefore the file is examined before it is opened, opened in a way that never blocks, examined
//! again through its descriptor, and read up to the limit of its kind. This crate does not
//! interpret the bytes. Files below `/proc` and `/sys` that the program opens on its own are not
//! read with it.

mod limits;
mod read;

pub use limits::{
    ARRIVALS, DEVICE_ENTRY, FIO_REPORT, HOST_LIST, JOB_FILE, LIMITS, LOG, Limit, RECORDING, SECRETS,
    SPDK_CONFIGURATION, STUDY_FILE, STUDY_FOLDER, TESTER_FILE,
};
pub use read::{ReadError, open, read, read_open, read_standard_input, read_text};
