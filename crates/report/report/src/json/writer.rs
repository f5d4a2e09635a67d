//! Writes JSON in the given order, in the layout of fio: two spaces per level, ` : ` after keys,
//! floats with six decimals. Keys are written as given; the caller must not repeat them.

use std::fmt::{Display, Write};

/// A document being written; the outermost object is open from the start.
pub(super) struct Writer {
    text: String,
    depth: usize,
    empty: bool,
}

impl Writer {
    pub(super) fn new() -> Writer {
        Writer { text: String::from("{"), depth: 1, empty: true }
    }

    /// Closes the outermost object.
    pub(super) fn finish(mut self) -> String {
        self.close('}');
        self.text.push('\n');
        self.text
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        let quoted = quoted(value);
        self.number(key, quoted);
    }

    /// Writes a value whose text is valid JSON.
    pub(super) fn number(&mut self, key: &str, value: impl Display) {
        self.key(key);
        let _ = write!(self.text, "{value}");
    }

    pub(super) fn float(&mut self, key: &str, value: f64) {
        // JSON cannot represent the others.
        let value = if value.is_finite() { value } else { 0.0 };
        self.number(key, format_args!("{value:.6}"));
    }

    pub(super) fn object(&mut self, key: &str, content: impl FnOnce(&mut Writer)) {
        self.key(key);
        self.open('{');
        content(self);
        self.close('}');
    }

    /// An array of objects.
    pub(super) fn array<T>(&mut self, key: &str, items: &[T], mut each: impl FnMut(&mut Writer, &T)) {
        self.key(key);
        self.open('[');
        for item in items {
            self.next();
            self.open('{');
            each(self, item);
            self.close('}');
        }
        self.close(']');
    }

    /// An array of integers, each on its own line.
    pub(super) fn numbers(&mut self, key: &str, items: impl Iterator<Item = u64>) {
        self.key(key);
        self.open('[');
        for item in items {
            self.next();
            let _ = write!(self.text, "{item}");
        }
        self.close(']');
    }

    fn key(&mut self, key: &str) {
        self.next();
        let _ = write!(self.text, "{} : ", quoted(key));
    }

    /// Begins the next member on a new line.
    fn next(&mut self) {
        self.text.push_str(if self.empty { "\n" } else { ",\n" });
        self.empty = false;
        self.indent();
    }

    fn open(&mut self, bracket: char) {
        self.text.push(bracket);
        self.depth += 1;
        self.empty = true;
    }

    fn close(&mut self, bracket: char) {
        self.depth -= 1;
        self.text.push('\n');
        self.indent();
        self.text.push(bracket);
        self.empty = false;
    }

    fn indent(&mut self) {
        (0..self.depth).for_each(|_| self.text.push_str("  "));
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
