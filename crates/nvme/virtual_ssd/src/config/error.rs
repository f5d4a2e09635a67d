//! Errors of the configuration of a virtual SSD.
//!
//! Each message names the faulty parameter, and what to choose instead.

use std::io;

use iolab_ssd_timing::ParameterError;

use crate::fault::FaultError;

/// Why a virtual SSD cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The word does not have the form `key=value`.
    #[error("`{word}` is not key=value")]
    NotKeyValue {
        /// The word.
        word: String,
    },
    /// There is no such key.
    #[error("there is no device parameter `{key}`{}", suggestion(.near))]
    UnknownKey {
        /// The key.
        key: String,
        /// The most similar existing key.
        near: Option<&'static str>,
    },
    /// The value does not fit the key.
    #[error("{key}: {reason}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// The accepted values.
        reason: String,
    },
    /// An age other than fresh was given for a model that does not age.
    #[error(
        "age: the model `{model}` has no flash, so it cannot be {age}; use a model with flash, such as \
        preset=970pro, or age=fresh"
    )]
    AgeWithoutFlash {
        /// The requested age.
        age: String,
        /// The model's name.
        model: String,
    },
    /// Random overwrites were requested, but writes must be sequential.
    #[error(
        "age: zones are written in order, so there is no steady state for random writes; use age=filled or age=fresh"
    )]
    SteadyInZones,
    /// An error in a parameter of the timing model.
    #[error(transparent)]
    Timing(#[from] ParameterError),
    /// A fault that cannot be parsed.
    #[error("fault: {0}")]
    Fault(#[from] FaultError),
    /// The drive has more bytes than this machine can address.
    #[error("size: {bytes} bytes cannot be addressed: use a smaller size or fewer namespaces")]
    TooLarge {
        /// The requested bytes.
        bytes: u64,
    },
    /// The media is a file, but none was opened. This is a bug of the caller.
    #[error("media: the data file was not opened (device:NAME is for devices that `iolab device serve` serves)")]
    Unopened,
    /// The file that stores zones and formats cannot be used.
    #[error(
        "media: {path}: {reason}; use the parameters it was created with, or remove it (the data stays, but zones \
        become empty and formats as configured)"
    )]
    State {
        /// The path of that file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process uses the drive.
    #[error("media: {path}: another device uses this file: end it first, or use another file")]
    InUse {
        /// The path of its state file.
        path: String,
    },
    /// The media could not be opened.
    #[error("media: {what}: {source}")]
    Media {
        /// The media concerned.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
}

fn suggestion(near: &Option<&'static str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
