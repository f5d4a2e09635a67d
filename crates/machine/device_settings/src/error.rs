//! Errors of device settings.

use std::path::Path;

/// One value for one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedSetting {
    /// Kernel name of the device.
    pub device: String,
    /// Name of the setting.
    pub name: String,
    /// The requested value.
    pub value: String,
    /// The job that requests it.
    pub job: String,
}

/// Why settings were not applied, or not restored.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// There is no device at all.
    #[error("job {job}: device.{name}={value}: there is no block device under {}; use a file on a disk, or the disk \
        itself", path.display())]
    NoDevice {
        /// The job.
        job: String,
        /// The setting.
        name: String,
        /// The requested value.
        value: String,
        /// The file.
        path: Box<Path>,
    },
    /// There are devices, but none with this setting.
    #[error("job {job}: device.{name}={value}: none of the devices under {} ({}) has this setting", path.display(), devices)]
    NoSuchSetting {
        /// The job.
        job: String,
        /// The setting.
        name: String,
        /// The requested value.
        value: String,
        /// The file.
        path: Box<Path>,
        /// The devices.
        devices: String,
    },
    /// Two different values for one device.
    #[error(
        "jobs {} and {} set device.{} of {} to different values, {} and {}: run them separately, or vary the setting in a study",
        one.job, other.job, one.name, one.device, one.value, other.value
    )]
    Conflict {
        /// A request.
        one: Box<RequestedSetting>,
        /// A request that contradicts it.
        other: Box<RequestedSetting>,
    },
    /// Another run that is still active has changed settings of the device.
    #[error("device {device}: another run has changed its settings and is still running; wait until it ends")]
    Busy {
        /// The device.
        device: String,
    },
    /// Not allowed.
    #[error("device {device}: cannot set {name}: {error}; run as root, or remove device.{name}")]
    Forbidden {
        /// The device.
        device: String,
        /// The setting.
        name: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// The kernel refused the value.
    #[error("device {device}: the kernel rejects {name}={asked}: {found}{offers}; no setting was changed")]
    Refused {
        /// The device.
        device: String,
        /// The setting.
        name: String,
        /// The requested value.
        asked: String,
        /// What the kernel reported or did instead.
        found: String,
        /// What would be possible, as `; it offers …`; empty if unknown.
        offers: String,
    },
    /// Reading or writing failed.
    #[error("device {device}: {what}: {error}")]
    Trouble {
        /// The device.
        device: String,
        /// The operation.
        what: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// A value could not be restored.
    #[error(
        "device {device}: could not restore {name} to {before} ({why}); try `iolab device restore`, or: echo '{before}' > /sys/block/{device}/queue/{name}"
    )]
    NotRestored {
        /// The device.
        device: String,
        /// The setting.
        name: String,
        /// The value before the change.
        before: String,
        /// What went wrong.
        why: String,
    },
}
