//! A part of a value's text together with its position, so that every refusal can point at it.

use super::ValueError;

/// A part of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a> {
    /// The part.
    pub(crate) text: &'a str,
    /// Where it begins in the whole value, bytes.
    pub(crate) at: usize,
}

impl<'a> Piece<'a> {
    /// All of a value.
    pub(crate) fn whole(text: &'a str) -> Piece<'a> {
        Piece { text, at: 0 }
    }

    /// Whether the part is empty.
    pub(crate) fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// Without white space around it.
    pub(crate) fn trim(self) -> Piece<'a> {
        let front = self.text.trim_start();
        Piece { text: front.trim_end(), at: self.at + self.text.len() - front.len() }
    }

    /// The part from `from` to `to`, bytes relative to this piece.
    pub(crate) fn sub(self, from: usize, to: usize) -> Piece<'a> {
        Piece { text: &self.text[from..to], at: self.at + from }
    }

    /// The trimmed parts between separators outside parentheses.
    pub(crate) fn split(self, separator: char) -> Vec<Piece<'a>> {
        let mut parts = Vec::new();
        let mut depth = 0_usize;
        let mut begin = 0;
        for (at, letter) in self.text.char_indices() {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ if letter == separator && depth == 0 => {
                    parts.push(self.sub(begin, at).trim());
                    begin = at + letter.len_utf8();
                }
                _ => {}
            }
        }
        parts.push(self.sub(begin, self.text.len()).trim());
        parts
    }

    /// The trimmed text before and after the first separator outside parentheses.
    pub(crate) fn split_once(self, separator: char) -> Option<(Piece<'a>, Piece<'a>)> {
        let first = *self.split_raw(separator).first()?;
        let front = self.sub(0, first);
        let back = self.sub(first + separator.len_utf8(), self.text.len());
        Some((front.trim(), back.trim()))
    }

    /// Positions of separators outside parentheses.
    fn split_raw(self, separator: char) -> Vec<usize> {
        let mut depth = 0_usize;
        let mut found = Vec::new();
        for (at, letter) in self.text.char_indices() {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ if letter == separator && depth == 0 => found.push(at),
                _ => {}
            }
        }
        found
    }

    /// A refusal that points here.
    pub(crate) fn refuse(self, reason: impl Into<String>) -> ValueError {
        ValueError { range: (self.at, self.at + self.text.len()), reason: reason.into(), suggestion: None }
    }

    /// A refusal that points here and says what to write instead.
    pub(crate) fn refuse_with(self, reason: impl Into<String>, suggestion: impl Into<String>) -> ValueError {
        ValueError { suggestion: Some(suggestion.into()), ..self.refuse(reason) }
    }
}
