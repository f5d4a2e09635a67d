//! Prints the position of every field of the foreign structures, as lines `structure.field offset
//! size`.

use std::mem::offset_of;

use iolab_verbs::abi;

macro_rules! places {
    ($lines:ident, $rust:ident, $c:literal: $($field:ident $(.$inner:ident)* as $name:literal),*) => {
        $($lines.push(format!("{}.{} {}", $c, $name, offset_of!(abi::$rust, $field $(.$inner)*)));)*
    };
}

fn main() -> std::io::Result<()> {
    let mut lines = Vec::new();
    places!(lines, VerbsContext, "ibv_context": ops as "ops", ops.poll_cq as "ops.poll_cq", ops.req_notify_cq as "ops.req_notify_cq",
        ops.post_send as "ops.post_send", ops.post_recv as "ops.post_recv");
    places!(lines, Cq, "ibv_cq": context as "context");
    places!(lines, Qp, "ibv_qp": context as "context");
    places!(lines, CompChannel, "ibv_comp_channel": fd as "fd");
    places!(lines, Mr, "ibv_mr": lkey as "lkey", rkey as "rkey");
    places!(lines, Sge, "ibv_sge": addr as "addr", length as "length", lkey as "lkey");
    places!(lines, SendWr, "ibv_send_wr": wr_id as "wr_id", next as "next", sg_list as "sg_list", num_sge as "num_sge",
        opcode as "opcode", send_flags as "send_flags", wr as "wr", qp_type as "qp_type");
    places!(lines, RecvWr, "ibv_recv_wr": wr_id as "wr_id", next as "next", sg_list as "sg_list", num_sge as "num_sge");
    places!(lines, Wc, "ibv_wc": wr_id as "wr_id", status as "status", opcode as "opcode", byte_len as "byte_len");
    places!(lines, QpInitAttr, "ibv_qp_init_attr": send_cq as "send_cq", recv_cq as "recv_cq", srq as "srq",
        cap as "cap", cap.max_inline_data as "cap.max_inline_data", qp_type as "qp_type", sq_sig_all as "sq_sig_all");
    places!(lines, DeviceAttr, "ibv_device_attr": max_mr_size as "max_mr_size", max_qp_wr as "max_qp_wr",
        max_qp_rd_atom as "max_qp_rd_atom", max_pkeys as "max_pkeys", phys_port_cnt as "phys_port_cnt");
    places!(lines, CmId, "rdma_cm_id": verbs as "verbs", channel as "channel", qp as "qp");
    places!(lines, EventChannel, "rdma_event_channel": fd as "fd");
    places!(lines, ConnParam, "rdma_conn_param": private_data as "private_data", private_data_len as "private_data_len",
        responder_resources as "responder_resources", initiator_depth as "initiator_depth",
        retry_count as "retry_count", rnr_retry_count as "rnr_retry_count", qp_num as "qp_num");
    places!(lines, CmEvent, "rdma_cm_event": event as "event", status as "status", conn as "param.conn");
    let sizes = [
        ("ibv_sge", size_of::<abi::Sge>()),
        ("ibv_send_wr", size_of::<abi::SendWr>()),
        ("ibv_recv_wr", size_of::<abi::RecvWr>()),
        ("ibv_wc", size_of::<abi::Wc>()),
        ("ibv_qp_init_attr", size_of::<abi::QpInitAttr>()),
        ("ibv_device_attr", size_of::<abi::DeviceAttr>()),
        ("rdma_conn_param", size_of::<abi::ConnParam>()),
    ];
    lines.extend(sizes.iter().map(|(name, bytes)| format!("{name} {bytes}")));
    let constants = [
        ("RDMA_CM_EVENT_ADDR_RESOLVED", abi::cm_event::ADDR_RESOLVED),
        ("RDMA_CM_EVENT_ADDR_ERROR", abi::cm_event::ADDR_ERROR),
        ("RDMA_CM_EVENT_ROUTE_RESOLVED", abi::cm_event::ROUTE_RESOLVED),
        ("RDMA_CM_EVENT_REJECTED", abi::cm_event::REJECTED),
        ("RDMA_CM_EVENT_ESTABLISHED", abi::cm_event::ESTABLISHED),
        ("RDMA_CM_EVENT_TIMEWAIT_EXIT", abi::cm_event::TIMEWAIT_EXIT),
        ("RDMA_PS_TCP", abi::RDMA_PS_TCP as u32),
        ("IBV_QPT_RC", abi::IBV_QPT_RC),
        ("IBV_WR_SEND", abi::IBV_WR_SEND),
        ("IBV_SEND_SIGNALED", abi::IBV_SEND_SIGNALED),
        ("IBV_WC_SUCCESS", abi::IBV_WC_SUCCESS),
        ("IBV_ACCESS_LOCAL_WRITE", abi::IBV_ACCESS_LOCAL_WRITE as u32),
        ("IBV_ACCESS_REMOTE_WRITE", abi::IBV_ACCESS_REMOTE_WRITE as u32),
        ("IBV_ACCESS_REMOTE_READ", abi::IBV_ACCESS_REMOTE_READ as u32),
    ];
    lines.extend(constants.iter().map(|(name, value)| format!("= {name} {value}")));
    use std::io::Write;
    std::io::stdout().write_all((lines.join("\n") + "\n").as_bytes())
}
