//! Reading and writing the JSON form.

use crate::{Recording, Unsound};

/// Format number of recordings of one host.
pub const FORMAT: u32 = 1;
/// Format number of recordings of several hosts: who does not know them would take their workers
/// for those of one.
pub const FORMAT_OF_SEVERAL_HOSTS: u32 = 2;

/// Why a text is not a recording this version can read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not the shape of a recording.
    #[error("not an iolab recording: {0}")]
    Shape(#[from] serde_json::Error),
    /// It has the shape of a recording, and no run can have made it.
    #[error("not a recording that a run can have made: {0}")]
    Unsound(#[from] Unsound),
    /// Another format.
    #[error("recording format {found}; this version reads formats {FORMAT} to {FORMAT_OF_SEVERAL_HOSTS}")]
    Format {
        /// The number found.
        found: u64,
    },
}

impl Recording {
    /// The recording as one JSON document.
    pub fn to_json(&self) -> String {
        // Plain data with string keys: serialisation has no way to fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`Recording::to_json`] wrote, and checks that its parts fit together: every
    /// recording that was read has passed here.
    ///
    /// # Errors
    /// It is of another shape or format, or cannot be of a run.
    pub fn from_json(text: &str) -> Result<Recording, ReadError> {
        #[derive(serde::Deserialize)]
        struct Header {
            iolab_recording: u64,
        }
        let header: Header = serde_json::from_str(text)?;
        if !(u64::from(FORMAT)..=u64::from(FORMAT_OF_SEVERAL_HOSTS)).contains(&header.iolab_recording) {
            return Err(ReadError::Format { found: header.iolab_recording });
        }
        let recording: Recording = serde_json::from_str(text)?;
        recording.check()?;
        Ok(recording)
    }
}
