//! Errors of study files.

/// A place in a text, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPlace {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl TextPlace {
    /// The place of byte `at`.
    pub(crate) fn of(text: &str, at: usize) -> TextPlace {
        let before = &text[..text.floor_char_boundary(at)];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        TextPlace { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

/// Why a text is not a valid study.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StudyError {
    /// Not TOML, an unknown key, or a value of the wrong type.
    #[error("{}:{}: {message}", place.line, place.column)]
    Shape {
        /// The place.
        place: TextPlace,
        /// What is wrong, and what would be valid.
        message: String,
    },
    /// Well-formed, but without a valid meaning.
    #[error("{0}")]
    Meaning(String),
}

impl StudyError {
    pub(crate) fn meaning(message: impl Into<String>) -> StudyError {
        StudyError::Meaning(message.into())
    }
}
