//! The user's defaults: where recordings go, which library to load, what may be overwritten.
//!
//! ```text
//! an option of the command, else an environment variable, else the file, else the default
//! ```
//!
//! The file is `iolab/config.toml` in the user's configuration folder (XDG Base Directory
//! Specification), or what `IOLAB_CONFIG` names; `IOLAB_CONFIG=none` stands for no file. It is read
//! once. Whoever needs a value asks for it here, so that `iolab config` can say where it is from.

mod environment;
mod file;
mod setting;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

use environment::{home, variable};
pub use file::{ConfigurationError, ConfigurationFile};
pub use setting::{SETTINGS, SettingInfo, UserSetting, reference_page};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An environment variable.
    Variable(&'static str),
    /// The file, and the line in it, from 1.
    File {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Variable(name) => f.write_str(name),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
        }
    }
}

/// The variable that names the file.
pub const VARIABLE: &str = "IOLAB_CONFIG";

/// The place of the file, whether it exists or not; `None` if there is no place for it, or
/// `IOLAB_CONFIG=none`.
pub fn path() -> Option<PathBuf> {
    if let Some(named) = variable(VARIABLE) {
        return (named != "none").then(|| PathBuf::from(named));
    }
    let base = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let base = base.filter(|base| base.is_absolute()).or_else(|| Some(home()?.join(".config")))?;
    Some(base.join("iolab/config.toml"))
}

/// The file's content, read on first use; empty if there is no file.
///
/// # Errors
/// The file cannot be read, has a mistake, or may be written by other users.
pub fn load() -> Result<&'static ConfigurationFile, &'static ConfigurationError> {
    static LOADED: OnceLock<Result<ConfigurationFile, ConfigurationError>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| match path() {
        Some(path) => ConfigurationFile::read(&path),
        None => Ok(ConfigurationFile::default()),
    });
    loaded.as_ref()
}

/// The user's value of a setting, and where it comes from; `None` if the user set nothing. A file
/// with a mistake has no values: the program reports it when it starts.
pub fn value(setting: UserSetting) -> Option<(OsString, Origin)> {
    let info = setting.info();
    if let Some((name, value)) = info.variable.and_then(|name| Some((name, variable(name)?))) {
        return Some((value, Origin::Variable(name)));
    }
    let entry = load().ok()?.get(setting)?;
    let origin = Origin::File { path: load().ok()?.path.clone(), line: entry.line };
    Some((OsString::from(entry.values.first()?), origin))
}

/// The user's value of a setting that is a path.
pub fn folder(setting: UserSetting) -> Option<PathBuf> {
    value(setting).map(|(value, _)| PathBuf::from(value))
}

/// Paths that may always be overwritten.
pub fn allow_destroy() -> Vec<PathBuf> {
    let entry = load().ok().and_then(|file| file.get(UserSetting::AllowDestroy));
    entry.map(|entry| entry.values.iter().map(PathBuf::from).collect()).unwrap_or_default()
}
