//! Which parts of a text are secrets: the values of secret options, and the passwords of addresses
//! (`scheme://USER:PASSWORD@HOST`, and iSCSI's `USER%PASSWORD`) in any text.
//!
//! An address ends at `/`, white space or a control character; a password that contains one of
//! these is not found, and no engine accepts one.

use std::borrow::Cow;
use std::ops::Range;

use crate::OptionEntry;

/// What is shown in the place of a secret.
pub const HIDDEN: &str = "***";

impl OptionEntry {
    /// The secrets in a text of this option, in order.
    pub fn secrets(&self, text: &str) -> Vec<Range<usize>> {
        match self.is_secret {
            true if text.is_empty() => Vec::new(),
            true => std::iter::once(0..text.len()).collect(),
            false => address_passwords(text),
        }
    }
}

/// The passwords of all addresses in a text, in order, without those that are hidden already.
pub fn address_passwords(text: &str) -> Vec<Range<usize>> {
    const BEGIN: &str = "://";
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(BEGIN) {
        let begin = from + at + BEGIN.len();
        let ends = |letter: char| letter == '/' || letter.is_whitespace() || letter.is_control();
        let end = text[begin..].find(ends).map_or(text.len(), |length| begin + length);
        if let Some(user) = text[begin..end].rfind('@')
            && let Some(colon) = text[begin..begin + user].find([':', '%'])
            && !text[begin + colon + 1..begin + user].trim_matches('*').is_empty()
        {
            found.push(begin + colon + 1..begin + user);
        }
        from = end;
    }
    found
}

/// A text with [`HIDDEN`] in the place of passwords of addresses.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    let found = address_passwords(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut shown = text.to_owned();
    found.into_iter().rev().for_each(|range| shown.replace_range(range, HIDDEN));
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_addresses_are_hidden_and_nothing_else() {
        let table = [
            ("iscsi://me%pass@h/iqn.a:b/1", "iscsi://me%***@h/iqn.a:b/1"),
            ("iscsi://me%p@ss@h:3260/t/1", "iscsi://me%***@h:3260/t/1"),
            (r"iscsi\://me%p\:w@h\:3260/t/1", r"iscsi\://me%***@h\:3260/t/1"),
            ("no: http://u:p@h, nbd://v:q@i", "no: http://u:***@h, nbd://v:***@i"),
            ("nbd://h:10809/a@b", "nbd://h:10809/a@b"),
            ("http://h:80 and me@home", "http://h:80 and me@home"),
            ("iscsi://me@h/t/1", "iscsi://me@h/t/1"),
            ("iscsi://me%@h/t/1", "iscsi://me%@h/t/1"),
            ("s3://ü:é@h", "s3://ü:***@h"),
            ("a://b:****@c", "a://b:****@c"),
            ("://", "://"),
        ];
        for (text, shown) in table {
            assert_eq!(without_passwords(text), shown);
        }
    }

    #[test]
    fn the_whole_text_of_a_secret_option_is_a_secret() {
        let entry = OptionEntry { name: "key", is_secret: true, ..OptionEntry::BLANK };
        assert_eq!(entry.secrets("abc").first(), Some(&(0..3)));
        assert!(entry.secrets("").is_empty());
        assert_eq!(OptionEntry::BLANK.secrets("a://b:c@d").first(), Some(&(6..7)));
    }
}
