//! Features that Set Features and Get Features work on (Base, section 5.21.1).

mod structures;
mod values;

pub use structures::{
    AutonomousPowerStateTransition, HostBehavior, HostMemoryDescriptor, RangeType, Timestamp, TimestampAttributes,
};
pub use values::{
    ArbitrationFeature, EventConfiguration, HostMemoryBuffer, InterruptCoalescing, InterruptVectorConfiguration,
    PowerManagement, QueueCount, TemperatureThreshold, WriteCache,
};

use crate::fields::codes;

codes! {
    /// Feature Identifiers (Base, section 5.21.1; 19h Base 2.0).
    Feature: u8 {
        ARBITRATION = 0x01, "Arbitration";
        POWER_MANAGEMENT = 0x02, "Power Management";
        LBA_RANGE_TYPE = 0x03, "LBA Range Type";
        TEMPERATURE_THRESHOLD = 0x04, "Temperature Threshold";
        ERROR_RECOVERY = 0x05, "Error Recovery";
        VOLATILE_WRITE_CACHE = 0x06, "Volatile Write Cache";
        NUMBER_OF_QUEUES = 0x07, "Number of Queues";
        INTERRUPT_COALESCING = 0x08, "Interrupt Coalescing";
        INTERRUPT_VECTOR_CONFIGURATION = 0x09, "Interrupt Vector Configuration";
        WRITE_ATOMICITY = 0x0a, "Write Atomicity Normal";
        ASYNCHRONOUS_EVENT_CONFIGURATION = 0x0b, "Asynchronous Event Configuration";
        AUTONOMOUS_POWER_STATE = 0x0c, "Autonomous Power State Transition";
        HOST_MEMORY_BUFFER = 0x0d, "Host Memory Buffer";
        TIMESTAMP = 0x0e, "Timestamp";
        KEEP_ALIVE_TIMER = 0x0f, "Keep Alive Timer";
        HOST_THERMAL_MANAGEMENT = 0x10, "Host Controlled Thermal Management";
        NON_OPERATIONAL_POWER_STATE = 0x11, "Non-Operational Power State Config";
        READ_RECOVERY_LEVEL = 0x12, "Read Recovery Level Config";
        PREDICTABLE_LATENCY_CONFIG = 0x13, "Predictable Latency Mode Config";
        PREDICTABLE_LATENCY_WINDOW = 0x14, "Predictable Latency Mode Window";
        LBA_STATUS_INTERVAL = 0x15, "LBA Status Information Report Interval";
        HOST_BEHAVIOR_SUPPORT = 0x16, "Host Behavior Support";
        SANITIZE_CONFIG = 0x17, "Sanitize Config";
        ENDURANCE_GROUP_EVENT = 0x18, "Endurance Group Event Configuration";
        COMMAND_SET_PROFILE = 0x19, "I/O Command Set Profile";
        SOFTWARE_PROGRESS_MARKER = 0x80, "Software Progress Marker";
        HOST_IDENTIFIER = 0x81, "Host Identifier";
        RESERVATION_NOTIFICATION_MASK = 0x82, "Reservation Notification Mask";
        RESERVATION_PERSISTENCE = 0x83, "Reservation Persistence";
        NAMESPACE_WRITE_PROTECTION = 0x84, "Namespace Write Protection Config";
    }
}

codes! {
    /// SEL of Get Features: which value to return (Base, section 5.13).
    FeatureSelect: u8 {
        CURRENT = 0, "Current";
        DEFAULT = 1, "Default";
        SAVED = 2, "Saved";
        CAPABILITIES = 3, "Supported Capabilities";
    }
}
