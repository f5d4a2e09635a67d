//! Settings of devices around a run: where journals are kept, what a run applies, what an earlier
//! run has left.

use std::path::{Path, PathBuf};

use iolab_activity::{Console, Failure};
use iolab_device_settings::{Applied, Left, Machine, Restored, apply, left_over, may_apply, requested, restore_left};
use iolab_observe::System;
use iolab_plan::Plan;
use iolab_recording::Recording;

/// This machine, with its folder of journals: `$IOLAB_STATE`; root's own; else the user's state
/// folder (XDG Base Directory Specification).
///
/// # Errors
/// There is no such folder.
pub fn settings_machine() -> Result<Machine, Failure> {
    let none = || Failure::failed("no folder for the journal of device settings: set IOLAB_STATE or HOME");
    let folder = state_folder().ok_or_else(none)?;
    Ok(Machine::new(Path::new("/"), &folder.join("device-settings")))
}

/// The folder of what must survive the program: the setting `state`, else that of the system for
/// root and of the user for others (XDG Base Directory Specification).
pub fn state_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = iolab_configuration::folder(iolab_configuration::UserSetting::State) {
        return Some(folder);
    }
    if rustix::process::geteuid().is_root() {
        return Some(PathBuf::from("/var/lib/iolab"));
    }
    variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state"))).map(|base| base.join("iolab"))
}

/// Whether a plan changes settings of devices at all.
pub fn changes_device_settings(plan: &Plan) -> bool {
    plan.workers.iter().any(|worker| !worker.layout.device_settings.is_empty())
}

/// Refuses what is known to fail, before anything is begun: no device, no such setting,
/// contradictions, no permission.
///
/// # Errors
/// The reason.
pub fn check_device_settings(plan: &Plan) -> Result<(), Failure> {
    if !changes_device_settings(plan) {
        return Ok(());
    }
    let machine = settings_machine()?;
    let refused = |error| Failure::mistake(format!("{error}"));
    let wanted = requested(plan, &System::live(), &machine).map_err(refused)?;
    may_apply(&machine, &wanted).map_err(refused)
}

/// Gives the devices under the plan's files their settings.
pub(crate) fn apply_to<'a>(machine: &'a Machine, plan: &Plan, console: &dyn Console) -> Result<Applied<'a>, Failure> {
    let refused = |error| Failure::mistake(format!("{error}"));
    let wanted = requested(plan, &System::live(), machine).map_err(refused)?;
    let applied = apply(machine, machine, &wanted).map_err(refused)?;
    applied.earlier.iter().for_each(|one| console.note(&format!("left by a run that was killed: {}", described(one))));
    Ok(applied)
}

/// Restores the devices' settings, and records what was changed and what could not be restored.
pub(crate) fn put_back(applied: Applied<'_>, recording: &mut Recording) {
    recording.host.device_settings = applied.changes();
    match applied.restore() {
        Ok(restored) => {
            let odd = restored.iter().filter(|one| !one.outcome.starts_with("put back"));
            recording.warnings.extend(odd.map(described));
        }
        Err(error) => recording.warnings.push(error.to_string()),
    }
}

/// Devices that still have settings of killed runs. A folder that cannot be read belongs to
/// somebody else, and counts as empty.
pub fn left_over_settings() -> Vec<Left> {
    let left = settings_machine().ok().and_then(|machine| left_over(&machine).ok());
    left.unwrap_or_default().into_iter().filter(|left| !left.in_use).collect()
}

/// Restores the device settings that killed runs have changed. Returns a line for each setting.
///
/// # Errors
/// The journals cannot be read.
pub fn restore_device_settings() -> Result<Vec<String>, Failure> {
    let machine = settings_machine()?;
    let restored = restore_left(&machine, &machine).map_err(|error| Failure::failed(error.to_string()))?;
    Ok(restored.iter().map(described).collect())
}

fn described(one: &Restored) -> String {
    let name = if one.name.is_empty() { String::new() } else { format!("{} ", one.name) };
    format!("device {}: {name}{}", one.device, one.outcome)
}
