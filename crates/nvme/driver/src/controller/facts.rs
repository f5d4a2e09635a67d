//! Facts about a controller that do not change, and values derived from them.

use iolab_nvme_spec::FromBytes;
use iolab_nvme_spec::identify::{
    AdminCapabilities, Cns, CommandSetVectors, IDENTIFY_BYTES, IdentifyController, IdentifyZonedController,
    IoCapabilities, SglSupport,
};
use iolab_nvme_spec::opcode::CommandSet;
use iolab_nvme_spec::registers::{Capabilities, Register, Version};

use super::Cold;
use super::admin_command::AdminCommand;
use crate::error::DriverError;
use crate::transport::Transport;

/// How long a transition takes if the controller does not say it, ns.
const USUAL_TRANSITION_NS: u64 = 10_000_000_000;

/// Facts about a controller, read when it was opened.
#[derive(Debug, Clone)]
pub struct ControllerFacts {
    /// CAP.
    pub capabilities: Capabilities,
    /// VS.
    pub version: Version,
    /// Identify Controller.
    pub identify: Box<IdentifyController>,
    /// Bytes of a memory page, as set in CC.MPS.
    pub page_bytes: u64,
    /// The longest transfer of one command (MDTS), `None` for no limit.
    pub max_transfer_bytes: Option<u64>,
    /// The longest transfer of Zone Append (ZASL), `None` if it is that of other commands.
    pub max_append_bytes: Option<u64>,
}

impl ControllerFacts {
    /// Whether data may be described by SGLs.
    pub fn sgl(&self) -> bool {
        matches!(SglSupport(self.identify.sgls.get()).supported(), 1 | 2)
    }

    /// Optional admin commands.
    pub fn admin_capabilities(&self) -> AdminCapabilities {
        AdminCapabilities(self.identify.oacs.get())
    }

    /// Optional I/O commands.
    pub fn io_capabilities(&self) -> IoCapabilities {
        IoCapabilities(self.identify.oncs.get())
    }

    /// The longest time that a transition between states of asymmetric access takes (ANATT), ns;
    /// 10 s if the controller reports none.
    pub fn transition_ns(&self) -> u64 {
        transition_ns(self.identify.anatt)
    }

    /// Model number, without padding.
    pub fn model(&self) -> String {
        text(&self.identify.mn)
    }

    /// Serial number, without padding.
    pub fn serial(&self) -> String {
        text(&self.identify.sn)
    }

    /// Firmware revision, without padding.
    pub fn firmware(&self) -> String {
        text(&self.identify.fr)
    }
}

fn transition_ns(seconds: u8) -> u64 {
    if seconds == 0 { USUAL_TRANSITION_NS } else { u64::from(seconds) * 1_000_000_000 }
}

/// Decodes ASCII padded with spaces or zeroes; a character that is not printable becomes a question
/// mark.
fn text(bytes: &[u8]) -> String {
    let printable = |byte: &u8| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '?' };
    let end = bytes.iter().rposition(|byte| !matches!(byte, 0 | b' ')).map_or(0, |last| last + 1);
    bytes[..end].iter().map(printable).collect()
}

/// A limit of `2^power` smallest memory pages; `None` if there is no limit, or one beyond any
/// transfer.
fn limit(power: u8, capabilities: Capabilities) -> Option<u64> {
    (power != 0 && power < 32).then(|| capabilities.min_page_bytes() << power)
}

impl<T: Transport> Cold<T> {
    /// Identifies an enabled controller.
    pub(crate) fn identify(&mut self) -> Result<ControllerFacts, DriverError> {
        let mut data = Box::new([0; IDENTIFY_BYTES]);
        self.command(AdminCommand::identify(Cns::CONTROLLER, 0, CommandSet::NVM, &mut data))?;
        let identify = IdentifyController::read_from_bytes(&data[..])
            .map_err(|_| DriverError::BadDescription("the Identify Controller data has an unexpected size".into()))?;
        for (what, sizes, needed) in [("submission", identify.sqes, 6), ("completion", identify.cqes, 4)] {
            let (required, maximum) = (sizes & 0xf, sizes >> 4);
            if required > needed || maximum < needed {
                let what = format!("its {what} queue entries have 2^{required} to 2^{maximum} bytes");
                return Err(DriverError::Unsupported(what));
            }
        }
        let version = Version(self.transport.property(Register::VS)?);
        let capabilities = self.capabilities;
        let zoned = capabilities.css() & Capabilities::CSS_IDENTIFIED != 0;
        let max_append_bytes = if zoned { self.append_limit()? } else { None };
        Ok(ControllerFacts {
            capabilities,
            version,
            max_transfer_bytes: limit(identify.mdts, capabilities),
            max_append_bytes,
            identify: Box::new(identify),
            page_bytes: self.page_bytes,
        })
    }

    /// Whether one of the combinations of I/O command sets has zones. Asking for a set that does
    /// not exist would fail, and controllers log failed commands.
    fn has_zoned_set(&mut self) -> Result<bool, DriverError> {
        let mut data = Box::new([0; IDENTIFY_BYTES]);
        let mut asked = AdminCommand::identify(Cns::COMMAND_SETS, 0, CommandSet::NVM, &mut data);
        asked.of_this_controller();
        match self.command(asked) {
            Ok(_) => {
                let sets = CommandSetVectors::read_from_bytes(&data[..]);
                Ok(sets.is_ok_and(|sets| sets.vectors.iter().any(|set| set.get() >> CommandSet::ZONED.0 & 1 != 0)))
            }
            Err(DriverError::Admin { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn append_limit(&mut self) -> Result<Option<u64>, DriverError> {
        if !self.has_zoned_set()? {
            return Ok(None);
        }
        let mut data = Box::new([0; IDENTIFY_BYTES]);
        let asked = AdminCommand::identify(Cns::COMMAND_SET_CONTROLLER, 0, CommandSet::ZONED, &mut data);
        match self.command(asked) {
            Ok(_) => {
                let zasl = IdentifyZonedController::read_from_bytes(&data[..]).map_or(0, |zoned| zoned.zasl);
                Ok(limit(zasl, self.capabilities))
            }
            // A controller may have the set and report no limit.
            Err(DriverError::Admin { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_not_part_of_a_name() {
        assert_eq!(text(b"ONE TWO  \0\0"), "ONE TWO");
        assert_eq!(text(b"\x01A\xff  "), "?A?");
        assert_eq!(text(b"    "), "");
    }

    #[test]
    fn a_transition_takes_as_long_as_the_controller_says() {
        assert_eq!([0, 1, 255].map(transition_ns), [10_000_000_000, 1_000_000_000, 255_000_000_000]);
    }

    #[test]
    fn a_limit_of_no_sense_is_no_limit() {
        let capabilities = Capabilities(0).with_mpsmin(1);
        assert_eq!(limit(0, capabilities), None);
        assert_eq!(limit(5, capabilities), Some(32 * 8192));
        assert_eq!(limit(255, capabilities), None);
    }
}
