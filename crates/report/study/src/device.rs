//! A served device that all configurations of a study use, each in its own way: through the kernel
//! as a file, or through the driver in user space.

use serde::{Deserialize, Serialize};

use crate::{Axis, JobSetting};

/// What differs when a device is named; values may contain `{file}` and `{device}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceForm {
    /// The question in this form, instead of that of the study.
    pub question: Option<String>,
    /// Settings of every trial that replace those of the same option.
    pub settings: Vec<JobSetting>,
    /// Axes that replace those of the same name.
    pub axes: Vec<Axis>,
}

/// The device that a study uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedDevice {
    /// What it was created as.
    pub name: String,
    /// The file under which the kernel provides it.
    pub file: String,
    /// Its name for the driver in user space.
    pub driven: String,
}

impl ServedDevice {
    /// A device with this name, provided by the kernel as `file`.
    pub fn new(name: &str, file: &str) -> ServedDevice {
        ServedDevice { name: name.to_owned(), file: file.to_owned(), driven: format!("trtype=VIRT traddr={name} ns=1") }
    }

    /// Replaces `{file}` and `{device}` by its names.
    pub(crate) fn fill_in(&self, settings: &mut [JobSetting]) {
        for setting in settings {
            setting.value = setting.value.replace("{file}", &self.file).replace("{device}", &self.driven);
        }
    }
}
