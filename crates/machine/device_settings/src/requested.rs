//! Determines which device a setting of a job is for.
//!
//! It is the topmost device under each file that has the setting: for a file on a partition the
//! disk, for a file on a loop device the loop device. If the topmost device lacks the setting (many
//! mapped devices have no scheduler), the search goes down each branch below it to the first device
//! that has it.

use std::path::{Path, PathBuf};

use iolab_observe::{BlockDeviceFacts, System};
use iolab_order::Arrange;
use iolab_plan::Plan;

use crate::attributes::rank;
use crate::machine::Queues;
use crate::{RequestedSetting, SettingsError};

/// The requests of the jobs of a plan, by device and in the order of application.
///
/// # Errors
/// A file without a device that has the setting, or two jobs that request different values.
pub fn requested(plan: &Plan, system: &System, queues: &dyn Queues) -> Result<Vec<RequestedSetting>, SettingsError> {
    let mut requested: Vec<RequestedSetting> = Vec::new();
    for worker in &plan.workers {
        for (name, value) in &worker.layout.device_settings {
            if worker.files.is_empty() {
                return Err(no_device(&worker.job, name, value, Path::new("its files (there are none)")));
            }
            for file in &worker.files {
                for device in chosen(system, queues, &worker.job, name, value, &file.path)? {
                    let (value, job) = (value.clone(), worker.job.clone());
                    add(&mut requested, RequestedSetting { device, name: name.clone(), value, job })?;
                }
            }
        }
    }
    requested.arrange_by(|a, b| a.device.cmp(&b.device).then(rank(&a.name).cmp(&rank(&b.name))));
    Ok(requested)
}

fn add(requested: &mut Vec<RequestedSetting>, wish: RequestedSetting) -> Result<(), SettingsError> {
    match requested.iter().find(|other| other.device == wish.device && other.name == wish.name) {
        Some(other) if other.value == wish.value => Ok(()),
        Some(one) => Err(SettingsError::Conflict { one: Box::new(one.clone()), other: Box::new(wish) }),
        None => {
            requested.push(wish);
            Ok(())
        }
    }
}

fn no_device(job: &str, name: &str, value: &str, path: &Path) -> SettingsError {
    let [job, name, value] = [job, name, value].map(str::to_owned);
    SettingsError::NoDevice { job, name, value, path: path.into() }
}

fn chosen(
    system: &System,
    queues: &dyn Queues,
    job: &str,
    name: &str,
    value: &str,
    path: &Path,
) -> Result<Vec<String>, SettingsError> {
    let stack = system.devices_under(&[PathBuf::from(path)]);
    let Some(top) = stack.first() else { return Err(no_device(job, name, value, path)) };
    let mut found = Vec::new();
    descend(&stack, queues, name, &top.name, &mut found);
    if found.is_empty() {
        let devices = stack.into_iter().map(|device| device.name).collect::<Vec<_>>().join(", ");
        let [job, name, value] = [job, name, value].map(str::to_owned);
        return Err(SettingsError::NoSuchSetting { job, name, value, path: path.into(), devices });
    }
    Ok(found)
}

/// The device if it has the setting, otherwise those below it.
fn descend(stack: &[BlockDeviceFacts], queues: &dyn Queues, name: &str, device: &str, found: &mut Vec<String>) {
    if queues.read(device, name).is_ok() {
        if !found.iter().any(|other| other == device) {
            found.push(device.to_owned());
        }
        return;
    }
    let parts = stack.iter().find(|other| other.name == device).map(|device| device.parts.as_slice());
    parts.unwrap_or_default().iter().for_each(|part| descend(stack, queues, name, part, found));
}
