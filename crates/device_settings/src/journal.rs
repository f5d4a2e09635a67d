//! What was written down of one device before it was changed.

use serde::{Deserialize, Serialize};

/// The journal of one device, as JSON in the state folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// Kernel name of the device.
    pub device: String,
    /// Which boot of the machine (`/proc/sys/kernel/random/boot_id`); after another one there is nothing to restore.
    pub boot: String,
    /// Which device of this name (`diskseq`); a loop device that was set up anew is another.
    pub identity: String,
    /// Process that changed it.
    pub pid: u32,
    /// What was changed, in the order of application and of restoring.
    pub changes: Vec<Change>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// What it was.
    pub before: String,
    /// What was asked for; `None` for one that only moves along with another.
    pub asked: Option<String>,
    /// What it became. `None` while it is not known whether it has been written: then any other value than `before` is ours.
    pub became: Option<String>,
}
