//! Help generated from the tables: `--cmdhelp`, `--enghelp`, `--showcmd` and the reference page.
//!
//! Every function returns text and prints nothing.

mod compatibility;
mod engines;
mod options;
mod reference;
mod showcmd;

pub use compatibility::compatibility_table;
pub use engines::{EngineHelp, enghelp};
pub use options::{cmdhelp, cmdhelp_all, describe};
pub use reference::{chapter_title, reference_page};
pub use showcmd::{showcmd, to_command_line};
