//! Why an activity ended without its result.

use std::fmt::{self, Display};
use std::io;

use iolab_bounded_read::ReadError;
use iolab_outputs::OutputError;

/// Who must act on a failure. A program passes it on to its parent by its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// A job, a device or the activity itself failed.
    Failed,
    /// The user's mistake: a bad option, a bad job file, an unreadable input.
    Mistake,
    /// Refused, because something would have been destroyed.
    Refused,
    /// The user ended it.
    Interrupted,
}

impl FailureKind {
    const ALL: [FailureKind; 4] =
        [FailureKind::Failed, FailureKind::Mistake, FailureKind::Refused, FailureKind::Interrupted];

    /// The exit code of a program that ends for this reason.
    pub const fn exit_code(self) -> u8 {
        match self {
            FailureKind::Failed => 1,
            FailureKind::Mistake => 2,
            FailureKind::Refused => 3,
            FailureKind::Interrupted => 128,
        }
    }

    /// The kind behind an exit code; `None` for 0 and for codes of other programs.
    pub fn of_exit_code(code: i32) -> Option<FailureKind> {
        Self::ALL.into_iter().find(|kind| i32::from(kind.exit_code()) == code)
    }
}

/// Why an activity ended without its result, in words for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Who has to act on it.
    pub kind: FailureKind,
    /// What is wrong, and what to do.
    pub message: String,
    /// Whether the message is a whole report (diagnostics with the lines that they are about),
    /// which is printed without the program's name.
    pub is_report: bool,
}

impl Failure {
    fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into(), is_report: false }
    }

    /// The user's mistake.
    pub fn mistake(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Mistake, message)
    }

    /// Something would have been destroyed.
    pub fn refused(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Refused, message)
    }

    /// Something did not work.
    pub fn failed(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Failed, message)
    }

    /// A whole report, shown as it is.
    pub fn report(kind: FailureKind, text: impl Into<String>) -> Failure {
        Failure { is_report: true, ..Failure::new(kind, text) }
    }

    /// A failure with the text of a library's error.
    pub fn of(error: impl std::error::Error) -> Failure {
        Failure::failed(error.to_string())
    }

    /// Turns the failure into the user's mistake.
    pub fn as_mistake(self) -> Failure {
        Failure { kind: FailureKind::Mistake, ..self }
    }
}

impl Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::of(error)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        Failure::of(error)
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Failure {
        let kind = match (error.is_refusal(), error.is_mistake()) {
            (true, _) => FailureKind::Refused,
            (_, true) => FailureKind::Mistake,
            _ => FailureKind::Failed,
        };
        Failure::new(kind, error.to_string())
    }
}

/// Puts what was tried before the reason of a failure.
pub trait FailureContext<T> {
    /// `what: reason`.
    ///
    /// # Errors
    /// The same failure, with more words.
    fn context(self, what: impl Display) -> Result<T, Failure>;

    /// Like [`FailureContext::context`], with words that are only made when needed.
    ///
    /// # Errors
    /// The same failure, with more words.
    fn with_context<D: Display>(self, what: impl FnOnce() -> D) -> Result<T, Failure>
    where
        Self: Sized;
}

impl<T, E: Into<Failure>> FailureContext<T> for Result<T, E> {
    fn context(self, what: impl Display) -> Result<T, Failure> {
        self.with_context(|| what)
    }

    fn with_context<D: Display>(self, what: impl FnOnce() -> D) -> Result<T, Failure> {
        self.map_err(|error| {
            let failure = error.into();
            Failure { message: format!("{}: {}", what(), failure.message), ..failure }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_tells_its_parent_why_it_ended() {
        for kind in FailureKind::ALL {
            assert_eq!(FailureKind::of_exit_code(i32::from(kind.exit_code())), Some(kind));
        }
        assert_eq!(FailureKind::of_exit_code(0), None);
        assert_eq!(FailureKind::of_exit_code(101), None);
    }

    #[test]
    fn context_stands_before_the_reason_and_keeps_the_kind() {
        let refused: Result<(), Failure> = Err(Failure::refused("it is mounted"));
        let told = refused.context("/dev/sda").unwrap_err();
        assert_eq!(told, Failure::refused("/dev/sda: it is mounted"));
        let missing: Result<(), io::Error> = Err(io::ErrorKind::NotFound.into());
        assert!(missing.with_context(|| "a.fio").unwrap_err().message.starts_with("a.fio: "));
    }
}
