//! What other programs wrote of operations, read as traces.
//!
//! ```text
//!  strace's text (-f -t -tt -ttt -r -T -y -yy) ─▶ strace  ┐
//!  fio's iolog, versions 2 and 3              ─▶ iolog    ├─▶ Sink ─▶ iolab_trace::Writer
//!  blktrace's binary files, one of each CPU   ─▶ blktrace ┘
//! ```
//! Everything is read as a stream, and no input is trusted: lines, records and unfinished calls
//! have size limits. Lines that cannot be understood are counted and reported at the end of the
//! trace; contents of buffers, which strace shows, are passed over.

pub mod blktrace;
pub mod iolog;
mod lines;
mod sink;
pub mod strace;

pub use sink::{ImportError, Imported};

/// What a file that is to be imported is, by its first bytes.
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
    /// The form of what begins so.
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
