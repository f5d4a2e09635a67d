//! The two libraries, loaded once for the process and never unloaded.
#![allow(unsafe_code, reason = "island: the types of foreign functions, and calls of them")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use iolab_c_library::c_functions;

use crate::abi::{
    CmEvent, CmId, CompChannel, ConnParam, Cq, DeviceAttr, EventChannel, Mr, Pd, QpInitAttr, VerbsContext,
};
use crate::error::VerbsError;

c_functions! {
    Verbs, "Functions of `libibverbs`.", "libibverbs.so.1":
    ibv_alloc_pd: fn(*mut VerbsContext) -> *mut Pd;
    ibv_dealloc_pd: fn(*mut Pd) -> c_int;
    ibv_reg_mr: fn(*mut Pd, *mut c_void, usize, c_int) -> *mut Mr;
    ibv_dereg_mr: fn(*mut Mr) -> c_int;
    ibv_create_comp_channel: fn(*mut VerbsContext) -> *mut CompChannel;
    ibv_destroy_comp_channel: fn(*mut CompChannel) -> c_int;
    ibv_create_cq: fn(*mut VerbsContext, c_int, *mut c_void, *mut CompChannel, c_int) -> *mut Cq;
    ibv_destroy_cq: fn(*mut Cq) -> c_int;
    ibv_get_cq_event: fn(*mut CompChannel, *mut *mut Cq, *mut *mut c_void) -> c_int;
    ibv_ack_cq_events: fn(*mut Cq, c_uint);
    ibv_query_device: fn(*mut VerbsContext, *mut DeviceAttr) -> c_int;
    ibv_wc_status_str: fn(c_uint) -> *const c_char;
}

c_functions! {
    Manager, "Functions of `librdmacm`.", "librdmacm.so.1":
    rdma_create_event_channel: fn() -> *mut EventChannel;
    rdma_destroy_event_channel: fn(*mut EventChannel);
    rdma_create_id: fn(*mut EventChannel, *mut *mut CmId, *mut c_void, c_int) -> c_int;
    rdma_destroy_id: fn(*mut CmId) -> c_int;
    rdma_resolve_addr: fn(*mut CmId, *mut libc::sockaddr, *mut libc::sockaddr, c_int) -> c_int;
    rdma_resolve_route: fn(*mut CmId, c_int) -> c_int;
    rdma_create_qp: fn(*mut CmId, *mut Pd, *mut QpInitAttr) -> c_int;
    rdma_destroy_qp: fn(*mut CmId);
    rdma_connect: fn(*mut CmId, *mut ConnParam) -> c_int;
    rdma_disconnect: fn(*mut CmId) -> c_int;
    rdma_get_cm_event: fn(*mut EventChannel, *mut *mut CmEvent) -> c_int;
    rdma_ack_cm_event: fn(*mut CmEvent) -> c_int;
    rdma_event_str: fn(c_uint) -> *const c_char;
}

/// Both libraries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Libraries {
    pub(crate) verbs: Verbs,
    pub(crate) manager: Manager,
}

impl Libraries {
    /// The libraries, loaded on first use.
    pub(crate) fn get() -> Result<&'static Libraries, VerbsError> {
        static LIBRARIES: OnceLock<Result<Libraries, VerbsError>> = OnceLock::new();
        let load = || Ok(Libraries { manager: *Manager::get()?, verbs: *Verbs::get()? });
        LIBRARIES.get_or_init(load).as_ref().map_err(VerbsError::clone)
    }

    /// The description of a completion's status.
    pub(crate) fn status_text(&self, status: c_uint) -> String {
        // SAFETY: the function accepts every number.
        text_of(unsafe { (self.verbs.ibv_wc_status_str)(status) })
    }

    /// The description of a connection's event.
    pub(crate) fn event_text(&self, event: c_uint) -> String {
        // SAFETY: the function accepts every number.
        text_of(unsafe { (self.manager.rdma_event_str)(event) })
    }
}

fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return "unknown".to_owned();
    }
    // SAFETY: these functions of the library return constant C strings.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
