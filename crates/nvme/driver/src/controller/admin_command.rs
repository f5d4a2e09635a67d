//! An admin command as data: its entry and what it carries.

use iolab_nvme_spec::command::{IdentifyDword10, IdentifyDword11};
use iolab_nvme_spec::identify::{Cns, IDENTIFY_BYTES};
use iolab_nvme_spec::opcode::CommandSet;
use iolab_nvme_spec::{AdminOpcode, SubmissionEntry};

/// The data of an admin command: at most a page.
#[derive(Debug)]
pub(crate) enum Payload<'a> {
    /// No data.
    None,
    /// Data from the device.
    In(&'a mut [u8]),
    /// Data to the device.
    Out(&'a [u8]),
}

/// An admin command with its data.
#[derive(Debug)]
pub(crate) struct AdminCommand<'a> {
    pub(crate) entry: SubmissionEntry,
    pub(crate) data: Payload<'a>,
    /// Whether the command may take minutes.
    pub(crate) long: bool,
}

impl<'a> AdminCommand<'a> {
    pub(crate) fn new(entry: SubmissionEntry, data: Payload<'a>) -> AdminCommand<'a> {
        AdminCommand { entry, data, long: false }
    }

    pub(crate) fn identify(cns: Cns, nsid: u32, set: CommandSet, data: &'a mut [u8; IDENTIFY_BYTES]) -> Self {
        let entry = SubmissionEntry::new(AdminOpcode::IDENTIFY.0, 0)
            .with_nsid(nsid)
            .with_cdw(10, IdentifyDword10(0).with_cns(cns.0).0)
            .with_cdw(11, IdentifyDword11(0).with_csi(set.0).0);
        AdminCommand::new(entry, Payload::In(data))
    }

    /// Restricts the command to the controller that receives it, if the subsystem has several
    /// (CNTID, Base, section 5.15).
    pub(crate) fn of_this_controller(&mut self) {
        let dword10 = IdentifyDword10(self.entry.cdw(10)).with_cntid(u16::MAX);
        self.entry = self.entry.with_cdw(10, dword10.0);
    }

    pub(super) fn opcode(&self) -> AdminOpcode {
        AdminOpcode(self.entry.opc())
    }

    /// The data to copy to the command's page before it is sent, and the number of bytes that the
    /// command transfers; `None` if it needs no page.
    pub(super) fn out(&self) -> Option<(&[u8], usize)> {
        match &self.data {
            Payload::Out(bytes) => Some((bytes, bytes.len())),
            Payload::In(bytes) => Some((&[], bytes.len())),
            Payload::None => None,
        }
    }

    /// The buffer for the data of the answer.
    pub(super) fn room(&mut self) -> &mut [u8] {
        match &mut self.data {
            Payload::In(bytes) => bytes,
            Payload::None | Payload::Out(_) => &mut [],
        }
    }
}
