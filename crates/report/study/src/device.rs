//! A served device that all configurations of a study work on, each its own way: through the kernel
//! on the file that shows it, and by the driver in user space.

use serde::{Deserialize, Serialize};

use crate::{Axis, JobSetting};

/// What differs where a device is named: values may hold `{file}` and `{device}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceForm {
    /// What it asks then, instead of the question of the study.
    pub question: Option<String>,
    /// Settings of every trial, instead of those of the same option.
    pub settings: Vec<JobSetting>,
    /// Axes instead of those of the same name.
    pub axes: Vec<Axis>,
}

/// The device that a study works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedDevice {
    /// What it was created as.
    pub name: String,
    /// The file through which the kernel shows it.
    pub file: String,
    /// What the driver in user space calls it.
    pub driven: String,
}

impl ServedDevice {
    /// A device of this name, shown to the kernel as `file`.
    pub fn new(name: &str, file: &str) -> ServedDevice {
        ServedDevice { name: name.to_owned(), file: file.to_owned(), driven: format!("trtype=VIRT traddr={name} ns=1") }
    }

    /// Puts its names where `{file}` and `{device}` stand.
    pub(crate) fn fill_in(&self, settings: &mut [JobSetting]) {
        for setting in settings {
            setting.value = setting.value.replace("{file}", &self.file).replace("{device}", &self.driven);
        }
    }
}
