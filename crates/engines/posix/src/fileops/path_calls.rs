//! The calls on paths.
//!
//! Unsafe: each hands a C string, and stat a structure to fill, to the C library.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use iolab_engine::file_calls::retry;
use iolab_engine::{LaneRequest, OpenError};
use iolab_options::{Category, Choice, DefaultValue, OptionEntry, ValueKind};

use crate::fileops::prepare::Precondition;

/// A file-system call on a path: the difference between the engines on paths.
pub trait PathCall: Sized {
    /// What must exist for the call.
    const NEEDS: Precondition;

    /// Reads the options and allocates what `call` needs.
    fn open(request: &LaneRequest<'_>) -> Result<Self, OpenError>;

    /// Makes the call: 0 or a negative errno.
    fn call(&mut self, path: &CStr) -> i32;

    /// Undoes side effects of the last calls; runs when they are reaped, outside every operation.
    fn tidy(&mut self) {}
}

/// `openat(2)` with `O_CREAT | O_RDWR`, mode 0600. Without `O_EXCL`, as in fio: an existing file is
/// opened.
///
/// The descriptor is closed when the operation is reaped, so that closing is not part of it.
#[derive(Debug)]
pub struct Create {
    open: Vec<RawFd>,
}

impl PathCall for Create {
    const NEEDS: Precondition = Precondition::Parent;

    fn open(request: &LaneRequest<'_>) -> Result<Create, OpenError> {
        Ok(Create { open: Vec::with_capacity(request.depth.max(1)) })
    }

    #[inline]
    fn call(&mut self, path: &CStr) -> i32 {
        let flags = libc::O_CREAT | libc::O_RDWR | libc::O_CLOEXEC;
        // SAFETY: a C string that outlives the call.
        let fd = retry(|| unsafe { libc::open(path.as_ptr(), flags, 0o600) } as isize);
        if fd < 0 {
            return fd;
        }
        if self.open.len() == self.open.capacity() {
            self.tidy();
        }
        self.open.push(fd);
        0
    }

    fn tidy(&mut self) {
        for fd in self.open.drain(..) {
            // SAFETY: a descriptor opened by `call` and closed once, here.
            unsafe { libc::close(fd) };
        }
    }
}

impl Drop for Create {
    fn drop(&mut self) {
        self.tidy();
    }
}

/// The options of `filestat` and `dirstat`.
pub const STAT_OPTIONS: &[OptionEntry] = &[OptionEntry {
    name: "stat_type",
    category: Category::Engine,
    kind: ValueKind::Choice(&[
        Choice { name: "stat", aliases: &[], summary: "stat(2), which follows symbolic links" },
        Choice { name: "lstat", aliases: &[], summary: "lstat(2), which does not" },
        Choice { name: "statx", aliases: &[], summary: "statx(2) with STATX_ALL" },
    ]),
    default: DefaultValue::Text("stat"),
    summary: "Which call to look files up with",
    details: "",
    accepts: &[("stat", "stat"), ("lstat", "lstat"), ("statx", "statx")],
    rejects: &["fstat", "1"],
    ..OptionEntry::BLANK
}];

/// `stat(2)`, `lstat(2)` or `statx(2)`. `DIRECTORY` only determines the kind of file to create.
#[derive(Debug)]
pub struct Stat<const DIRECTORY: bool> {
    which: StatCall,
}

#[derive(Debug, Clone, Copy)]
enum StatCall {
    Stat,
    Lstat,
    Statx,
}

impl<const DIRECTORY: bool> PathCall for Stat<DIRECTORY> {
    const NEEDS: Precondition = if DIRECTORY { Precondition::Directory } else { Precondition::File };

    fn open(request: &LaneRequest<'_>) -> Result<Self, OpenError> {
        let which = match request.options.choice("stat_type") {
            Some("lstat") => StatCall::Lstat,
            Some("statx") => StatCall::Statx,
            _ => StatCall::Stat,
        };
        Ok(Stat { which })
    }

    #[inline]
    fn call(&mut self, path: &CStr) -> i32 {
        let path = path.as_ptr();
        let mut plain = MaybeUninit::<libc::stat>::uninit();
        let mut extended = MaybeUninit::<libc::statx>::uninit();
        retry(|| {
            // SAFETY: a C string that outlives the call, and a structure of the kind that each call
            // fills.
            let answer = unsafe {
                match self.which {
                    StatCall::Stat => libc::stat(path, plain.as_mut_ptr()),
                    StatCall::Lstat => libc::lstat(path, plain.as_mut_ptr()),
                    StatCall::Statx => libc::statx(libc::AT_FDCWD, path, 0, libc::STATX_ALL, extended.as_mut_ptr()),
                }
            };
            answer as isize
        })
    }
}

macro_rules! plain_path_calls {
    ($($(#[$doc:meta])* $name:ident, $needs:ident, $path:ident => $call:expr;)*) => {
        $($(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl PathCall for $name {
            const NEEDS: Precondition = Precondition::$needs;

            fn open(_request: &LaneRequest<'_>) -> Result<$name, OpenError> {
                Ok($name)
            }

            #[inline]
            fn call(&mut self, path: &CStr) -> i32 {
                let $path = path.as_ptr();
                // SAFETY: a C string that outlives the call.
                retry(|| unsafe { $call } as isize)
            }
        })*
    };
}

plain_path_calls! {
    /// `unlink(2)`.
    Unlink, File, path => libc::unlink(path);
    /// `mkdir(2)`, mode 0700.
    MakeDirectory, Parent, path => libc::mkdir(path, 0o700);
    /// `rmdir(2)`.
    RemoveDirectory, Directory, path => libc::rmdir(path);
}

macro_rules! any_path_call {
    ($($name:ident, $call:ty;)*) => {
        /// One of the calls.
        #[derive(Debug)]
        pub enum AnyPathCall {
            $(#[doc = concat!("`", stringify!($name), "`.")] $name($call),)*
        }

        $(impl From<$call> for AnyPathCall {
            fn from(call: $call) -> AnyPathCall {
                AnyPathCall::$name(call)
            }
        })*

        impl AnyPathCall {
            /// Makes the call: 0 or a negative errno.
            #[inline]
            pub(crate) fn call(&mut self, path: &CStr) -> i32 {
                match self {
                    $(AnyPathCall::$name(call) => call.call(path),)*
                }
            }

            /// As [`PathCall::tidy`].
            #[inline]
            pub(crate) fn tidy(&mut self) {
                match self {
                    $(AnyPathCall::$name(call) => call.tidy(),)*
                }
            }
        }
    };
}

any_path_call! {
    Create, Create;
    Stat, Stat<false>;
    StatDirectory, Stat<true>;
    Unlink, Unlink;
    MakeDirectory, MakeDirectory;
    RemoveDirectory, RemoveDirectory;
}
