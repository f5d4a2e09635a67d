//! The functions of `libiscsi` (`iscsi/iscsi.h`, `iscsi/scsi-lowlevel.h`), loaded once.
//!
//! Unsafe code: the library's text of an error is read through its pointer.

use std::ffi::{c_char, c_int, c_uchar, c_void};

use iolab_c_library::{c_functions, copied_text, origin_of};
use iolab_engine::EngineLibrary;

/// What installs it.
pub(crate) const INSTALL: &str = "apt-get install libiscsi7";

/// Called when a task ends: context, status of SCSI, the task, our own value.
pub(crate) type Callback = unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, *mut c_void);

/// `struct scsi_iovec`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScsiPiece {
    pub(crate) base: *mut c_void,
    pub(crate) bytes: usize,
}

/// `struct unmap_list`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnmapRange {
    pub(crate) lba: u64,
    pub(crate) blocks: u32,
}

/// The beginning of `struct scsi_readcapacity16`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    pub(crate) last_lba: u64,
    pub(crate) block_bytes: u32,
}

c_functions! {
    Functions, "Functions of `libiscsi`.", "libiscsi.so.7":
    iscsi_create_context: fn(*const c_char) -> *mut c_void;
    iscsi_destroy_context: fn(*mut c_void) -> c_int;
    iscsi_set_session_type: fn(*mut c_void, c_int) -> c_int;
    iscsi_set_header_digest: fn(*mut c_void, c_int) -> c_int;
    iscsi_set_targetname: fn(*mut c_void, *const c_char) -> c_int;
    iscsi_set_initiator_username_pwd: fn(*mut c_void, *const c_char, *const c_char) -> c_int;
    iscsi_set_noautoreconnect: fn(*mut c_void, c_int);
    iscsi_set_timeout: fn(*mut c_void, c_int) -> c_int;
    iscsi_full_connect_sync: fn(*mut c_void, *const c_char, c_int) -> c_int;
    iscsi_logout_sync: fn(*mut c_void) -> c_int;
    iscsi_get_error: fn(*mut c_void) -> *const c_char;
    iscsi_get_fd: fn(*mut c_void) -> c_int;
    iscsi_which_events: fn(*mut c_void) -> c_int;
    iscsi_service: fn(*mut c_void, c_int) -> c_int;
    iscsi_readcapacity16_sync: fn(*mut c_void, c_int) -> *mut c_void;
    iscsi_read16_iov_sync: fn(
        *mut c_void, c_int, u64, u32, c_int, c_int, c_int, c_int, c_int, c_int, *mut ScsiPiece, c_int
    ) -> *mut c_void;
    iscsi_read16_iov_task: fn(
        *mut c_void, c_int, u64, u32, c_int, c_int, c_int, c_int, c_int, c_int, Callback, *mut c_void,
        *mut ScsiPiece, c_int
    ) -> *mut c_void;
    iscsi_write16_iov_task: fn(
        *mut c_void, c_int, u64, *mut c_uchar, u32, c_int, c_int, c_int, c_int, c_int, c_int, Callback, *mut c_void,
        *mut ScsiPiece, c_int
    ) -> *mut c_void;
    iscsi_synchronizecache16_task: fn(*mut c_void, c_int, u64, u32, c_int, c_int, Callback, *mut c_void) -> *mut c_void;
    iscsi_unmap_task: fn(*mut c_void, c_int, c_int, c_int, *mut UnmapRange, c_int, Callback, *mut c_void) -> *mut c_void;
    scsi_datain_unmarshall: fn(*mut c_void) -> *mut c_void;
    scsi_free_scsi_task: fn(*mut c_void);
}

/// What `iolab doctor` says of it.
pub(crate) fn described() -> EngineLibrary {
    let found = Functions::get().map_err(|error| error.to_string());
    let found = found.map(|functions| origin_of(functions.iscsi_create_context as usize));
    EngineLibrary { file: "libiscsi.so.7", found, install: INSTALL }
}

/// The library's text about the last error of a context.
pub(crate) fn error_text(functions: &Functions, context: *mut c_void) -> String {
    // SAFETY: an open context; its text is a C string, which stays until its next call.
    let text = unsafe { copied_text((functions.iscsi_get_error)(context)) };
    text.map_or_else(|| "no reason given".to_owned(), |text| text.trim().to_owned())
}
