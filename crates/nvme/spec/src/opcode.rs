//! Opcodes of the admin, NVM and zoned namespace command sets.
//!
//! Bits 1:0 of an opcode give the direction of its data (Base, section 5, table of opcodes).

use crate::fields::codes;

codes! {
    /// Admin command opcodes (Base, section 5).
    AdminOpcode: u8 {
        DELETE_IO_SQ = 0x00, "Delete I/O Submission Queue";
        CREATE_IO_SQ = 0x01, "Create I/O Submission Queue";
        GET_LOG_PAGE = 0x02, "Get Log Page";
        DELETE_IO_CQ = 0x04, "Delete I/O Completion Queue";
        CREATE_IO_CQ = 0x05, "Create I/O Completion Queue";
        IDENTIFY = 0x06, "Identify";
        ABORT = 0x08, "Abort";
        SET_FEATURES = 0x09, "Set Features";
        GET_FEATURES = 0x0a, "Get Features";
        ASYNCHRONOUS_EVENT_REQUEST = 0x0c, "Asynchronous Event Request";
        NAMESPACE_MANAGEMENT = 0x0d, "Namespace Management";
        FIRMWARE_COMMIT = 0x10, "Firmware Commit";
        FIRMWARE_IMAGE_DOWNLOAD = 0x11, "Firmware Image Download";
        DEVICE_SELF_TEST = 0x14, "Device Self-test";
        NAMESPACE_ATTACHMENT = 0x15, "Namespace Attachment";
        KEEP_ALIVE = 0x18, "Keep Alive";
        DIRECTIVE_SEND = 0x19, "Directive Send";
        DIRECTIVE_RECEIVE = 0x1a, "Directive Receive";
        VIRTUALIZATION_MANAGEMENT = 0x1c, "Virtualization Management";
        NVME_MI_SEND = 0x1d, "NVMe-MI Send";
        NVME_MI_RECEIVE = 0x1e, "NVMe-MI Receive";
        CAPACITY_MANAGEMENT = 0x20, "Capacity Management";
        LOCKDOWN = 0x24, "Lockdown";
        DOORBELL_BUFFER_CONFIG = 0x7c, "Doorbell Buffer Config";
        FABRICS = 0x7f, "Fabrics Commands";
        FORMAT_NVM = 0x80, "Format NVM";
        SECURITY_SEND = 0x81, "Security Send";
        SECURITY_RECEIVE = 0x82, "Security Receive";
        SANITIZE = 0x84, "Sanitize";
        GET_LBA_STATUS = 0x86, "Get LBA Status";
    }
}

codes! {
    /// I/O command opcodes: NVM (Base, section 6; NVM, section 3.2) and zoned namespaces (ZNS,
    /// section 3.4).
    IoOpcode: u8 {
        FLUSH = 0x00, "Flush";
        WRITE = 0x01, "Write";
        READ = 0x02, "Read";
        WRITE_UNCORRECTABLE = 0x04, "Write Uncorrectable";
        COMPARE = 0x05, "Compare";
        WRITE_ZEROES = 0x08, "Write Zeroes";
        DATASET_MANAGEMENT = 0x09, "Dataset Management";
        VERIFY = 0x0c, "Verify";
        RESERVATION_REGISTER = 0x0d, "Reservation Register";
        RESERVATION_REPORT = 0x0e, "Reservation Report";
        RESERVATION_ACQUIRE = 0x11, "Reservation Acquire";
        RESERVATION_RELEASE = 0x15, "Reservation Release";
        COPY = 0x19, "Copy";
        ZONE_MANAGEMENT_SEND = 0x79, "Zone Management Send";
        ZONE_MANAGEMENT_RECEIVE = 0x7a, "Zone Management Receive";
        ZONE_APPEND = 0x7d, "Zone Append";
    }
}

codes! {
    /// I/O command set identifiers, CSI (Base 2.0, section 3.1.2.1 and Identify).
    CommandSet: u8 {
        NVM = 0x00, "NVM Command Set";
        KEY_VALUE = 0x01, "Key Value Command Set";
        ZONED = 0x02, "Zoned Namespace Command Set";
    }
}

/// The direction of a command's data: bits 1:0 of its opcode (Base, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataTransfer {
    /// No data.
    None,
    /// Host to controller.
    FromHost,
    /// Controller to host.
    ToHost,
    /// Both.
    Both,
}

impl DataTransfer {
    /// The direction in bits 1:0 of `opcode`. For Fabrics commands, the type gives it instead.
    pub const fn of_opcode(opcode: u8) -> DataTransfer {
        match opcode & 3 {
            0 => DataTransfer::None,
            1 => DataTransfer::FromHost,
            2 => DataTransfer::ToHost,
            _ => DataTransfer::Both,
        }
    }
}
