//! The status codes with names: one line for each, as constants of [`Status`] and as a table.

use super::{Status, StatusCodeType};

macro_rules! statuses {
    ($( $kind:ident, $code:literal, $name:ident, $text:literal; )*) => {
        impl Status {
            $( #[doc = $text] pub const $name: Status = Status::new(StatusCodeType::$kind, $code); )*
        }

        pub(super) const TABLE: &[(Status, &str)] = &[$( (Status::$name, $text) ),*];
    };
}

statuses! {
    // Generic command status (Base, section 4.6.1.2.1; Base 2.0 from 22h; from 80h those of the NVM
    // command set).
    GENERIC, 0x00, SUCCESS, "Successful Completion";
    GENERIC, 0x01, INVALID_OPCODE, "Invalid Command Opcode";
    GENERIC, 0x02, INVALID_FIELD, "Invalid Field in Command";
    GENERIC, 0x03, COMMAND_ID_CONFLICT, "Command ID Conflict";
    GENERIC, 0x04, DATA_TRANSFER_ERROR, "Data Transfer Error";
    GENERIC, 0x05, ABORTED_POWER_LOSS, "Commands Aborted due to Power Loss Notification";
    GENERIC, 0x06, INTERNAL_ERROR, "Internal Error";
    GENERIC, 0x07, ABORT_REQUESTED, "Command Abort Requested";
    GENERIC, 0x08, ABORTED_SQ_DELETION, "Command Aborted due to SQ Deletion";
    GENERIC, 0x09, ABORTED_FAILED_FUSED, "Command Aborted due to Failed Fused Command";
    GENERIC, 0x0a, ABORTED_MISSING_FUSED, "Command Aborted due to Missing Fused Command";
    GENERIC, 0x0b, INVALID_NAMESPACE, "Invalid Namespace or Format";
    GENERIC, 0x0c, COMMAND_SEQUENCE_ERROR, "Command Sequence Error";
    GENERIC, 0x0d, INVALID_SGL_SEGMENT, "Invalid SGL Segment Descriptor";
    GENERIC, 0x0e, INVALID_SGL_COUNT, "Invalid Number of SGL Descriptors";
    GENERIC, 0x0f, DATA_SGL_LENGTH_INVALID, "Data SGL Length Invalid";
    GENERIC, 0x10, METADATA_SGL_LENGTH_INVALID, "Metadata SGL Length Invalid";
    GENERIC, 0x11, SGL_TYPE_INVALID, "SGL Descriptor Type Invalid";
    GENERIC, 0x12, INVALID_CMB_USE, "Invalid Use of Controller Memory Buffer";
    GENERIC, 0x13, PRP_OFFSET_INVALID, "PRP Offset Invalid";
    GENERIC, 0x14, ATOMIC_WRITE_UNIT_EXCEEDED, "Atomic Write Unit Exceeded";
    GENERIC, 0x15, OPERATION_DENIED, "Operation Denied";
    GENERIC, 0x16, SGL_OFFSET_INVALID, "SGL Offset Invalid";
    GENERIC, 0x18, HOST_ID_INCONSISTENT, "Host Identifier Inconsistent Format";
    GENERIC, 0x19, KEEP_ALIVE_EXPIRED, "Keep Alive Timer Expired";
    GENERIC, 0x1a, KEEP_ALIVE_INVALID, "Keep Alive Timeout Invalid";
    GENERIC, 0x1b, ABORTED_PREEMPT, "Command Aborted due to Preempt and Abort";
    GENERIC, 0x1c, SANITIZE_FAILED, "Sanitize Failed";
    GENERIC, 0x1d, SANITIZE_IN_PROGRESS, "Sanitize In Progress";
    GENERIC, 0x1e, SGL_GRANULARITY_INVALID, "SGL Data Block Granularity Invalid";
    GENERIC, 0x1f, COMMAND_NOT_SUPPORTED_IN_CMB, "Command Not Supported for Queue in CMB";
    GENERIC, 0x20, NAMESPACE_WRITE_PROTECTED, "Namespace is Write Protected";
    GENERIC, 0x21, COMMAND_INTERRUPTED, "Command Interrupted";
    GENERIC, 0x22, TRANSIENT_TRANSPORT_ERROR, "Transient Transport Error";
    GENERIC, 0x23, PROHIBITED_BY_LOCKDOWN, "Command Prohibited by Command and Feature Lockdown";
    GENERIC, 0x24, MEDIA_NOT_READY, "Admin Command Media Not Ready";
    GENERIC, 0x80, LBA_OUT_OF_RANGE, "LBA Out of Range";
    GENERIC, 0x81, CAPACITY_EXCEEDED, "Capacity Exceeded";
    GENERIC, 0x82, NAMESPACE_NOT_READY, "Namespace Not Ready";
    GENERIC, 0x83, RESERVATION_CONFLICT, "Reservation Conflict";
    GENERIC, 0x84, FORMAT_IN_PROGRESS, "Format In Progress";
    // Command specific status (Base, section 4.6.1.2.2; NVM from 80h; ZNS, status codes, from B6h).
    COMMAND_SPECIFIC, 0x00, COMPLETION_QUEUE_INVALID, "Completion Queue Invalid";
    COMMAND_SPECIFIC, 0x01, INVALID_QUEUE_ID, "Invalid Queue Identifier";
    COMMAND_SPECIFIC, 0x02, INVALID_QUEUE_SIZE, "Invalid Queue Size";
    COMMAND_SPECIFIC, 0x03, ABORT_LIMIT_EXCEEDED, "Abort Command Limit Exceeded";
    COMMAND_SPECIFIC, 0x05, EVENT_REQUEST_LIMIT_EXCEEDED, "Asynchronous Event Request Limit Exceeded";
    COMMAND_SPECIFIC, 0x06, INVALID_FIRMWARE_SLOT, "Invalid Firmware Slot";
    COMMAND_SPECIFIC, 0x07, INVALID_FIRMWARE_IMAGE, "Invalid Firmware Image";
    COMMAND_SPECIFIC, 0x08, INVALID_INTERRUPT_VECTOR, "Invalid Interrupt Vector";
    COMMAND_SPECIFIC, 0x09, INVALID_LOG_PAGE, "Invalid Log Page";
    COMMAND_SPECIFIC, 0x0a, INVALID_FORMAT, "Invalid Format";
    COMMAND_SPECIFIC, 0x0b, FIRMWARE_NEEDS_CONVENTIONAL_RESET, "Firmware Activation Requires Conventional Reset";
    COMMAND_SPECIFIC, 0x0c, INVALID_QUEUE_DELETION, "Invalid Queue Deletion";
    COMMAND_SPECIFIC, 0x0d, FEATURE_NOT_SAVEABLE, "Feature Identifier Not Saveable";
    COMMAND_SPECIFIC, 0x0e, FEATURE_NOT_CHANGEABLE, "Feature Not Changeable";
    COMMAND_SPECIFIC, 0x0f, FEATURE_NOT_NAMESPACE_SPECIFIC, "Feature Not Namespace Specific";
    COMMAND_SPECIFIC, 0x10, FIRMWARE_NEEDS_SUBSYSTEM_RESET, "Firmware Activation Requires NVM Subsystem Reset";
    COMMAND_SPECIFIC, 0x11, FIRMWARE_NEEDS_CONTROLLER_RESET, "Firmware Activation Requires Controller Level Reset";
    COMMAND_SPECIFIC, 0x12, FIRMWARE_NEEDS_MAXIMUM_TIME, "Firmware Activation Requires Maximum Time Violation";
    COMMAND_SPECIFIC, 0x13, FIRMWARE_ACTIVATION_PROHIBITED, "Firmware Activation Prohibited";
    COMMAND_SPECIFIC, 0x14, OVERLAPPING_RANGE, "Overlapping Range";
    COMMAND_SPECIFIC, 0x15, NAMESPACE_INSUFFICIENT_CAPACITY, "Namespace Insufficient Capacity";
    COMMAND_SPECIFIC, 0x16, NAMESPACE_ID_UNAVAILABLE, "Namespace Identifier Unavailable";
    COMMAND_SPECIFIC, 0x18, NAMESPACE_ALREADY_ATTACHED, "Namespace Already Attached";
    COMMAND_SPECIFIC, 0x19, NAMESPACE_PRIVATE, "Namespace Is Private";
    COMMAND_SPECIFIC, 0x1a, NAMESPACE_NOT_ATTACHED, "Namespace Not Attached";
    COMMAND_SPECIFIC, 0x1b, THIN_PROVISIONING_NOT_SUPPORTED, "Thin Provisioning Not Supported";
    COMMAND_SPECIFIC, 0x1c, CONTROLLER_LIST_INVALID, "Controller List Invalid";
    COMMAND_SPECIFIC, 0x1d, SELF_TEST_IN_PROGRESS, "Device Self-test In Progress";
    COMMAND_SPECIFIC, 0x1e, BOOT_PARTITION_WRITE_PROHIBITED, "Boot Partition Write Prohibited";
    COMMAND_SPECIFIC, 0x1f, INVALID_CONTROLLER_ID, "Invalid Controller Identifier";
    COMMAND_SPECIFIC, 0x20, INVALID_SECONDARY_STATE, "Invalid Secondary Controller State";
    COMMAND_SPECIFIC, 0x21, INVALID_RESOURCE_COUNT, "Invalid Number of Controller Resources";
    COMMAND_SPECIFIC, 0x22, INVALID_RESOURCE_ID, "Invalid Resource Identifier";
    COMMAND_SPECIFIC, 0x23, SANITIZE_PROHIBITED, "Sanitize Prohibited While Persistent Memory Region is Enabled";
    COMMAND_SPECIFIC, 0x24, ANA_GROUP_INVALID, "ANA Group Identifier Invalid";
    COMMAND_SPECIFIC, 0x25, ANA_ATTACH_FAILED, "ANA Attach Failed";
    COMMAND_SPECIFIC, 0x29, COMMAND_SET_NOT_SUPPORTED, "I/O Command Set Not Supported";
    COMMAND_SPECIFIC, 0x2a, COMMAND_SET_NOT_ENABLED, "I/O Command Set Not Enabled";
    COMMAND_SPECIFIC, 0x2b, COMMAND_SETS_REJECTED, "I/O Command Set Combination Rejected";
    COMMAND_SPECIFIC, 0x2c, INVALID_COMMAND_SET, "Invalid I/O Command Set";
    COMMAND_SPECIFIC, 0x80, CONFLICTING_ATTRIBUTES, "Conflicting Attributes";
    COMMAND_SPECIFIC, 0x81, INVALID_PROTECTION_INFORMATION, "Invalid Protection Information";
    COMMAND_SPECIFIC, 0x82, WRITE_TO_READ_ONLY_RANGE, "Attempted Write to Read Only Range";
    COMMAND_SPECIFIC, 0x83, COMMAND_SIZE_LIMIT_EXCEEDED, "Command Size Limit Exceeded";
    COMMAND_SPECIFIC, 0xb6, INVALID_ZONE_OPERATION, "Invalid Zone Operation Request";
    COMMAND_SPECIFIC, 0xb7, ZRWA_RESOURCES_UNAVAILABLE, "Zone Random Write Area Resources Unavailable";
    COMMAND_SPECIFIC, 0xb8, ZONE_BOUNDARY_ERROR, "Zone Boundary Error";
    COMMAND_SPECIFIC, 0xb9, ZONE_FULL, "Zone Is Full";
    COMMAND_SPECIFIC, 0xba, ZONE_READ_ONLY, "Zone Is Read Only";
    COMMAND_SPECIFIC, 0xbb, ZONE_OFFLINE, "Zone Is Offline";
    COMMAND_SPECIFIC, 0xbc, ZONE_INVALID_WRITE, "Zone Invalid Write";
    COMMAND_SPECIFIC, 0xbd, TOO_MANY_ACTIVE_ZONES, "Too Many Active Zones";
    COMMAND_SPECIFIC, 0xbe, TOO_MANY_OPEN_ZONES, "Too Many Open Zones";
    COMMAND_SPECIFIC, 0xbf, INVALID_ZONE_TRANSITION, "Invalid Zone State Transition";
    // Media and data integrity errors (Base, section 4.6.1.2.3).
    MEDIA, 0x80, WRITE_FAULT, "Write Fault";
    MEDIA, 0x81, UNRECOVERED_READ_ERROR, "Unrecovered Read Error";
    MEDIA, 0x82, GUARD_CHECK_ERROR, "End-to-end Guard Check Error";
    MEDIA, 0x83, APPLICATION_TAG_CHECK_ERROR, "End-to-end Application Tag Check Error";
    MEDIA, 0x84, REFERENCE_TAG_CHECK_ERROR, "End-to-end Reference Tag Check Error";
    MEDIA, 0x85, COMPARE_FAILURE, "Compare Failure";
    MEDIA, 0x86, ACCESS_DENIED, "Access Denied";
    MEDIA, 0x87, DEALLOCATED_OR_UNWRITTEN, "Deallocated or Unwritten Logical Block";
    MEDIA, 0x88, STORAGE_TAG_CHECK_ERROR, "End-to-End Storage Tag Check Error";
    // Path related status (Base, section 4.6.1.2.4).
    PATH, 0x00, INTERNAL_PATH_ERROR, "Internal Path Error";
    PATH, 0x01, ANA_PERSISTENT_LOSS, "Asymmetric Access Persistent Loss";
    PATH, 0x02, ANA_INACCESSIBLE, "Asymmetric Access Inaccessible";
    PATH, 0x03, ANA_TRANSITION, "Asymmetric Access Transition";
    PATH, 0x60, CONTROLLER_PATHING_ERROR, "Controller Pathing Error";
    PATH, 0x70, HOST_PATHING_ERROR, "Host Pathing Error";
    PATH, 0x71, ABORTED_BY_HOST, "Command Aborted By Host";
}
