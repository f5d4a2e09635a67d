//! NVMe over TCP, both ends of a connection.
//!
//! [`TcpTarget`] serves a virtual SSD to hosts: Linux, SPDK, or this project's driver. [`Tcp`] is
//! the driver's transport to any NVMe/TCP target, without a kernel module. The bytes of both are
//! made and read by `iolab-nvme-fabrics`; what does not depend on TCP is in
//! `iolab-nvme-association`.
//!
//! Deliberately not here: TLS.
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
