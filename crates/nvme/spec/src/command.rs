//! The command dwords 10 to 15 of commands, field by field.

mod admin;
mod io;
mod management;

pub use admin::{
    AbortDword10, CreateCqDword11, CreateSqDword11, FeatureDword10, IdentifyDword10, IdentifyDword11, LogDword10,
    LogDword11, LogDword14, QueueDword10,
};
pub use io::{
    CopyDescriptor, CopyDword12, DatasetAttributes, DatasetRange, DatasetRangeAttributes, ReadWriteDword12,
    ReadWriteDword13,
};
pub use management::{
    FirmwareAction, FirmwareCommitDword10, FormatDword10, NamespaceAttachmentSelect, NamespaceManagementSelect,
    SanitizeAction, SanitizeDword10, SecureErase, SecurityDword10,
};
