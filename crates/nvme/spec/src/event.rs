//! Asynchronous events: dword 0 of the completion of an Asynchronous Event Request (Base, section
//! 5.2).

use crate::fields::{bits, codes};

bits! {
    /// Completion dword 0 of an Asynchronous Event Request (Base, section 5.2.1).
    AsynchronousEvent: u32 {
        /// Event type, see [`EventType`].
        kind / with_kind: u8 [0; 3]
        /// Event information; its meaning depends on the type.
        information / with_information: u8 [8; 8]
        /// The log page with the details. Reading it allows the next event of this type.
        log_page / with_log_page: u8 [16; 8]
    }
}

codes! {
    /// Asynchronous event types (Base, section 5.2.1).
    EventType: u8 {
        ERROR = 0, "Error status";
        HEALTH = 1, "SMART / Health status";
        NOTICE = 2, "Notice";
        COMMAND_SET = 6, "I/O Command Set specific status";
        VENDOR = 7, "Vendor specific";
    }
}

codes! {
    /// Event information of [`EventType::ERROR`] (Base, section 5.2.1).
    ErrorEvent: u8 {
        INVALID_DOORBELL_REGISTER = 0, "Write to Invalid Doorbell Register";
        INVALID_DOORBELL_VALUE = 1, "Invalid Doorbell Write Value";
        DIAGNOSTIC_FAILURE = 2, "Diagnostic Failure";
        PERSISTENT_INTERNAL_ERROR = 3, "Persistent Internal Error";
        TRANSIENT_INTERNAL_ERROR = 4, "Transient Internal Error";
        FIRMWARE_IMAGE_LOAD_ERROR = 5, "Firmware Image Load Error";
    }
}

codes! {
    /// Event information of [`EventType::HEALTH`] (Base, section 5.2.1).
    HealthEvent: u8 {
        RELIABILITY = 0, "NVM subsystem Reliability";
        TEMPERATURE = 1, "Temperature Threshold";
        SPARE = 2, "Spare Below Threshold";
    }
}

codes! {
    /// Event information of [`EventType::NOTICE`] (Base, section 5.2.1; EFh ZNS; F0h Fabrics).
    NoticeEvent: u8 {
        NAMESPACE_CHANGED = 0x00, "Namespace Attribute Changed";
        FIRMWARE_ACTIVATION = 0x01, "Firmware Activation Starting";
        TELEMETRY_LOG_CHANGED = 0x02, "Telemetry Log Changed";
        ANA_CHANGE = 0x03, "Asymmetric Namespace Access Change";
        PREDICTABLE_LATENCY_CHANGE = 0x04, "Predictable Latency Event Aggregate Log Change";
        LBA_STATUS_ALERT = 0x05, "LBA Status Information Alert";
        ENDURANCE_GROUP_CHANGE = 0x06, "Endurance Group Event Aggregate Log Page Change";
        ZONE_DESCRIPTOR_CHANGED = 0xef, "Zone Descriptor Changed";
        DISCOVERY_CHANGED = 0xf0, "Discovery Log Page Change";
    }
}

impl AsynchronousEvent {
    /// An event of this type.
    pub const fn new(kind: EventType, information: u8, log_page: u8) -> AsynchronousEvent {
        AsynchronousEvent(0).with_kind(kind.0).with_information(information).with_log_page(log_page)
    }

    /// Event type.
    pub const fn event_type(self) -> EventType {
        EventType(self.kind())
    }

    /// The specification's name of the event, where this crate knows one.
    pub const fn name(self) -> Option<&'static str> {
        match self.event_type() {
            EventType::ERROR => ErrorEvent(self.information()).name(),
            EventType::HEALTH => HealthEvent(self.information()).name(),
            EventType::NOTICE => NoticeEvent(self.information()).name(),
            _ => None,
        }
    }
}
