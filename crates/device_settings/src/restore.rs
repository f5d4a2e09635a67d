//! Putting values back, at the end of a run or after one that was killed.

use crate::apply::trouble;
use crate::attributes::in_force;
use crate::machine::{Notes, Queues};
use crate::{Change, Journal, SettingsError};

/// What became of one changed setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The device.
    pub device: String,
    /// The setting, or empty when the whole journal was void.
    pub name: String,
    /// What was done, in words.
    pub deed: String,
}

/// A journal that a run has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The device.
    pub device: String,
    /// Whether the run that wrote it is still going on.
    pub in_use: bool,
    /// What it has changed, as `name: before → became`.
    pub changes: Vec<String>,
}

/// What runs have left, or are changing now. Journals of an earlier boot say nothing of now and are passed over.
///
/// # Errors
/// The state folder cannot be read.
pub fn left_over(notes: &dyn Notes) -> std::io::Result<Vec<Left>> {
    let mut left = Vec::new();
    for (device, text) in notes.kept()? {
        let journal = serde_json::from_str::<Journal>(&text).ok();
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
/// The first value that could not be put back; all devices are tried.
pub fn restore_left(queues: &dyn Queues, notes: &dyn Notes) -> Result<Vec<Restored>, SettingsError> {
    let kept = notes.kept().map_err(|error| trouble("?", "the state folder", error))?;
    let (mut restored, mut failed) = (Vec::new(), None);
    for (device, _) in kept {
        let lock = notes.lock(&device).map_err(|error| trouble(&device, "its lock in the state folder", error))?;
        let Some(_lock) = lock else {
            restored.push(said(&device, "", "is left alone: the run that changed it is still going on"));
            continue;
        };
        match restore_device(queues, notes, &device) {
            Ok(more) => restored.extend(more),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(restored), Err)
}

/// The same for one device, whose lock the caller holds.
pub(crate) fn restore_device(
    queues: &dyn Queues,
    notes: &dyn Notes,
    device: &str,
) -> Result<Vec<Restored>, SettingsError> {
    let kept = notes.kept().map_err(|error| trouble(device, "the state folder", error))?;
    let Some((_, text)) = kept.into_iter().find(|(name, _)| name == device) else { return Ok(Vec::new()) };
    let Ok(journal) = serde_json::from_str::<Journal>(&text) else {
        let text = "its journal cannot be read; look at the device and remove the file in the state folder";
        return Err(trouble(device, text, std::io::ErrorKind::InvalidData.into()));
    };
    restore(queues, notes, &journal)
}

/// Puts back what a journal says, then forgets it.
pub(crate) fn restore(
    queues: &dyn Queues,
    notes: &dyn Notes,
    journal: &Journal,
) -> Result<Vec<Restored>, SettingsError> {
    let device = journal.device.as_str();
    let mut restored = Vec::new();
    let mut failed = None;
    if journal.boot != notes.boot() {
        restored.push(said(device, "", "nothing to restore: the machine was restarted since"));
    } else if journal.identity != queues.identity(device) {
        restored.push(said(device, "", "nothing to restore: it is another device by now"));
    } else {
        for change in &journal.changes {
            match put_back(queues, device, change, &restored) {
                Ok(deed) => restored.extend(deed),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    notes.forget(device).map_err(|error| trouble(device, "removing its journal", error))?;
    Ok(restored)
}

fn put_back(
    queues: &dyn Queues,
    device: &str,
    change: &Change,
    before: &[Restored],
) -> Result<Option<Restored>, SettingsError> {
    let Change { name, before: old, .. } = change;
    let lost = |why: String| SettingsError::NotRestored {
        device: device.to_owned(),
        name: name.clone(),
        before: old.clone(),
        why,
    };
    let now = |error: &std::io::Error| lost(error.to_string());
    let text = queues.read(device, name).map_err(|error| now(&error))?;
    let found = in_force(&text);
    if found == old {
        return Ok(None);
    }
    let is_ours = match (&change.became, &change.asked) {
        (Some(became), _) => found == became,
        // Perhaps written, perhaps not, and the kernel may have made another value of it.
        (None, Some(_)) => true,
        // It moves only with the scheduler: if that is somebody else's by now, so is this.
        (None, None) => !before.iter().any(|restored| restored.deed.starts_with(LEFT)),
    };
    if !is_ours {
        return Ok(Some(said(
            device,
            name,
            &format!("{LEFT} at {found}: somebody else has set it since (it was {old})"),
        )));
    }
    queues.write(device, name, old).map_err(|error| now(&error))?;
    let text = queues.read(device, name).map_err(|error| now(&error))?;
    match in_force(&text) {
        back if back == old => Ok(Some(said(device, name, &format!("put back from {found} to {old}")))),
        other => Err(lost(format!("it became {other}"))),
    }
}

const LEFT: &str = "left";

fn said(device: &str, name: &str, deed: &str) -> Restored {
    Restored { device: device.to_owned(), name: name.to_owned(), deed: deed.to_owned() }
}
