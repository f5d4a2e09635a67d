//! Restores values at the end of a run, or after a run that was killed.

use crate::attributes::in_force;
use crate::journal::{keep, trouble};
use crate::machine::{Notes, Queues};
use crate::{Journal, SettingChange, SettingsError};

/// The outcome of one changed setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The device.
    pub device: String,
    /// The setting, or empty when the whole journal was invalid.
    pub name: String,
    /// The outcome, in words.
    pub outcome: String,
}

/// A journal left by a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The device.
    pub device: String,
    /// Whether the run that wrote it is still active.
    pub in_use: bool,
    /// Its changes, as `name: before → became`.
    pub changes: Vec<String>,
}

/// Settings that runs have left changed, or are changing now. Journals of an earlier boot no longer
/// apply and are skipped.
///
/// # Errors
/// The state folder cannot be read.
pub fn left_over(notes: &dyn Notes) -> std::io::Result<Vec<Left>> {
    let mut left = Vec::new();
    for (device, text) in notes.kept()? {
        let journal = Journal::parse(&device, &text).ok();
        if journal.as_ref().is_some_and(|journal| journal.boot != notes.boot()) {
            continue;
        }
        let in_use = notes.lock(&device).is_ok_and(|lock| lock.is_none());
        let changes = journal.map(|journal| journal.changes).unwrap_or_default();
        let asked = changes
            .iter()
            .filter_map(|change| Some(format!("{}: {} → {}", change.name, change.before, change.asked.as_ref()?)));
        left.push(Left { device, in_use, changes: asked.collect() });
    }
    Ok(left)
}

/// Restores what killed runs have left on all devices that no run is using.
///
/// # Errors
/// The first value that could not be restored; all devices are tried.
pub fn restore_left(queues: &dyn Queues, notes: &dyn Notes) -> Result<Vec<Restored>, SettingsError> {
    let kept = notes.kept().map_err(|error| trouble("?", "the state folder", error))?;
    let (mut restored, mut failed) = (Vec::new(), None);
    for (device, _) in kept {
        let lock = match notes.lock(&device) {
            Ok(lock) => lock,
            Err(error) => {
                failed = failed.or(Some(trouble(&device, "its lock in the state folder", error)));
                continue;
            }
        };
        let Some(_lock) = lock else {
            restored.push(said(&device, "", "unchanged: the run that changed it is still running"));
            continue;
        };
        match restore_device(queues, notes, &device) {
            Ok(more) => restored.extend(more),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(restored), Err)
}

/// Restores one device, whose lock the caller holds.
pub(crate) fn restore_device(
    queues: &dyn Queues,
    notes: &dyn Notes,
    device: &str,
) -> Result<Vec<Restored>, SettingsError> {
    let kept = notes.kept().map_err(|error| trouble(device, "the state folder", error))?;
    let Some((_, text)) = kept.into_iter().find(|(name, _)| name == device) else { return Ok(Vec::new()) };
    match Journal::parse(device, &text) {
        Ok(journal) => restore(queues, notes, &journal),
        Err(why) => {
            let text = "its journal is damaged; check the device and remove the file in the state folder";
            Err(trouble(device, text, std::io::Error::new(std::io::ErrorKind::InvalidData, why)))
        }
    }
}

/// Restores what a journal says, then removes it.
pub(crate) fn restore(
    queues: &dyn Queues,
    notes: &dyn Notes,
    journal: &Journal,
) -> Result<Vec<Restored>, SettingsError> {
    let device = journal.device.as_str();
    let mut restored = Vec::new();
    if journal.boot != notes.boot() {
        restored.push(said(device, "", "nothing to restore: the machine has restarted since"));
    } else if journal.identity != queues.identity(device) {
        restored.push(said(device, "", "nothing to restore: this is now another device"));
    } else {
        let (goals, words) = goals(queues, journal)?;
        restored = words;
        if goals.changes.iter().any(|goal| goal.before != now(queues, device, goal).unwrap_or_default()) {
            // Writing one value may change another: save the target of each first, in case this
            // process ends early.
            keep(notes, &goals)?;
        }
        let failed = goals.changes.iter().filter_map(|goal| put_back(queues, device, goal).err()).collect::<Vec<_>>();
        if let Some(error) = failed.into_iter().next() {
            return Err(error);
        }
    }
    notes.forget(device).map_err(|error| trouble(device, "removing its journal", error))?;
    Ok(restored)
}

/// The target value of each setting: its value before the change, or the one that another program
/// has set since; and the messages about that.
fn goals(queues: &dyn Queues, journal: &Journal) -> Result<(Journal, Vec<Restored>), SettingsError> {
    let device = journal.device.as_str();
    let (mut goals, mut words) = (journal.clone(), Vec::new());
    let mut is_changed_by_others = false;
    for goal in goals.changes.iter_mut().filter(|goal| goal.became.is_some()) {
        let found = now(queues, device, goal)?;
        if found != goal.before && goal.became.as_ref() != Some(&found) {
            let old = &goal.before;
            let outcome = format!("left at {found}: something else has changed it since (it was {old})");
            words.push(said(device, &goal.name, &outcome));
            goal.before = found;
            is_changed_by_others |= goal.asked.is_some();
        }
        goal.became = None;
    }
    for (goal, change) in goals.changes.iter_mut().zip(&journal.changes) {
        let found = now(queues, device, goal)?;
        // The expected value of a side effect is unknown. If another program has set the setting
        // that causes it, the side effect belongs to that program, too.
        if change.asked.is_none() && change.became.is_none() && is_changed_by_others {
            goal.before.clone_from(&found);
        }
        if found != goal.before {
            words.push(said(device, &goal.name, &format!("restored from {found} to {}", goal.before)));
        }
    }
    Ok((goals, words))
}

fn now(queues: &dyn Queues, device: &str, goal: &SettingChange) -> Result<String, SettingsError> {
    let text = queues.read(device, &goal.name).map_err(|error| lost(device, goal, &error.to_string()))?;
    Ok(in_force(&text).to_owned())
}

fn put_back(queues: &dyn Queues, device: &str, goal: &SettingChange) -> Result<(), SettingsError> {
    if now(queues, device, goal)? == goal.before {
        return Ok(());
    }
    let written = queues.write(device, &goal.name, &goal.before);
    written.map_err(|error| lost(device, goal, &error.to_string()))?;
    let found = now(queues, device, goal)?;
    if found == goal.before { Ok(()) } else { Err(lost(device, goal, &format!("it became {found}"))) }
}

fn lost(device: &str, goal: &SettingChange, why: &str) -> SettingsError {
    let [device, name, before, why] = [device, &goal.name, &goal.before, why].map(str::to_owned);
    SettingsError::NotRestored { device, name, before, why }
}

fn said(device: &str, name: &str, outcome: &str) -> Restored {
    Restored { device: device.to_owned(), name: name.to_owned(), outcome: outcome.to_owned() }
}
