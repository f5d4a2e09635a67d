//! Features whose whole value is command dword 11 or completion dword 0.

use crate::fields::bits;

bits! {
    /// Arbitration (Base, section 5.21.1.1).
    ArbitrationFeature: u32 {
        /// Arbitration Burst, as a power of two; 7 for no limit.
        ab / with_ab: u8 [0; 3]
        /// Low Priority Weight, less one.
        lpw / with_lpw: u8 [8; 8]
        /// Medium Priority Weight, less one.
        mpw / with_mpw: u8 [16; 8]
        /// High Priority Weight, less one.
        hpw / with_hpw: u8 [24; 8]
    }
}

bits! {
    /// Power Management (Base, section 5.21.1.2).
    PowerManagement: u32 {
        /// Power State.
        ps / with_ps: u8 [0; 5]
        /// Workload Hint.
        wh / with_wh: u8 [5; 3]
    }
}

bits! {
    /// Temperature Threshold (Base, section 5.21.1.4).
    TemperatureThreshold: u32 {
        /// Threshold in kelvins.
        tmpth / with_tmpth: u16 [0; 16]
        /// Sensor: 0 composite, 1 to 8, 15 all (Set Features only).
        tmpsel / with_tmpsel: u8 [16; 4]
        /// Type: 0 over, 1 under temperature.
        thsel / with_thsel: u8 [20; 2]
    }
}

bits! {
    /// Volatile Write Cache (Base, section 5.21.1.6).
    WriteCache: u32 {
        /// Volatile Write Cache Enable.
        wce / with_wce: bool [0]
    }
}

bits! {
    /// Number of Queues, requested (command dword 11) or allocated (completion dword 0); both less
    /// one (Base, section 5.21.1.7).
    QueueCount: u32 {
        /// I/O Submission Queues, less one.
        nsq / with_nsq: u16 [0; 16]
        /// I/O Completion Queues, less one.
        ncq / with_ncq: u16 [16; 16]
    }
}

bits! {
    /// Interrupt Coalescing (Base, section 5.21.1.8).
    InterruptCoalescing: u32 {
        /// Aggregation Threshold in completions, less one.
        thr / with_thr: u8 [0; 8]
        /// Aggregation Time in units of 100 microseconds.
        time / with_time: u8 [8; 8]
    }
}

bits! {
    /// Interrupt Vector Configuration (Base, section 5.21.1.9).
    InterruptVectorConfiguration: u32 {
        /// Interrupt Vector.
        iv / with_iv: u16 [0; 16]
        /// Coalescing Disable.
        cd / with_cd: bool [16]
    }
}

bits! {
    /// Asynchronous Event Configuration: which events are reported (Base, section 5.21.1.11; bit 27
    /// ZNS; bit 31 Fabrics).
    EventConfiguration: u32 {
        /// SMART / Health Critical Warnings, bit for bit as in the log page.
        health / with_health: u8 [0; 8]
        /// Namespace Attribute Notices.
        namespace_attribute / with_namespace_attribute: bool [8]
        /// Firmware Activation Notices.
        firmware_activation / with_firmware_activation: bool [9]
        /// Telemetry Log Notices.
        telemetry / with_telemetry: bool [10]
        /// Asymmetric Namespace Access Change Notices.
        ana_change / with_ana_change: bool [11]
        /// Predictable Latency Event Aggregate Log Change Notices.
        predictable_latency / with_predictable_latency: bool [12]
        /// LBA Status Information Notices.
        lba_status / with_lba_status: bool [13]
        /// Endurance Group Event Aggregate Log Change Notices.
        endurance_group / with_endurance_group: bool [14]
        /// Zone Descriptor Changed Notices.
        zone_descriptor / with_zone_descriptor: bool [27]
        /// Discovery Log Page Change Notification.
        discovery / with_discovery: bool [31]
    }
}

bits! {
    /// Host Memory Buffer, dword 11 (Base, section 5.21.1.13). Dword 12 is its size in memory
    /// pages, dwords 13 and 14 the address of the descriptor list, dword 15 the number of
    /// descriptors.
    HostMemoryBuffer: u32 {
        /// Enable Host Memory.
        ehm / with_ehm: bool [0]
        /// Memory Return: the same memory as before a reset, with its contents.
        mr / with_mr: bool [1]
    }
}
