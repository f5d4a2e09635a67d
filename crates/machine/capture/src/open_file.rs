//! An open file description (open(2)), which several descriptors of several processes may share.

use std::cell::RefCell;
use std::rc::Rc;

use iolab_trace::{FileKind, Flags};

/// What is open behind a descriptor.
#[derive(Debug)]
pub(crate) struct Open {
    /// Its number in the trace.
    pub(crate) file: u32,
    pub(crate) kind: FileKind,
    pub(crate) position: u64,
    pub(crate) flags: Flags,
}

pub(crate) type SharedOpen = Rc<RefCell<Open>>;
