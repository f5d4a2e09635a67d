//! Log pages (Base, section 5.14.1).

mod changes;
mod effects;
mod error;
mod firmware;
mod health;
mod sanitize;

pub use changes::{ChangedNamespaces, ChangedZones, MANY_CHANGED_ZONES};
pub use effects::{CommandEffects, CommandsSupported};
pub use error::{ErrorLogEntry, ParameterLocation};
pub use firmware::FirmwareSlots;
pub use health::{CriticalWarning, HealthLog};
pub use sanitize::{SanitizeLog, SanitizeState};

use crate::fields::codes;

codes! {
    /// Log Page Identifier (Base, section 5.14.1; BFh ZNS; 70h Fabrics).
    LogPage: u8 {
        SUPPORTED = 0x00, "Supported Log Pages";
        ERROR = 0x01, "Error Information";
        HEALTH = 0x02, "SMART / Health Information";
        FIRMWARE_SLOTS = 0x03, "Firmware Slot Information";
        CHANGED_NAMESPACES = 0x04, "Changed Namespace List";
        COMMANDS_SUPPORTED = 0x05, "Commands Supported and Effects";
        SELF_TEST = 0x06, "Device Self-test";
        TELEMETRY_HOST = 0x07, "Telemetry Host-Initiated";
        TELEMETRY_CONTROLLER = 0x08, "Telemetry Controller-Initiated";
        ENDURANCE_GROUP = 0x09, "Endurance Group Information";
        PREDICTABLE_LATENCY = 0x0a, "Predictable Latency Per NVM Set";
        ANA = 0x0c, "Asymmetric Namespace Access";
        PERSISTENT_EVENTS = 0x0d, "Persistent Event Log";
        DISCOVERY = 0x70, "Discovery";
        RESERVATION_NOTIFICATION = 0x80, "Reservation Notification";
        SANITIZE = 0x81, "Sanitize Status";
        CHANGED_ZONES = 0xbf, "Changed Zone List";
    }
}
