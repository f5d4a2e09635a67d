//! Settings of devices as the program deals with them: where journals are kept, what a run applies,
//! what an earlier one has left.

use std::path::{Path, PathBuf};

use anyhow::Context;
use iolab_device_settings::{Applied, Machine, Restored, apply, left_over, may_apply, requested, restore_left};
use iolab_observe::System;
use iolab_plan::Plan;
use iolab_recording::Recording;

use crate::exit::Failure;

/// This machine, with its folder of journals: `$IOLAB_STATE`; root's own; else the user's state
/// folder (XDG Base Directory Specification).
pub(crate) fn machine() -> Result<Machine, Failure> {
    let folder = state_folder().context("no folder for the journal of device settings: set IOLAB_STATE or HOME")?;
    Ok(Machine::new(Path::new("/"), &folder.join("device-settings")))
}

fn state_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("IOLAB_STATE") {
        return Some(folder);
    }
    if rustix::process::geteuid().is_root() {
        return Some(PathBuf::from("/var/lib/iolab"));
    }
    variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state"))).map(|base| base.join("iolab"))
}

/// Whether a plan changes settings of devices at all.
pub(crate) fn is_asked(plan: &Plan) -> bool {
    plan.workers.iter().any(|worker| !worker.layout.device_settings.is_empty())
}

/// Refuses what can be known to fail, before anything is begun: no device, no such setting,
/// contradictions, no permission.
pub(crate) fn check(plan: &Plan) -> Result<(), Failure> {
    if !is_asked(plan) {
        return Ok(());
    }
    let machine = machine()?;
    let refused = |error| Failure::mistake(format!("iolab: {error}"));
    let wanted = requested(plan, &System::live(), &machine).map_err(refused)?;
    may_apply(&machine, &wanted).map_err(refused)
}

/// Gives the devices under the plan's files their settings.
pub(crate) fn apply_to<'a>(machine: &'a Machine, plan: &Plan) -> Result<Applied<'a>, Failure> {
    let refused = |error| Failure::mistake(format!("iolab: {error}"));
    let wanted = requested(plan, &System::live(), machine).map_err(refused)?;
    let applied = apply(machine, machine, &wanted).map_err(refused)?;
    applied.earlier.iter().for_each(|one| eprintln!("iolab: left by a run that was killed: {}", said(one)));
    Ok(applied)
}

/// Puts the devices back, and notes in the recording what was changed and what could not be put
/// back.
pub(crate) fn put_back(applied: Applied<'_>, recording: &mut Recording) {
    recording.host.device_settings = applied.changes();
    match applied.restore() {
        Ok(restored) => {
            let odd = restored.iter().filter(|one| !one.outcome.starts_with("put back"));
            recording.warnings.extend(odd.map(said));
        }
        Err(error) => recording.warnings.push(error.to_string()),
    }
}

/// Speaks of what killed runs have left.
pub(crate) fn speak_of_left_over() {
    let Ok(machine) = machine() else { return };
    // A folder that cannot be read belongs to somebody else.
    for left in left_over(&machine).unwrap_or_default().iter().filter(|left| !left.in_use) {
        eprintln!(
            "iolab: warning: device {} still has settings of a run that was killed ({}): iolab device restore",
            left.device,
            left.changes.join(", ")
        );
    }
}

/// `iolab device restore`.
pub(crate) fn restore() -> Result<String, Failure> {
    let machine = machine()?;
    let restored = restore_left(&machine, &machine).map_err(|error| Failure::failed(format!("iolab: {error}")))?;
    if restored.is_empty() {
        return Ok("no device has settings that a run has left\n".to_owned());
    }
    Ok(restored.iter().map(|one| said(one) + "\n").collect())
}

fn said(one: &Restored) -> String {
    let name = if one.name.is_empty() { String::new() } else { format!("{} ", one.name) };
    format!("device {}: {name}{}", one.device, one.outcome)
}
