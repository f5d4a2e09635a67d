//! A trace: the storage calls of a program, as plain data and as a file.
//!
//! ```text
//!  capture, import ─▶ Writer ─▶ blocks of delta-coded columns, each with its checksum ─▶ Reader ─▶ show, sum up, model, replay
//! ```
//! An [`Operation`] has a time, a thread, a call, a file, an offset, a length and a result. Files
//! and threads are tables of the trace that grow as it is written. The [`Reader`] reads a stream:
//! it holds the tables and one block. A file that was cut off is valid up to the cut.
//!
//! A trace has paths, offsets and sizes, never the contents of buffers. [`Writer::anonymous`] hides
//! the paths, too.
//!
//! This crate does not know where operations come from or what they mean. [`block`] describes the
//! layout of the bytes.

pub mod block;
mod call;
mod facts;
mod frame;
mod operation;
mod ordered;
mod reader;
mod role;
mod writer;

pub use call::{Call, Effect};
pub use facts::{
    DeviceBytes, End, Facts, File, FileKind, ProcessorSample, ProcessorShares, ProgramBeside, Thread, Unseen,
};
pub use frame::{MARK, forged};
pub use operation::{Flags, NO_FILE, Operation};
pub use ordered::Ordered;
pub use reader::{Damage, ReadError, Reader};
pub use role::Role;
pub use writer::Writer;
