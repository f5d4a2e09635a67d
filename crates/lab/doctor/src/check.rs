//! One check, and its result.

use serde::Serialize;

/// How good the state of something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// It works, but with less than the machine could offer, or with something to know.
    Limited,
    /// It does not work.
    No,
}

/// One check.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// What is checked.
    pub topic: String,
    /// Its state.
    pub status: CheckStatus,
    /// What was found.
    pub found: String,
    /// The consequence; empty when all is well.
    pub consequence: String,
    /// The command that fixes it, or advice if no command does; empty when all is well.
    pub mend: String,
}

impl Check {
    pub(crate) fn ok(topic: &str, found: impl Into<String>) -> Check {
        let (topic, found) = (topic.to_owned(), found.into());
        Check { topic, status: CheckStatus::Ok, found, consequence: String::new(), mend: String::new() }
    }

    pub(crate) fn new(
        status: CheckStatus,
        topic: &str,
        found: impl Into<String>,
        consequence: &str,
        mend: &str,
    ) -> Check {
        let (topic, found) = (topic.to_owned(), found.into());
        Check { topic, status, found, consequence: consequence.to_owned(), mend: mend.to_owned() }
    }
}

/// Text of a file of `/proc` or `/sys`, without the blanks around it.
pub(crate) fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
