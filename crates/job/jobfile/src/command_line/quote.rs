//! Quotes arguments for a shell.

use std::borrow::Cow;

/// The argument in a form that a POSIX shell reads back as the same argument.
pub(crate) fn quote(argument: &str) -> Cow<'_, str> {
    let plain = |letter: char| letter.is_alphanumeric() || "-_=+:,./%@^".contains(letter);
    if !argument.is_empty() && argument.chars().all(plain) {
        return Cow::Borrowed(argument);
    }
    Cow::Owned(format!("'{}'", argument.replace('\'', "'\\''")))
}
