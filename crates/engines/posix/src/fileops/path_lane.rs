//! The lane of the engines that work on paths: one call on one path, inside `submit`.
//!
//! It converts paths to C strings and creates what the call needs when it opens; after that it
//! allocates nothing. It refuses trims and syncs with `EOPNOTSUPP`: there is nothing to trim or
//! sync.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use iolab_engine::{
    Completion, CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpenError, Submission, TargetFile, Wait,
};

use crate::fileops::path_calls::{AnyPathCall, PathCall};
use crate::fileops::prepare::prepare;

/// A synchronous lane over one call. It is a single type for all calls: the kernel takes
/// microseconds for each, and a separate type would make the compiler generate one more loop.
#[derive(Debug)]
pub struct PathLane {
    call: AnyPathCall,
    paths: Box<[CString]>,
    finished: CompletionRow,
}

impl PathLane {
    pub(crate) fn open<C: PathCall + Into<AnyPathCall>>(request: &LaneRequest<'_>) -> Result<PathLane, OpenError> {
        let call = C::open(request)?.into();
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

impl Lane for PathLane {
    const SYNCHRONOUS: bool = true;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.finished.is_full() {
            return Submission::Full;
        }
        if !op.kind.moves_data() {
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
