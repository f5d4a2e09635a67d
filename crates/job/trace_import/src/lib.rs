//! Reads other programs' records of operations as traces.
//!
//! ```text
//!  strace's text (-f -t -tt -ttt -r -T -y -yy) ─▶ strace  ┐
//!  fio's iolog, versions 2 and 3              ─▶ iolog    ├─▶ Sink ─▶ iolab_trace::Writer
//!  blktrace's binary files, one of each CPU   ─▶ blktrace ┘
//! ```
//! All input is read as a stream and is not trusted: lines, records and unfinished calls have size
//! limits. Unrecognised lines are counted and reported at the end of the trace. Contents of
//! buffers, which strace shows, are skipped.

pub mod blktrace;
pub mod iolog;
mod lines;
mod sink;
pub mod strace;

pub use sink::{ImportError, Imported};

/// The kind of a file to import, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Text of strace.
    Strace,
    /// fio's iolog.
    Iolog,
    /// A binary file of blktrace.
    Blktrace,
}

impl Form {
    /// The form of a file that begins with `head`.
    pub fn of(head: &[u8]) -> Form {
        if blktrace::is_head(head) {
            Form::Blktrace
        } else if head.starts_with(b"fio version ") {
            Form::Iolog
        } else {
            Form::Strace
        }
    }
}
