//! Controller registers (properties): their offsets and contents (Base, section 3.1).
//!
//! Offsets are bytes from the start of BAR 0, and are the same as the offsets of Fabrics
//! properties.

mod capabilities;
mod configuration;
mod doorbell;
mod memory_buffer;

pub use capabilities::{Capabilities, Version};
pub use configuration::{
    AdminQueueAttributes, Arbitration, ControllerConfiguration, ControllerStatus, ShutdownNotification, ShutdownStatus,
};
pub use doorbell::{DOORBELLS, DoorbellStride};
pub use memory_buffer::{MemoryBufferLocation, MemoryBufferSize};

use crate::fields::codes;

codes! {
    /// Byte offset of a register (Base, section 3.1, register table).
    Register: u32 {
        CAP = 0x00, "Controller Capabilities";
        VS = 0x08, "Version";
        INTMS = 0x0c, "Interrupt Mask Set";
        INTMC = 0x10, "Interrupt Mask Clear";
        CC = 0x14, "Controller Configuration";
        CSTS = 0x1c, "Controller Status";
        NSSR = 0x20, "NVM Subsystem Reset";
        AQA = 0x24, "Admin Queue Attributes";
        ASQ = 0x28, "Admin Submission Queue Base Address";
        ACQ = 0x30, "Admin Completion Queue Base Address";
        CMBLOC = 0x38, "Controller Memory Buffer Location";
        CMBSZ = 0x3c, "Controller Memory Buffer Size";
        BPINFO = 0x40, "Boot Partition Information";
        BPRSEL = 0x44, "Boot Partition Read Select";
        BPMBL = 0x48, "Boot Partition Memory Buffer Location";
        CMBMSC = 0x50, "Controller Memory Buffer Memory Space Control";
        CMBSTS = 0x58, "Controller Memory Buffer Status";
        CRTO = 0x68, "Controller Ready Timeouts";
        PMRCAP = 0xe00, "Persistent Memory Region Capabilities";
        PMRCTL = 0xe04, "Persistent Memory Region Control";
        PMRSTS = 0xe08, "Persistent Memory Region Status";
    }
}

/// The value that resets the subsystem when written to [`Register::NSSR`]: "NVMe" (Base, section
/// 3.1.7).
pub const SUBSYSTEM_RESET: u32 = 0x4e56_4d65;

/// The value read from a device that is no longer present: all ones, with which PCI Express
/// completes failed reads.
pub const GONE_U32: u32 = u32::MAX;

/// PCI class code of an NVM Express I/O controller: mass storage, non-volatile, NVM Express (Base,
/// section 2.1.5).
pub const PCI_CLASS_CODE: u32 = 0x01_08_02;
