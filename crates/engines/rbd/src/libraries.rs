//! The functions of `librados` and `librbd` (`rados/librados.h`, `rbd/librbd.h`), loaded once.
//!
//! Unsafe code: the version is asked for by a call with pointers to locals.

use std::ffi::{c_char, c_int, c_void};

use iolab_c_library::{c_functions, origin_of};
use iolab_engine::EngineLibrary;

/// What installs both.
pub(crate) const INSTALL: &str = "apt-get install librbd1";
/// What installs librados alone.
pub(crate) const INSTALL_OBJECTS: &str = "apt-get install librados2";

c_functions! {
    Rados, "Functions of `librados`.", "librados.so.2":
    rados_create2: fn(*mut *mut c_void, *const c_char, *const c_char, u64) -> c_int;
    rados_conf_read_file: fn(*mut c_void, *const c_char) -> c_int;
    rados_conf_set: fn(*mut c_void, *const c_char, *const c_char) -> c_int;
    rados_conf_get: fn(*mut c_void, *const c_char, *mut c_char, usize) -> c_int;
    rados_connect: fn(*mut c_void) -> c_int;
    rados_ioctx_create: fn(*mut c_void, *const c_char, *mut *mut c_void) -> c_int;
    rados_ioctx_destroy: fn(*mut c_void);
    rados_shutdown: fn(*mut c_void);
}

/// What librados calls when an operation has completed, on a thread of its own.
pub(crate) type ObjectCallback = Option<unsafe extern "C" fn(completion: *mut c_void, argument: *mut c_void)>;

c_functions! {
    Objects, "Functions of `librados` for objects.", "librados.so.2":
    rados_version: fn(*mut c_int, *mut c_int, *mut c_int);
    rados_stat: fn(*mut c_void, *const c_char, *mut u64, *mut i64) -> c_int;
    rados_write: fn(*mut c_void, *const c_char, *const c_char, usize, u64) -> c_int;
    rados_trunc: fn(*mut c_void, *const c_char, u64) -> c_int;
    rados_getxattr: fn(*mut c_void, *const c_char, *const c_char, *mut c_char, usize) -> c_int;
    rados_setxattr: fn(*mut c_void, *const c_char, *const c_char, *const c_char, usize) -> c_int;
    rados_aio_create_completion2: fn(*mut c_void, ObjectCallback, *mut *mut c_void) -> c_int;
    rados_aio_read: fn(*mut c_void, *const c_char, *mut c_void, *mut c_char, usize, u64) -> c_int;
    rados_aio_write: fn(*mut c_void, *const c_char, *mut c_void, *const c_char, usize, u64) -> c_int;
    rados_aio_flush_async: fn(*mut c_void, *mut c_void) -> c_int;
    rados_create_write_op: fn() -> *mut c_void;
    rados_write_op_zero: fn(*mut c_void, u64, u64);
    rados_write_op_truncate: fn(*mut c_void, u64);
    rados_aio_write_op_operate: fn(*mut c_void, *mut c_void, *mut c_void, *const c_char, *mut i64, c_int) -> c_int;
    rados_release_write_op: fn(*mut c_void);
    rados_aio_get_return_value: fn(*mut c_void) -> c_int;
    rados_aio_release: fn(*mut c_void);
}

c_functions! {
    Images, "Functions of `librbd`.", "librbd.so.1":
    rbd_version: fn(*mut c_int, *mut c_int, *mut c_int);
    rbd_open: fn(*mut c_void, *const c_char, *mut *mut c_void, *const c_char) -> c_int;
    rbd_open_read_only: fn(*mut c_void, *const c_char, *mut *mut c_void, *const c_char) -> c_int;
    rbd_close: fn(*mut c_void) -> c_int;
    rbd_get_size: fn(*mut c_void, *mut u64) -> c_int;
    rbd_read: fn(*mut c_void, u64, usize, *mut c_char) -> isize;
    rbd_set_image_notification: fn(*mut c_void, c_int, c_int) -> c_int;
    rbd_aio_create_completion: fn(*mut c_void, *mut c_void, *mut *mut c_void) -> c_int;
    rbd_aio_read: fn(*mut c_void, u64, usize, *mut c_char, *mut c_void) -> c_int;
    rbd_aio_write: fn(*mut c_void, u64, usize, *const c_char, *mut c_void) -> c_int;
    rbd_aio_discard: fn(*mut c_void, u64, u64, *mut c_void) -> c_int;
    rbd_aio_flush: fn(*mut c_void, *mut c_void) -> c_int;
    rbd_poll_io_events: fn(*mut c_void, *mut *mut c_void, c_int) -> c_int;
    rbd_aio_get_return_value: fn(*mut c_void) -> isize;
    rbd_aio_get_arg: fn(*mut c_void) -> *mut c_void;
    rbd_aio_release: fn(*mut c_void);
}

/// What `iolab doctor` says of librados alone.
pub(crate) fn described_objects() -> EngineLibrary {
    let found = Objects::get().map_err(|error| error.to_string()).map(|objects| {
        let (mut major, mut minor, mut extra) = (0, 0, 0);
        // SAFETY: the function fills three numbers of ours.
        unsafe { (objects.rados_version)(&mut major, &mut minor, &mut extra) };
        format!("librados {major}.{minor}.{extra} from {}", origin_of(objects.rados_stat as usize))
    });
    EngineLibrary { file: "librados.so.2", found, install: INSTALL_OBJECTS }
}

/// What `iolab doctor` says of both.
pub(crate) fn described() -> EngineLibrary {
    let images = Rados::get().and_then(|_| Images::get());
    let found = images.map_err(|error| error.to_string()).map(|images| {
        let (mut major, mut minor, mut extra) = (0, 0, 0);
        // SAFETY: the function fills three numbers of ours.
        unsafe { (images.rbd_version)(&mut major, &mut minor, &mut extra) };
        format!("librbd {major}.{minor}.{extra} from {}", origin_of(images.rbd_open as usize))
    });
    EngineLibrary { file: "librbd.so.1", found, install: INSTALL }
}
