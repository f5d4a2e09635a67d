//! The kernel's switch for FUSE over io_uring, which is off unless somebody turns it on.
//!
//! Root may turn it on; here that is done only while a connection is made, because a connection
//! that has begun to use io_uring keeps it. Dropping the value puts the switch back.

use std::os::fd::AsRawFd;

use iolab_async_io::command_ring::CommandRing;
use rustix::event::{EventfdFlags, eventfd};

use crate::FuseTransport;

const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";

/// The switch, held on.
#[derive(Debug)]
pub struct UringSwitch {
    was_off: bool,
}

impl UringSwitch {
    /// Turns it on if it is off and this process may change it.
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

/// The transport to ask the kernel for: not io_uring where this process may not use it (seccomp,
/// `io_uring_disabled`), unless the user insists. The text says so.
///
/// The kernel would agree on io_uring in any case, and the choice is final. So it is tried before.
pub fn permitted(wanted: FuseTransport) -> (FuseTransport, Option<String>) {
    match (wanted, try_ring()) {
        (FuseTransport::Auto, Err(error)) => {
            let text = format!("io_uring cannot be used ({error}); using reads and writes of /dev/fuse");
            (FuseTransport::Classic, Some(text))
        }
        _ => (wanted, None),
    }
}

/// All that the io_uring transport needs of the kernel before the first request.
fn try_ring() -> std::io::Result<()> {
    let mut ring = CommandRing::new(8)?;
    // Dropped after the ring.
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
