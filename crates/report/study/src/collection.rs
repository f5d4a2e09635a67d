//! Collections: several studies of one subject, run by one command and presented in one report.
//!
//! ```toml
//! title = "What a job file's numbers do"
//! question = "…"
//! studies = ["write-share.toml", "block-size.toml"]
//! ```

use iolab_order::Arrange;
use serde::{Deserialize, Serialize};

use crate::{StudyError, TextPlace};

/// Several studies of one subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// The subject, in a line.
    pub title: String,
    /// Their common question; may be empty.
    #[serde(default)]
    pub question: String,
    /// Study files, relative to the collection's own, in the order in which they run and are
    /// presented.
    pub studies: Vec<String>,
}

/// Reads a collection; returns `None` when the text is a single study, or something else.
///
/// # Errors
/// It has a list of studies, but is not a valid collection: unknown keys, no studies, or two that
/// would share a folder.
pub fn read_collection(text: &str) -> Result<Option<Collection>, StudyError> {
    let names_studies = text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("studies"));
    if !names_studies {
        return Ok(None);
    }
    let collection: Collection = iolab_deserialize::toml(text).map_err(|error| StudyError::Shape {
        place: TextPlace::of(text, error.span().map_or(0, |span| span.start)),
        message: crate::file::in_plain_words(error.message()),
    })?;
    if collection.studies.is_empty() {
        return Err(StudyError::meaning("studies = []: a collection needs at least one study"));
    }
    let mut names: Vec<&str> = collection.studies.iter().map(|file| part_name(file)).collect();
    names.arrange();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            Err(StudyError::meaning(format!("two studies are called '{}': their folders would be the same", pair[0])))
        }
        None => Ok(Some(collection)),
    }
}

/// The folder name of a study in a collection: its file name without folders and `.toml`.
pub fn part_name(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_names_its_studies_and_a_study_is_none() {
        let found = read_collection("title = \"t\"\nstudies = [\"a.toml\", \"deep/b.toml\"]").expect("well-formed");
        let studies = found.expect("a collection").studies;
        assert_eq!(studies.iter().map(|file| part_name(file)).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(read_collection("title = \"t\"\njob = \"x.fio\""), Ok(None));
        assert_eq!(read_collection("not toml ["), Ok(None));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let check = |text: &str, reason: &str| {
            let error = read_collection(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{error}");
        };
        check("title = \"t\"\nstudies = []", "at least one study");
        check("title = \"t\"\nstudies = [\"a/x.toml\", \"b/x.toml\"]", "'x'");
        check("title = \"t\"\nstudies = [\"a.toml\"]\nblocks = 3", "unknown key `blocks`");
        check("studies = [\"a.toml\"]", "missing field `title`");
    }
}
