//! The kernel's switch for FUSE over io_uring, which is off by default.
//!
//! Root may turn it on. This module does so only while a connection is made, because a connection
//! that has begun to use io_uring keeps it. Dropping the value restores the switch.

use std::os::fd::AsRawFd;

use iolab_async_io::command_ring::CommandRing;
use rustix::event::{EventfdFlags, eventfd};

use crate::FuseTransport;

const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";

/// Keeps the switch on.
#[derive(Debug)]
pub struct UringSwitch {
    was_off: bool,
}

impl UringSwitch {
    /// Turns the switch on if it is off and this process may change it.
    pub fn on() -> UringSwitch {
        let is_off = std::fs::read_to_string(SWITCH).is_ok_and(|text| text.trim() == "N");
        UringSwitch { was_off: is_off && std::fs::write(SWITCH, "Y").is_ok() }
    }

    /// Why the kernel did not offer io_uring, and what to do.
    pub fn advice() -> String {
        match std::fs::read_to_string(SWITCH) {
            Err(_) => "the kernel does not support it; needs Linux 6.14 or later with CONFIG_FUSE_IO_URING".to_owned(),
            Ok(text) if text.trim() == "N" => format!("it is switched off; as root: echo Y > {SWITCH}"),
            Ok(_) => "the kernel supports it but did not offer it".to_owned(),
        }
    }
}

/// The transport to request from the kernel. It is not io_uring if this process may not use
/// io_uring (seccomp, `io_uring_disabled`), unless the user requires it. The text explains the
/// choice.
///
/// The kernel would agree on io_uring in any case, and the choice is final, so io_uring is tried
/// first.
pub fn permitted(wanted: FuseTransport) -> (FuseTransport, Option<String>) {
    match (wanted, try_ring()) {
        (FuseTransport::Auto, Err(error)) => {
            let text = format!("io_uring cannot be used ({error}); using reads and writes of /dev/fuse");
            (FuseTransport::Classic, Some(text))
        }
        _ => (wanted, None),
    }
}

/// Tries everything that the io_uring transport needs from the kernel before the first request.
fn try_ring() -> std::io::Result<()> {
    let mut ring = CommandRing::new(8)?;
    // Any descriptor will do for the test.
    let any = eventfd(0, EventfdFlags::CLOEXEC)?;
    ring.hold(any.as_raw_fd())?;
    ring.enter(0)
}

impl Drop for UringSwitch {
    fn drop(&mut self) {
        if self.was_off {
            let _ = std::fs::write(SWITCH, "N");
        }
    }
}
