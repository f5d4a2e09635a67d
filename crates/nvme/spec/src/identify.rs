//! The data structures that Identify returns (Base, section 5.15).

mod controller;
mod controller_fields;
mod namespace;
mod namespace_list;
mod power_state;
mod zoned;

pub use controller::IdentifyController;
pub use controller_fields::{
    AdminCapabilities, FormatAttributes, IoCapabilities, QueueEntrySize, SanitizeCapabilities, SglSupport,
    VolatileWriteCache,
};
pub use namespace::{
    DatasetCapabilities, FormattedSize, IdentifyNamespace, IdentifyNvmNamespace, LbaFormat, NamespaceFeatures,
    NvmControllerLimits,
};
pub use namespace_list::{
    CommandSetVectors, ControllerList, IdentifierType, NamespaceIdentifierHeader, NamespaceList, PrimaryIdentifiers,
};
pub use power_state::PowerStateDescriptor;
pub use zoned::{IdentifyZonedController, IdentifyZonedNamespace, ZonedLbaFormat};

use crate::fields::codes;

/// Bytes of every structure that Identify returns.
pub const IDENTIFY_BYTES: usize = 4096;

codes! {
    /// Controller or Namespace Structure: the structure that Identify returns (Base, section
    /// 5.15.1; 05h to 08h, 1Ah to 1Ch Base 2.0, section 5.17.1).
    Cns: u8 {
        NAMESPACE = 0x00, "Identify Namespace";
        CONTROLLER = 0x01, "Identify Controller";
        ACTIVE_NAMESPACES = 0x02, "Active Namespace ID list";
        NAMESPACE_IDENTIFIERS = 0x03, "Namespace Identification Descriptor list";
        NVM_SETS = 0x04, "NVM Set List";
        COMMAND_SET_NAMESPACE = 0x05, "I/O Command Set specific Identify Namespace";
        COMMAND_SET_CONTROLLER = 0x06, "I/O Command Set specific Identify Controller";
        COMMAND_SET_ACTIVE_NAMESPACES = 0x07, "I/O Command Set specific Active Namespace ID list";
        INDEPENDENT_NAMESPACE = 0x08, "I/O Command Set Independent Identify Namespace";
        ALLOCATED_NAMESPACES = 0x10, "Allocated Namespace ID list";
        ALLOCATED_NAMESPACE = 0x11, "Identify Namespace for an allocated namespace";
        NAMESPACE_CONTROLLERS = 0x12, "Controllers attached to the namespace";
        SUBSYSTEM_CONTROLLERS = 0x13, "Controllers in the NVM subsystem";
        PRIMARY_CAPABILITIES = 0x14, "Primary Controller Capabilities";
        SECONDARY_CONTROLLERS = 0x15, "Secondary Controller list";
        NAMESPACE_GRANULARITIES = 0x16, "Namespace Granularity List";
        UUIDS = 0x17, "UUID List";
        COMMAND_SET_ALLOCATED_NAMESPACES = 0x1a, "I/O Command Set specific Allocated Namespace ID list";
        COMMAND_SET_ALLOCATED_NAMESPACE = 0x1b, "I/O Command Set specific Identify Namespace, allocated";
        COMMAND_SETS = 0x1c, "Identify I/O Command Set";
    }
}
