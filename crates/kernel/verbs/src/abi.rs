//! The used structures of `libibverbs` and `librdmacm`, version 1 of both, whose layout has not
//! changed since the first release (`infiniband/verbs.h`, `rdma/rdma_cma.h`).
//!
//! Structures created by the libraries are declared only with their first fields, and are only read
//! through pointers. Structures created by this crate are complete. `examples/layout.rs` prints
//! every position, and `ci/suites/verbs_abi` compares it with the output of a C compiler.
#![allow(missing_docs, reason = "the fields of foreign structures, under their own names")]
#![allow(unsafe_code, reason = "island: types of functions that the library has in a table")]

use std::ffi::{c_char, c_int, c_uint, c_void};

/// The functions called through a context; those between them are not used.
#[repr(C)]
#[derive(Debug)]
pub struct ContextOps {
    before_poll: [*mut c_void; 11],
    pub poll_cq: unsafe extern "C" fn(*mut Cq, c_int, *mut Wc) -> c_int,
    pub req_notify_cq: unsafe extern "C" fn(*mut Cq, c_int) -> c_int,
    before_post: [*mut c_void; 12],
    pub post_send: unsafe extern "C" fn(*mut Qp, *mut SendWr, *mut *mut SendWr) -> c_int,
    pub post_recv: unsafe extern "C" fn(*mut Qp, *mut RecvWr, *mut *mut RecvWr) -> c_int,
}

/// An open adapter.
#[repr(C)]
#[derive(Debug)]
pub struct VerbsContext {
    pub device: *mut c_void,
    pub ops: ContextOps,
}

/// A completion queue.
#[repr(C)]
#[derive(Debug)]
pub struct Cq {
    pub context: *mut VerbsContext,
}

/// A queue pair.
#[repr(C)]
#[derive(Debug)]
pub struct Qp {
    pub context: *mut VerbsContext,
}

/// A protection domain.
#[repr(C)]
#[derive(Debug)]
pub struct Pd {
    pub context: *mut VerbsContext,
}

/// A channel that signals completions by a file descriptor.
#[repr(C)]
#[derive(Debug)]
pub struct CompChannel {
    pub context: *mut VerbsContext,
    pub fd: c_int,
}

/// Registered memory.
#[repr(C)]
#[derive(Debug)]
pub struct Mr {
    pub context: *mut VerbsContext,
    pub pd: *mut Pd,
    pub addr: *mut c_void,
    pub length: usize,
    pub handle: u32,
    pub lkey: u32,
    pub rkey: u32,
}

/// A piece of registered memory.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Sge {
    pub addr: u64,
    pub length: u32,
    pub lkey: u32,
}

/// A message to send.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SendWr {
    pub wr_id: u64,
    pub next: *mut SendWr,
    pub sg_list: *mut Sge,
    pub num_sge: c_int,
    pub opcode: c_uint,
    pub send_flags: c_uint,
    pub imm_data: u32,
    pub wr: [u64; 4],
    pub qp_type: u32,
    pub rest: [u64; 6],
}

/// A receive buffer for a message.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RecvWr {
    pub wr_id: u64,
    pub next: *mut RecvWr,
    pub sg_list: *mut Sge,
    pub num_sge: c_int,
}

/// A completion.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Wc {
    pub wr_id: u64,
    pub status: c_uint,
    pub opcode: c_uint,
    pub vendor_err: u32,
    pub byte_len: u32,
    pub imm_data: u32,
    pub qp_num: u32,
    pub src_qp: u32,
    pub wc_flags: c_uint,
    pub pkey_index: u16,
    pub slid: u16,
    pub sl: u8,
    pub dlid_path_bits: u8,
}

/// The capacity of a queue pair.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct QpCap {
    pub max_send_wr: u32,
    pub max_recv_wr: u32,
    pub max_send_sge: u32,
    pub max_recv_sge: u32,
    pub max_inline_data: u32,
}

/// The attributes for creating a queue pair.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct QpInitAttr {
    pub qp_context: *mut c_void,
    pub send_cq: *mut Cq,
    pub recv_cq: *mut Cq,
    pub srq: *mut c_void,
    pub cap: QpCap,
    pub qp_type: c_uint,
    pub sq_sig_all: c_int,
}

/// The capabilities of an adapter.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct DeviceAttr {
    pub fw_ver: [c_char; 64],
    pub guids: [u64; 2],
    pub max_mr_size: u64,
    pub page_size_cap: u64,
    pub vendor: [u32; 3],
    pub max_qp: c_int,
    pub max_qp_wr: c_int,
    pub device_cap_flags: c_uint,
    pub max_sge: c_int,
    pub max_sge_rd: c_int,
    pub max_cq: c_int,
    pub max_cqe: c_int,
    pub max_mr: c_int,
    pub max_pd: c_int,
    pub max_qp_rd_atom: c_int,
    pub rest: [c_int; 19],
    pub max_pkeys: u16,
    pub local_ca_ack_delay: u8,
    pub phys_port_cnt: u8,
}

/// A connection of the connection manager.
#[repr(C)]
#[derive(Debug)]
pub struct CmId {
    pub verbs: *mut VerbsContext,
    pub channel: *mut EventChannel,
    pub context: *mut c_void,
    pub qp: *mut Qp,
}

/// A channel for events of connections.
#[repr(C)]
#[derive(Debug)]
pub struct EventChannel {
    pub fd: c_int,
}

/// The requested or actual parameters of a connection.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ConnParam {
    pub private_data: *const c_void,
    pub private_data_len: u8,
    pub responder_resources: u8,
    pub initiator_depth: u8,
    pub flow_control: u8,
    pub retry_count: u8,
    pub rnr_retry_count: u8,
    pub srq: u8,
    pub qp_num: u32,
}

/// An event of a connection.
#[repr(C)]
#[derive(Debug)]
pub struct CmEvent {
    pub id: *mut CmId,
    pub listen_id: *mut CmId,
    pub event: c_uint,
    pub status: c_int,
    pub conn: ConnParam,
}

/// `RDMA_CM_EVENT_…`.
pub mod cm_event {
    pub const ADDR_RESOLVED: u32 = 0;
    pub const ADDR_ERROR: u32 = 1;
    pub const ROUTE_RESOLVED: u32 = 2;
    pub const REJECTED: u32 = 8;
    pub const ESTABLISHED: u32 = 9;
    pub const TIMEWAIT_EXIT: u32 = 15;
}

pub const RDMA_PS_TCP: c_int = 0x0106;
pub const IBV_QPT_RC: c_uint = 2;
pub const IBV_WR_SEND: c_uint = 2;
pub const IBV_SEND_SIGNALED: c_uint = 1 << 1;
pub const IBV_WC_SUCCESS: c_uint = 0;
pub const IBV_ACCESS_LOCAL_WRITE: c_int = 1;
pub const IBV_ACCESS_REMOTE_WRITE: c_int = 1 << 1;
pub const IBV_ACCESS_REMOTE_READ: c_int = 1 << 2;
