//! The command dwords 10 to 15 of commands, field by field.

mod admin;
mod io;
mod management;
mod queue;

pub use admin::{AbortDword10, FeatureDword10, IdentifyDword10, IdentifyDword11, LogDword10, LogDword11, LogDword14};
pub use io::{
    CopyDescriptor, CopyDword12, DatasetAttributes, DatasetRange, DatasetRangeAttributes, ReadWriteDword12,
    ReadWriteDword13,
};
pub use management::{
    FirmwareAction, FirmwareCommitDword10, FormatDword10, NamespaceAttachmentSelect, NamespaceManagementSelect,
    SanitizeAction, SanitizeDword10, SecureErase, SecurityDword10,
};
pub use queue::{CreateCqDword11, CreateSqDword11, QueueDword10};
