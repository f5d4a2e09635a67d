//! A job that was started from a page, and what it said.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::Child;

/// Most bytes of what a program says.
const MOST_SAID: u64 = 1 << 20;

/// A job that was started here.
#[derive(Debug)]
pub(crate) struct StartedJob {
    pub(crate) child: Child,
    /// What it says on its standard error.
    pub(crate) said: File,
}

/// Where a started job stands.
#[derive(Debug)]
pub(crate) enum Standing {
    Begins,
    Ended,
    /// It did not run; what the program said.
    Failed(String),
}

impl StartedJob {
    /// Where it stands.
    pub(crate) fn standing(&mut self) -> Standing {
        match self.child.try_wait() {
            Ok(None) => Standing::Begins,
            Ok(Some(status)) if status.success() => Standing::Ended,
            _ => Standing::Failed(beginning_of(&mut self.said)),
        }
    }
}

/// What was written to a file, from its beginning.
pub(crate) fn beginning_of(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let _ = file.rewind().and_then(|()| file.take(MOST_SAID).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
