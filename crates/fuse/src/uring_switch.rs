//! The kernel's switch for FUSE over io_uring, which is off unless somebody turns it on.
//!
//! Root may turn it on; here that is done only while a connection is made, because a connection that has begun to use
//! io_uring keeps it. Dropping the value puts the switch back.

const SWITCH: &str = "/sys/module/fuse/parameters/enable_uring";

/// The switch, held on.
#[derive(Debug)]
pub struct UringSwitch {
    was_off: bool,
}

impl UringSwitch {
    /// Turns it on where it is off and may be turned.
    pub fn on() -> UringSwitch {
        let is_off = std::fs::read_to_string(SWITCH).is_ok_and(|text| text.trim() == "N");
        UringSwitch { was_off: is_off && std::fs::write(SWITCH, "Y").is_ok() }
    }

    /// Why the kernel did not offer io_uring, and what to do.
    pub fn advice() -> String {
        match std::fs::read_to_string(SWITCH) {
            Err(_) => "the kernel does not have it; Linux 6.14 and later do (CONFIG_FUSE_IO_URING)".to_owned(),
            Ok(text) if text.trim() == "N" => format!("it is switched off; as root: echo Y > {SWITCH}"),
            Ok(_) => "the kernel has it and did not offer it".to_owned(),
        }
    }
}

impl Drop for UringSwitch {
    fn drop(&mut self) {
        if self.was_off {
            let _ = std::fs::write(SWITCH, "N");
        }
    }
}
