//! Every file that iolab writes for a person to keep: recordings, reports, logs, figures, exports,
//! the files of a study.
//!
//! One rule for all of them. What stands at the name is looked at through a descriptor that follows
//! no link, and judged by what it *is*:
//!
//! ```text
//! nothing                       the new file is made
//! a regular file of iolab       replaced: a new file beside it, written, fsync(2), rename(2)
//! any other file, or a link     refused, unless the user says --force; then the name is given to the new file
//! an input, another output      refused
//! a block device, a mount       refused
//! a terminal, /dev/null, a pipe, /dev/stdout, /dev/fd/N    written to as it is
//! ```
//!
//! So nothing is ever written into a file that existed before: who has it by another name, or open,
//! keeps it. A file is of iolab when its content says so ([`OutputKind`]), when it carries the mark
//! that iolab gives what it writes, or when it is empty.
//!
//! This crate does not decide which outputs there are, and does not write the data of jobs: the
//! program and the runner do.

mod error;
mod folder;
mod identity;
mod judge;
mod kind;
mod log_lines;
mod mark;
mod new_file;
mod output;
mod outputs;
mod place;
mod stream;

pub use error::OutputError;
pub use folder::{make_folder, make_private_folder};
pub use kind::OutputKind;
pub use mark::MARK_NAME;
pub use output::Output;
pub use outputs::Outputs;
pub use place::OutputPlace;
