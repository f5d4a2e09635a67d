//! Connect and the other Fabrics commands, encoded and decoded (Fabrics, section 3).

use iolab_nvme_spec::fabrics::{
    AUTHENTICATION_PROTOCOL, AUTHENTICATION_SPECIFIC, AuthenticationCommand, ConnectCommand, ConnectData,
    ConnectStatus, DisconnectCommand, FabricsType, PropertyGet, PropertySet,
};
use iolab_nvme_spec::le::{U16, U32, U64};
use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::sgl::{SglDescriptor, SglSubtype, SglType};
use iolab_nvme_spec::{AdminOpcode, FromBytes, FromZeros, IntoBytes, Status, SubmissionEntry};

use crate::name::QualifiedName;

/// CATTR: the host does not want reports of the submission queue head.
const NO_FLOW_CONTROL: u8 = 1 << 2;
/// PSDT in byte 1 of a command: SGL.
const SGL_FLAG: u8 = 1 << 6;

/// A request of a host for a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connect {
    /// Queue identifier; 0 is the admin queue.
    pub queue: u16,
    /// Entries of the submission queue.
    pub entries: u32,
    /// Whether reports of the submission queue head are disabled.
    pub no_flow_control: bool,
    /// Keep Alive Timeout in milliseconds; 0 for none.
    pub keep_alive_ms: u32,
    /// The host identifier.
    pub host_id: [u8; 16],
    /// The host's name.
    pub host: QualifiedName,
    /// The requested subsystem.
    pub subsystem: QualifiedName,
    /// The requested controller, or FFFFh for any.
    pub controller: u16,
}

/// The refusal of a Connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectRefusal {
    /// The status.
    pub status: Status,
    /// Dword 0 of the answer: the place of the error, for invalid parameters.
    pub result: u32,
}

impl ConnectRefusal {
    /// An error at `offset` of the command's data.
    pub const fn in_data(offset: u32) -> ConnectRefusal {
        ConnectRefusal { status: ConnectStatus::INVALID_PARAMETERS.with_dnr(true), result: 1 << 16 | offset }
    }

    /// An error at `offset` of the command.
    pub const fn in_command(offset: u32) -> ConnectRefusal {
        ConnectRefusal { status: ConnectStatus::INVALID_PARAMETERS.with_dnr(true), result: offset }
    }

    /// A refusal for another reason.
    pub const fn because(status: Status) -> ConnectRefusal {
        ConnectRefusal { status: status.with_dnr(true), result: 0 }
    }
}

impl Connect {
    /// Decodes a Connect command with its data.
    ///
    /// # Errors
    /// The refusal with which the command is answered.
    pub fn read(entry: &SubmissionEntry, data: &[u8]) -> Result<Connect, ConnectRefusal> {
        let too_short = ConnectRefusal::because(Status::DATA_SGL_LENGTH_INVALID);
        let command = ConnectCommand::read_from_bytes(entry.as_bytes()).map_err(|_| too_short)?;
        let (data, _) = ConnectData::read_from_prefix(data).map_err(|_| too_short)?;
        if command.recfmt.get() != 0 {
            return Err(ConnectRefusal::because(ConnectStatus::INCOMPATIBLE_FORMAT));
        }
        if command.sqsize.get() == 0 {
            return Err(ConnectRefusal::in_command(44));
        }
        let name =
            |field: &[u8; 256], offset| QualifiedName::of_field(field).map_err(|_| ConnectRefusal::in_data(offset));
        Ok(Connect {
            queue: command.qid.get(),
            entries: u32::from(command.sqsize.get()) + 1,
            no_flow_control: command.cattr & NO_FLOW_CONTROL != 0,
            keep_alive_ms: command.kato.get(),
            host_id: data.hostid,
            host: name(&data.hostnqn, 512)?,
            subsystem: name(&data.subnqn, 256)?,
            controller: data.cntlid.get(),
        })
    }
}

/// The entry of a Connect command with its data in the capsule.
pub fn connect_entry(connect: &Connect, cid: u16) -> SubmissionEntry {
    let mut command = ConnectCommand::new_zeroed();
    command.opcode = AdminOpcode::FABRICS.0;
    command.psdt = SGL_FLAG;
    command.cid = U16::new(cid);
    command.fctype = FabricsType::CONNECT.0;
    let sgl = SglDescriptor::new(SglType::DATA_BLOCK, SglSubtype::OFFSET, 0, size_of::<ConnectData>() as u32);
    command.sgl1.copy_from_slice(sgl.as_bytes());
    command.qid = U16::new(connect.queue);
    command.sqsize = U16::new((connect.entries - 1) as u16);
    command.cattr = if connect.no_flow_control { NO_FLOW_CONTROL } else { 0 };
    command.kato = U32::new(connect.keep_alive_ms);
    of_bytes(command.as_bytes())
}

/// The data of a Connect command.
pub fn connect_data(connect: &Connect) -> Box<[u8]> {
    let mut data = ConnectData::new_zeroed();
    data.hostid = connect.host_id;
    data.cntlid = U16::new(connect.controller);
    connect.subsystem.put_into(&mut data.subnqn);
    connect.host.put_into(&mut data.hostnqn);
    data.as_bytes().into()
}

/// The entry of a Property Get command.
pub fn property_get(register: Register, is_wide: bool, cid: u16) -> SubmissionEntry {
    let mut command = PropertyGet::new_zeroed();
    command.opcode = AdminOpcode::FABRICS.0;
    command.reserved1 = SGL_FLAG;
    command.cid = U16::new(cid);
    command.fctype = FabricsType::PROPERTY_GET.0;
    command.attrib = is_wide.into();
    command.ofst = U32::new(register.0);
    of_bytes(command.as_bytes())
}

/// The entry of a Property Set command for a property of four bytes.
pub fn property_set(register: Register, value: u32, cid: u16) -> SubmissionEntry {
    let mut command = PropertySet::new_zeroed();
    command.opcode = AdminOpcode::FABRICS.0;
    command.reserved1 = SGL_FLAG;
    command.cid = U16::new(cid);
    command.fctype = FabricsType::PROPERTY_SET.0;
    command.ofst = U32::new(register.0);
    command.value = U64::new(value.into());
    of_bytes(command.as_bytes())
}

/// The entry of an Authentication Send command with its message in the capsule.
pub fn authentication_send(bytes: u32, cid: u16) -> SubmissionEntry {
    let sgl = SglDescriptor::new(SglType::DATA_BLOCK, SglSubtype::OFFSET, 0, bytes);
    authentication(FabricsType::AUTHENTICATION_SEND, sgl, bytes, cid)
}

/// The entry of an Authentication Receive command for at most this many bytes.
pub fn authentication_receive(bytes: u32, cid: u16) -> SubmissionEntry {
    authentication(FabricsType::AUTHENTICATION_RECEIVE, SglDescriptor::transport(bytes), bytes, cid)
}

fn authentication(kind: FabricsType, sgl: SglDescriptor, bytes: u32, cid: u16) -> SubmissionEntry {
    let mut command = AuthenticationCommand::new_zeroed();
    command.opcode = AdminOpcode::FABRICS.0;
    command.psdt = SGL_FLAG;
    command.cid = U16::new(cid);
    command.fctype = kind.0;
    command.sgl1.copy_from_slice(sgl.as_bytes());
    (command.spsp0, command.spsp1) = (AUTHENTICATION_SPECIFIC, AUTHENTICATION_SPECIFIC);
    command.secp = AUTHENTICATION_PROTOCOL;
    command.length = U32::new(bytes);
    of_bytes(command.as_bytes())
}

/// The entry of a Disconnect command.
pub fn disconnect_entry(cid: u16) -> SubmissionEntry {
    let mut command = DisconnectCommand::new_zeroed();
    command.opcode = AdminOpcode::FABRICS.0;
    command.reserved1 = SGL_FLAG;
    command.cid = U16::new(cid);
    command.fctype = FabricsType::DISCONNECT.0;
    of_bytes(command.as_bytes())
}

fn of_bytes(bytes: &[u8]) -> SubmissionEntry {
    let Ok(entry) = SubmissionEntry::read_from_bytes(bytes) else { unreachable!("every command has 64 bytes") };
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabrics_command::FabricsCommand;

    fn connect() -> Connect {
        Connect {
            queue: 3,
            entries: 129,
            no_flow_control: true,
            keep_alive_ms: 5000,
            host_id: [7; 16],
            host: QualifiedName::new("nqn.2014-08.org.nvmexpress:uuid:host").unwrap(),
            subsystem: QualifiedName::new("nqn.2014-08.org.nvmexpress:uuid:drive").unwrap(),
            controller: 0xffff,
        }
    }

    #[test]
    fn what_is_made_is_read() {
        let (entry, data) = (connect_entry(&connect(), 9), connect_data(&connect()));
        assert_eq!((entry.cid(), entry.sgl1()), (9, SglDescriptor::in_capsule(0, 1024)));
        assert_eq!(Connect::read(&entry, &data), Ok(connect()));
        assert_eq!(FabricsCommand::of(&entry), Some(FabricsCommand::Connect));
        assert_eq!(
            FabricsCommand::of(&property_get(Register::CAP, true, 1)),
            Some(FabricsCommand::PropertyGet { register: Register::CAP, is_wide: true })
        );
        assert_eq!(
            FabricsCommand::of(&property_set(Register::CC, 0x46_0001, 1)),
            Some(FabricsCommand::PropertySet { register: Register::CC, value: 0x46_0001, is_wide: false })
        );
        assert_eq!(FabricsCommand::of(&disconnect_entry(1)), Some(FabricsCommand::Disconnect));
        assert_eq!(FabricsCommand::of(&SubmissionEntry::new(0x06, 1)), None);
        let (send, receive) = (authentication_send(72, 1), authentication_receive(4096, 1));
        assert_eq!(FabricsCommand::of(&send), Some(FabricsCommand::AuthenticationSend { bytes: Some(72) }));
        assert_eq!(FabricsCommand::of(&receive), Some(FabricsCommand::AuthenticationReceive { bytes: Some(4096) }));
        let other = send.with_cdw(10, 0);
        assert_eq!(FabricsCommand::of(&other), Some(FabricsCommand::AuthenticationSend { bytes: None }));
    }

    #[test]
    fn mistakes_are_answered_with_their_place() {
        let (entry, mut data) = (connect_entry(&connect(), 9), connect_data(&connect()));
        let status = |read: Result<Connect, ConnectRefusal>| read.unwrap_err();
        assert_eq!(status(Connect::read(&entry, &data[..1023])).status.code(), Status::DATA_SGL_LENGTH_INVALID);
        let empty = Connect { entries: 1, ..connect() };
        assert_eq!(status(Connect::read(&connect_entry(&empty, 9), &data)), ConnectRefusal::in_command(44));
        let format = entry.with_cdw(10, 1);
        assert_eq!(status(Connect::read(&format, &data)).status.code(), ConnectStatus::INCOMPATIBLE_FORMAT);
        data[512] = 0xff;
        assert_eq!(status(Connect::read(&entry, &data)).result, 1 << 16 | 512);
    }
}
