//! Reading and writing the JSON form.

use crate::Unsound;
use crate::recording::{FORMAT, FORMAT_OF_SEVERAL_HOSTS, Recording};

/// Why a text is not a recording this version can read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// Not JSON, or not the shape of a recording.
    #[error("not an iolab recording: {0}")]
    Shape(serde_json::Error),
    /// The beginning of a document.
    #[error("the file is cut off after {bytes} bytes: it is not complete, so copy or download it again")]
    CutOff {
        /// How much there is.
        bytes: usize,
    },
    /// What fio writes.
    #[error(
        "this is a JSON report of fio {version}, not an iolab recording: `iolab compare` and `iolab db import` read it"
    )]
    FioReport {
        /// Its version.
        version: String,
    },
    /// It has the form of a recording, but no run can have produced it.
    #[error("no run can have made this recording: {0}")]
    Unsound(#[from] Unsound),
    /// Another format.
    #[error("recording format {found}; this version reads formats {FORMAT} to {FORMAT_OF_SEVERAL_HOSTS}")]
    Format {
        /// The number found.
        found: u64,
    },
}

impl RecordingError {
    /// Why `text` is not a recording, given the parser's error.
    fn of(text: &str, error: serde_json::Error) -> RecordingError {
        #[derive(serde::Deserialize)]
        struct Fio {
            #[serde(rename = "fio version")]
            version: String,
        }
        if error.is_eof() && text.trim_start().starts_with('{') {
            return RecordingError::CutOff { bytes: text.len() };
        }
        match iolab_deserialize::json::<Fio>(text.as_bytes()) {
            Ok(Fio { version }) => RecordingError::FioReport { version: version.trim_start_matches("fio-").to_owned() },
            Err(_) => RecordingError::Shape(error),
        }
    }
}

impl Recording {
    /// The recording as one JSON document.
    pub fn to_json(&self) -> String {
        // Plain data with string keys: serialisation has no way to fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the output of [`Recording::to_json`], and checks that its parts are consistent. Every
    /// recording that is read passes through here.
    ///
    /// # Errors
    /// It is of another shape or format, or cannot be of a run.
    pub fn from_json(text: &str) -> Result<Recording, RecordingError> {
        #[derive(serde::Deserialize)]
        struct Header {
            iolab_recording: u64,
        }
        let wrong = |error: serde_json::Error| RecordingError::of(text, error);
        // From bytes, as the entries of partial recordings are, so that the types are compiled for
        // one kind of reader.
        let header: Header = iolab_deserialize::json(text.as_bytes()).map_err(wrong)?;
        if !(u64::from(FORMAT)..=u64::from(FORMAT_OF_SEVERAL_HOSTS)).contains(&header.iolab_recording) {
            return Err(RecordingError::Format { found: header.iolab_recording });
        }
        let recording: Recording = iolab_deserialize::json(text.as_bytes()).map_err(wrong)?;
        recording.check()?;
        Ok(recording)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_file_is_instead_is_said() {
        let whole = include_str!("../tests/corpus/1-8-traits.json").trim_end();
        let cases = [
            (&whole[..whole.len() / 2], "the file is cut off after"),
            (&whole[..1], "the file is cut off after 1 bytes"),
            ("{\"fio version\" : \"fio-3.33\", \"jobs\" : []}", "a JSON report of fio 3.33"),
            ("{\"other\": 1}", "not an iolab recording: missing field"),
            ("plain text", "not an iolab recording: expected value"),
        ];
        for (text, said) in cases {
            let error = Recording::from_json(text).expect_err(said).to_string();
            assert!(error.contains(said), "{said:?} wanted: {error}");
            assert_eq!(error.matches("cut off").count(), usize::from(said.contains("cut off")), "{error}");
        }
    }
}
