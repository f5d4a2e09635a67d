//! The engine `net`: data from one job to another over TCP, UDP or a UNIX socket, as fio's.
//!
//! One job writes, another reads; both may be on one machine or on two. It measures the network (or
//! the kernel's own paths), not storage. Both ends are jobs of this program: the end of a stream of
//! datagrams is said in its own way.
#![allow(unsafe_code, reason = "island: send and receive on slot buffers, options of sockets")]

mod lane;
mod options;
mod sockets;

pub use lane::NetLane;
pub use options::NET_OPTIONS;

use iolab_engine::{Capabilities, Engine, EngineDescription, FileUse, LaneRequest, OpenError};
use iolab_options::Reach;

/// The engine `net`.
#[derive(Debug)]
pub struct Net;

impl Engine for Net {
    type Lane = NetLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "net",
        aliases: &[],
        summary: "send(2) and recv(2) over TCP, UDP or a UNIX socket, from one job to another",
        details: "A job with rw=write sends, one with rw=read receives; offsets mean nothing. One of a pair of tcp \
                  or unix has listen=1, the other hostname and port, or filename; the one that connects tries for \
                  60 seconds. When the other end has closed, a reader ends without an error. Use numjobs=1: every \
                  worker needs a port of its own.",
        options: NET_OPTIONS,
        capabilities: Capabilities {
            files: FileUse::Nothing,
            trims: false,
            syncs: false,
            extends_files: true,
            reach: Reach::Network,
            ..Capabilities::DEVICES
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<NetLane, OpenError> {
        NetLane::open(request)
    }
}

#[cfg(test)]
mod tests;
