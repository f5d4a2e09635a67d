//! Applies the requested settings: locks, journal, writes, reading back.

use std::fs::File;
use std::time::Duration;

use iolab_order::Arrange;
use iolab_recording::DeviceSetting;

use crate::attributes::{find, in_force, is_as_asked, offers, rank};
use crate::journal::{keep, trouble};
use crate::machine::{Notes, Queues};
use crate::restore::{Restored, restore, restore_device};
use crate::{Journal, RequestedSetting, SettingChange, SettingsError};

/// How often a lock that is taken is retried, and after how long.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(20);

/// Devices with changed settings. [`Applied::restore`] restores them; dropping this does so at the
/// latest.
pub struct Applied<'a> {
    queues: &'a dyn Queues,
    notes: &'a dyn Notes,
    journals: Vec<Journal>,
    /// Forked workers inherit these: a device is free when the last of them has ended.
    locks: Vec<File>,
    /// Settings left on these devices by earlier runs, which are restored first.
    pub earlier: Vec<Restored>,
    /// A child that unwinds must not restore what its parent still uses.
    pid: u32,
}

impl std::fmt::Debug for Applied<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Applied").field("journals", &self.journals).finish_non_exhaustive()
    }
}

/// Checks that the settings may be written; changes nothing.
///
/// # Errors
/// The first setting that may not be written.
pub fn may_apply(queues: &dyn Queues, requested: &[RequestedSetting]) -> Result<(), SettingsError> {
    requested.iter().try_for_each(|wish| {
        queues.may_write(&wish.device, &wish.name).map_err(|error| {
            let (device, name) = (wish.device.clone(), wish.name.clone());
            SettingsError::Forbidden { device, name, error }
        })
    })
}

/// Applies the requested settings. When anything fails, all old values are restored.
///
/// # Errors
/// A device used by another run, a setting that may not be written, or a value that the kernel
/// refuses.
pub fn apply<'a>(
    queues: &'a dyn Queues,
    notes: &'a dyn Notes,
    requested: &[RequestedSetting],
) -> Result<Applied<'a>, SettingsError> {
    let (journals, locks, earlier) = (Vec::new(), Vec::new(), Vec::new());
    let mut applied = Applied { queues, notes, journals, locks, earlier, pid: std::process::id() };
    may_apply(queues, requested)?;
    for of_device in requested.chunk_by(|one, next| one.device == next.device) {
        applied.take(&of_device[0].device)?;
    }
    for of_device in requested.chunk_by(|one, next| one.device == next.device) {
        applied.change(of_device)?;
    }
    Ok(applied)
}

impl Applied<'_> {
    /// The changes, for the recording.
    pub fn changes(&self) -> Vec<DeviceSetting> {
        let of = |journal: &Journal| {
            let device = journal.device.clone();
            let asked = journal.changes.iter().filter_map(move |change| {
                Some(DeviceSetting {
                    device: device.clone(),
                    name: change.name.clone(),
                    asked: change.asked.clone()?,
                    before: change.before.clone(),
                    during: change.became.clone()?,
                })
            });
            asked.collect::<Vec<_>>()
        };
        self.journals.iter().flat_map(of).collect()
    }

    /// Restores all old values.
    ///
    /// # Errors
    /// The first value that could not be restored; all are tried, and the journals of those that
    /// failed stay.
    pub fn restore(mut self) -> Result<Vec<Restored>, SettingsError> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<Vec<Restored>, SettingsError> {
        let mut restored = Vec::new();
        let mut failed = None;
        for journal in std::mem::take(&mut self.journals) {
            match restore(self.queues, self.notes, &journal) {
                Ok(more) => restored.extend(more),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        self.locks.clear();
        failed.map_or(Ok(restored), Err)
    }

    /// Locks a device and restores what a killed run has left on it.
    fn take(&mut self, device: &str) -> Result<(), SettingsError> {
        let trouble = |error| trouble(device, "its lock in the state folder", error);
        let mut lock = self.notes.lock(device).map_err(trouble)?;
        // Other readers hold the lock only briefly.
        for _ in 0..LOOKS {
            if lock.is_none() {
                std::thread::sleep(LOOK);
                lock = self.notes.lock(device).map_err(trouble)?;
            }
        }
        self.locks.push(lock.ok_or_else(|| SettingsError::Busy { device: device.to_owned() })?);
        let restored = restore_device(self.queues, self.notes, device)?;
        self.earlier.extend(restored);
        Ok(())
    }

    /// Changes one device.
    fn change(&mut self, requested: &[RequestedSetting]) -> Result<(), SettingsError> {
        let device = requested[0].device.as_str();
        let journal = Journal {
            device: device.to_owned(),
            boot: self.notes.boot(),
            identity: self.queues.identity(device),
            pid: self.pid,
            changes: self.planned(requested)?,
        };
        keep(self.notes, &journal)?;
        self.journals.push(journal);
        let at = self.journals.len() - 1;
        for place in 0..self.journals[at].changes.len() {
            let change = self.journals[at].changes[place].clone();
            let became = self.set(device, &change)?;
            self.journals[at].changes[place].became = became;
            keep(self.notes, &self.journals[at])?;
        }
        // The side effects of the change are known now as well.
        for change in self.journals[at].changes.iter_mut().filter(|change| change.asked.is_none()) {
            let text = self.queues.read(device, &change.name).map_err(|error| trouble(device, &change.name, error))?;
            change.became = Some(in_force(&text).to_owned());
        }
        keep(self.notes, &self.journals[at])
    }

    /// The settings to change and those that may change with them, with their current values.
    fn planned(&self, requested: &[RequestedSetting]) -> Result<Vec<SettingChange>, SettingsError> {
        let device = requested[0].device.as_str();
        let mut names: Vec<&str> = requested.iter().map(|wish| wish.name.as_str()).collect();
        for wish in requested {
            let along = find(&wish.name).moves.iter().filter(|name| self.queues.read(device, name).is_ok());
            names.extend(along);
        }
        names.arrange_by_key(|name| rank(name));
        names.dedup();
        let plan = |name: &&str| {
            let text = self.queues.read(device, name).map_err(|error| trouble(device, name, error))?;
            let asked = requested.iter().find(|wish| wish.name == *name).map(|wish| wish.value.clone());
            Ok(SettingChange { name: (*name).to_owned(), before: in_force(&text).to_owned(), asked, became: None })
        };
        names.iter().map(plan).collect()
    }

    /// Sets one value and reads it back. If it is already the requested one, nothing is written.
    fn set(&self, device: &str, change: &SettingChange) -> Result<Option<String>, SettingsError> {
        let Some(asked) = &change.asked else { return Ok(None) };
        let read = || self.queues.read(device, &change.name).map_err(|error| trouble(device, &change.name, error));
        let text = read()?;
        if in_force(&text) == asked {
            return Ok(Some(asked.clone()));
        }
        let refused = |found: String| {
            let attribute = find(&change.name);
            let limit = attribute.limit.and_then(|limit| self.queues.read(device, limit).ok());
            SettingsError::Refused {
                device: device.to_owned(),
                name: change.name.clone(),
                asked: asked.clone(),
                found,
                offers: offers(attribute, &text, limit.as_deref()),
            }
        };
        self.queues.write(device, &change.name, asked).map_err(|error| refused(error.to_string()))?;
        let became = in_force(&read()?).to_owned();
        if !is_as_asked(&change.name, asked, &became) {
            return Err(refused(format!("it became {became}")));
        }
        Ok(Some(became))
    }
}

impl Drop for Applied<'_> {
    fn drop(&mut self) {
        if std::process::id() == self.pid {
            // A value that cannot be restored stays in the journal, which the next run reports.
            let _ = self.put_back();
        }
    }
}
