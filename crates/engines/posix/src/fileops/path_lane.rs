//! The lane of the engines that work on paths: one call on one path, inside `submit`.
//!
//! It turns paths into C strings and makes what the call needs to find when it opens; after that it
//! allocates nothing. It refuses trims and syncs with `EOPNOTSUPP`: there is nothing to trim or
//! sync.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;

use iolab_engine::{
    Completion, CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, Submission,
    TargetFile, Wait,
};

use crate::fileops::prepare::{Precondition, prepare};

/// A file-system call on a path: what the engines of this lane differ in.
pub trait PathCall: Sized {
    /// What the call needs to find.
    const NEEDS: Precondition;

    /// Reads the options and allocates what `call` needs.
    fn open(request: &LaneRequest<'_>) -> Result<Self, OpenError>;

    /// Makes the call: 0 or a negative errno.
    fn call(&mut self, path: &CStr) -> i32;

    /// Undoes what the last calls left behind; runs when they are reaped, outside every operation.
    fn tidy(&mut self) {}
}

/// A synchronous lane over one call.
#[derive(Debug)]
pub struct PathLane<C> {
    call: C,
    paths: Box<[CString]>,
    finished: CompletionRow,
}

impl<C: PathCall> PathLane<C> {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<PathLane<C>, OpenError> {
        let call = C::open(request)?;
        for file in request.files {
            prepare(file, C::NEEDS)?;
        }
        let paths = request.files.iter().map(c_path).collect::<Result<_, _>>()?;
        Ok(PathLane { call, paths, finished: CompletionRow::with_depth(request.depth) })
    }
}

fn c_path(file: &TargetFile) -> Result<CString, OpenError> {
    CString::new(file.path.as_os_str().as_bytes()).map_err(|_| OpenError {
        message: format!("the file name `{}` contains a zero byte, which no system call accepts", file.path.display()),
        errno: Some(libc::EINVAL),
    })
}

impl<C: PathCall> Lane for PathLane<C> {
    const SYNCHRONOUS: bool = true;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.finished.is_full() {
            return Submission::Full;
        }
        if !matches!(op.kind, OpKind::Read | OpKind::Write) {
            return Submission::Refused(libc::EOPNOTSUPP);
        }
        let Some(path) = self.paths.get(op.file as usize) else { return Submission::Refused(libc::ENOENT) };
        let result = self.call.call(path);
        let result = if result < 0 { result } else { op.length as i32 };
        self.finished.push(Completion { slot: u32::from(op.slot), result });
        Submission::Accepted
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let reaped = self.finished.drain_into(out);
        if self.finished.is_empty() {
            self.call.tidy();
        }
        Ok(reaped)
    }
}
