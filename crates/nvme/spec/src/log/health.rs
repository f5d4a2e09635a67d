//! The SMART / Health Information log page.

use crate::fields::bits;
use crate::le::{U16, U32, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// SMART / Health Information (Base, section 5.14.1.2).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct HealthLog {
    /// Critical Warning, see [`CriticalWarning`].
    pub critical_warning: u8,
    /// Composite Temperature in kelvins.
    pub composite_temperature: U16,
    /// Available Spare in percent.
    pub available_spare: u8,
    /// Available Spare Threshold in percent.
    pub available_spare_threshold: u8,
    /// Percentage Used; may exceed 100.
    pub percentage_used: u8,
    /// Endurance Group Critical Warning Summary.
    pub endurance_group_warning: u8,
    /// Reserved.
    pub reserved7: [u8; 25],
    /// Data Units Read: thousands of 512-byte units, rounded up.
    pub data_units_read: U128,
    /// Data Units Written: thousands of 512-byte units, rounded up.
    pub data_units_written: U128,
    /// Host Read Commands.
    pub host_read_commands: U128,
    /// Host Write Commands.
    pub host_write_commands: U128,
    /// Controller Busy Time in minutes.
    pub controller_busy_time: U128,
    /// Power Cycles.
    pub power_cycles: U128,
    /// Power On Hours.
    pub power_on_hours: U128,
    /// Unsafe Shutdowns.
    pub unsafe_shutdowns: U128,
    /// Media and Data Integrity Errors.
    pub media_errors: U128,
    /// Number of Error Information Log Entries over the life of the controller.
    pub error_log_entries: U128,
    /// Warning Composite Temperature Time in minutes.
    pub warning_temperature_time: U32,
    /// Critical Composite Temperature Time in minutes.
    pub critical_temperature_time: U32,
    /// Temperature Sensors 1 to 8 in kelvins; zero if there is none.
    pub temperature_sensors: [U16; 8],
    /// Thermal Management Temperature 1 and 2 Transition Counts.
    pub thermal_transitions: [U32; 2],
    /// Total Time For Thermal Management Temperature 1 and 2 in seconds.
    pub thermal_seconds: [U32; 2],
    /// Reserved.
    pub reserved232: [u8; 280],
}

const _: () = assert!(size_of::<HealthLog>() == 512);

bits! {
    /// Critical Warning (Base, section 5.14.1.2).
    CriticalWarning: u8 {
        /// Available spare is below its threshold.
        spare / with_spare: bool [0]
        /// A temperature is beyond its threshold.
        temperature / with_temperature: bool [1]
        /// Reliability is degraded.
        reliability / with_reliability: bool [2]
        /// The media is read only.
        read_only / with_read_only: bool [3]
        /// The volatile memory backup has failed.
        backup_failed / with_backup_failed: bool [4]
        /// The persistent memory region is read only or unreliable.
        persistent_memory / with_persistent_memory: bool [5]
    }
}
