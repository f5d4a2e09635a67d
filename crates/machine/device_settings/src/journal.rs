//! The settings of one device before the change.

use serde::{Deserialize, Serialize};

use crate::SettingsError;
use crate::attributes::is_attribute;
use crate::machine::Notes;

/// Values are words or numbers.
const MOST_VALUE_BYTES: usize = 64;

/// The journal of one device, as JSON in the state folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// Kernel name of the device.
    pub device: String,
    /// The boot of the machine (`/proc/sys/kernel/random/boot_id`); after a reboot there is nothing
    /// to restore.
    pub boot: String,
    /// The `diskseq` of the device: a loop device that was set up again is a different one.
    pub identity: String,
    /// Process that changed it.
    pub pid: u32,
    /// The changes, in the order of applying and restoring.
    pub changes: Vec<SettingChange>,
}

impl Journal {
    /// Parses the journal of a device, or says what is wrong with it: it must be about this device
    /// and known settings, with possible values.
    pub(crate) fn parse(device: &str, text: &str) -> Result<Journal, String> {
        let journal: Journal =
            iolab_deserialize::json(text.as_bytes()).map_err(|error| match text.strip_prefix("unreadable: ") {
                Some(why) => why.to_owned(),
                None => error.to_string(),
            })?;
        if journal.device != device {
            return Err(format!("it is about another device, {}", journal.device));
        }
        if let Some(odd) = journal.changes.iter().find(|change| !is_attribute(&change.name)) {
            return Err(format!("`{}` is not a setting that iolab changes", odd.name));
        }
        let values = journal.changes.iter().flat_map(|change| {
            [Some(&change.before), change.asked.as_ref(), change.became.as_ref()].into_iter().flatten()
        });
        let is_odd = |value: &&String| value.len() > MOST_VALUE_BYTES || value.contains(char::is_control);
        if let Some(odd) = values.into_iter().find(is_odd) {
            return Err(format!("`{}` is not a value of a setting", odd.escape_debug()));
        }
        Ok(journal)
    }
}

/// The change of one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// Its name.
    pub name: String,
    /// The value before the change.
    pub before: String,
    /// The requested value; `None` for a setting that only changes as a side effect of another.
    pub asked: Option<String>,
    /// The value after the change. `None` while it is not known whether it has been written: then
    /// any value other than `before` counts as written by this run.
    pub became: Option<String>,
}

/// Writes a journal durably.
pub(crate) fn keep(notes: &dyn Notes, journal: &Journal) -> Result<(), SettingsError> {
    // Plain data with string keys cannot fail to serialise.
    let text = iolab_text::indented(&serde_json::to_string(journal).unwrap_or_default());
    let device = journal.device.as_str();
    notes.keep(device, &text).map_err(|error| trouble(device, "its journal in the state folder", error))
}

pub(crate) fn trouble(device: &str, what: &str, error: std::io::Error) -> SettingsError {
    SettingsError::Trouble { device: device.to_owned(), what: what.to_owned(), error }
}
