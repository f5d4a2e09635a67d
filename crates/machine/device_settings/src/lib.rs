//! Settings of block devices: applied, read back, and restored whatever happens.
//!
//! ```text
//! requested ─▶ lock devices ─▶ may they be written? ─▶ read all ─▶ JOURNAL ─▶ write, read back, journal … ─▶ run
//!                                                                  │
//!           restore: journal ─▶ write back, read back ─▶ journal gone ◀── end, error, or the next call after a crash
//! ```
//! The old values are saved durably before anything is changed, so that a process killed at any
//! moment leaves enough for [`restore_left()`]. A value that another program has set meanwhile is
//! left alone. After a reboot nothing is restored, because the kernel starts with its defaults.
//! Nothing here prints. Only the requested settings are changed, and those that the kernel changes
//! together with the scheduler.

mod apply;
mod attributes;
mod error;
mod journal;
mod machine;
mod requested;
mod restore;

pub use apply::{Applied, apply, may_apply};
pub use attributes::{ATTRIBUTES, Attribute};
pub use error::{RequestedSetting, SettingsError};
pub use journal::{Journal, SettingChange};
pub use machine::{Machine, Notes, Queues};
pub use requested::requested;
pub use restore::{Left, Restored, left_over, restore_left};
