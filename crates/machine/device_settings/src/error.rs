//! What can be wrong with settings of devices.

use std::path::Path;

/// One value for one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedSetting {
    /// Kernel name of the device.
    pub device: String,
    /// Name of the setting.
    pub name: String,
    /// The value asked for.
    pub value: String,
    /// The job that asks.
    pub job: String,
}

/// Why settings were not applied, or not restored.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// No device at all.
    #[error("job {job}: device.{name}={value}: there is no block device under {}; use a file on a disk, or the disk \
        itself", path.display())]
    NoDevice {
        /// The job.
        job: String,
        /// The setting.
        name: String,
        /// The value asked for.
        value: String,
        /// The file.
        path: Box<Path>,
    },
    /// Devices, but none with this setting.
    #[error("job {job}: device.{name}={value}: none of the devices under {} ({}) has this setting", path.display(), devices)]
    NoSuchSetting {
        /// The job.
        job: String,
        /// The setting.
        name: String,
        /// The value asked for.
        value: String,
        /// The file.
        path: Box<Path>,
        /// The devices.
        devices: String,
    },
    /// Two requested for one device.
    #[error(
        "jobs {} and {} set device.{} of {} to different values, {} and {}: run them separately, or vary the setting in a study",
        one.job, other.job, one.name, one.device, one.value, other.value
    )]
    Conflict {
        /// A wish.
        one: Box<RequestedSetting>,
        /// One that contradicts it.
        other: Box<RequestedSetting>,
    },
    /// Another run has changed settings of the device and has not ended.
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
        /// What the kernel said.
        error: std::io::Error,
    },
    /// The kernel did not take it.
    #[error("device {device}: the kernel rejects {name}={asked}: {found}{offers}; no setting was changed")]
    Refused {
        /// The device.
        device: String,
        /// The setting.
        name: String,
        /// The value asked for.
        asked: String,
        /// What it said or did instead.
        found: String,
        /// What would be possible, as `; it offers …`; empty when that is not known.
        offers: String,
    },
    /// Reading or writing failed.
    #[error("device {device}: {what}: {error}")]
    Trouble {
        /// The device.
        device: String,
        /// What was tried.
        what: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A value could not be put back.
    #[error(
        "device {device}: could not restore {name} to {before} ({why}); try `iolab device restore`, or: echo '{before}' > /sys/block/{device}/queue/{name}"
    )]
    NotRestored {
        /// The device.
        device: String,
        /// The setting.
        name: String,
        /// What it was before.
        before: String,
        /// What went wrong.
        why: String,
    },
}
