//! NVMe over TCP, both ends of a connection.
//!
//! [`TcpTarget`] serves a virtual SSD to hosts: Linux, SPDK, or this project's driver. [`Tcp`] is
//! the driver's transport to any NVMe/TCP target, without a kernel module. `iolab-nvme-fabrics`
//! encodes and decodes the bytes of both; `iolab-nvme-association` contains what does not depend on
//! TCP.
//!
//! TLS is not supported.
#![forbid(unsafe_code)]

mod inbox;
mod initiator;
mod outbox;
mod target;

pub use initiator::{Tcp, TcpQueue};
pub use target::{
    ConnectionStatistics, Counted, HostStatistics, LinkFault, LinkFaultError, LinkFaultKind, SocketLoop,
    TargetAuthentication, TargetError, TargetOptions, TcpTarget,
};
