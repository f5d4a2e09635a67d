//! Writes every file that iolab makes for a person to keep: recordings, reports, logs, figures,
//! exports, the files of a study.
//!
//! One rule applies to all. The file at the path is examined through a descriptor that follows no
//! link, and judged by what it *is*:
//!
//! ```text
//! nothing                       the new file is made
//! a regular file of iolab       replaced: a new file next to it, written, fsync(2), rename(2)
//! any other file, or a link     refused, unless the user says --force; then the new file gets the name
//! an input, another output      refused
//! a block device, a mount       refused
//! a terminal, /dev/null, a pipe, /dev/stdout, /dev/fd/N    written to as it is
//! ```
//!
//! Nothing is therefore ever written into an existing file: whoever has it open, or under another
//! name, keeps it. A file counts as iolab's when its content shows it ([`OutputKind`]), when it has
//! the mark that iolab puts on its files, or when it is empty.
//!
//! This crate does not decide which outputs there are, and does not write the data of jobs: the
//! program and the runner do.

mod compressed;
mod error;
mod folder;
mod identity;
mod inflate;
mod judge;
mod kind;
mod log_lines;
mod mark;
mod new_file;
mod output;
mod outputs;
mod place;
mod stream;

pub use compressed::CompressedOutput;
pub use error::OutputError;
pub use folder::{make_folder, make_private_folder};
pub use inflate::{COMPRESSED_END, inflate};
pub use kind::OutputKind;
pub use mark::MARK_NAME;
pub use output::Output;
pub use outputs::Outputs;
pub use place::OutputPlace;
