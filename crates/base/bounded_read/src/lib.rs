//! The one way in which files that users name are read whole: regular files only, and no more of
//! them than a stated limit.
//!
//! What is read may come from somebody else: a recording by mail, an `include` line in a job file.
//! A name may stand for `/dev/zero`, for a FIFO that nobody writes to, or for a terabyte. So a file
//! is looked at before it is opened, opened in a way that never waits, looked at again as the open
//! file, and read up to the limit of its kind. What the bytes mean is for whoever reads them; files
//! below `/proc` and `/sys` that the program asks for by itself are not its matter.

mod limits;
mod read;

pub use limits::{
    ARRIVALS, DEVICE_ENTRY, FIO_REPORT, JOB_FILE, LIMITS, LOG, Limit, RECORDING, STUDY_FILE, STUDY_FOLDER, TESTER_FILE,
};
pub use read::{ReadError, open, read, read_open, read_standard_input, read_text};
