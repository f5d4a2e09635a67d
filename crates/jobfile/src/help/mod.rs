//! Help made from the tables: `--help`, `--cmdhelp`, `--enghelp`, `--showcmd` and the reference page.
//!
//! Every function returns text and prints nothing.

mod options;
mod reference;
mod run;
mod showcmd;

pub use options::{cmdhelp, cmdhelp_all, describe};
pub use reference::reference_page;
pub use run::{EngineHelp, enghelp, usage};
pub use showcmd::{showcmd, to_command_line};
