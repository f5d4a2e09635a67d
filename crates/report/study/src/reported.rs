//! Numbers printed by a study's command, for trials that are not jobs.
//!
//! The command of a trial prints one JSON document, or text. A [`Reported`] says where in it a
//! number is (JSON pointer, RFC 6901, or a regular expression) and what it means.

use iolab_statistics::Better;
use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{JobSetting, StudyError};

/// One number of a command's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reported {
    /// Its name in tables and figures.
    pub name: String,
    /// Its place as a JSON pointer; empty if a pattern is given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// A regular expression for text output: the first group of its first match is the number.
    /// Empty if a pointer is given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// Its unit: `ns`, `s`, `B/s`, `B`, or empty.
    #[serde(default)]
    pub unit: String,
    /// Which direction is better: `higher` or `lower`.
    pub better: Better,
}

impl Reported {
    /// Its value; `None` when there is no number in that place.
    pub fn of(&self, printed: &Printed) -> Option<f64> {
        let value = if self.pattern.is_empty() {
            printed.document.as_ref().ok()?.pointer(&self.at)?.as_f64()
        } else {
            let found = Regex::new(&self.pattern).ok()?.captures(&printed.text)?;
            found.get(1)?.as_str().parse().ok()
        };
        value.filter(|value: &f64| value.is_finite())
    }

    /// Where it is found: the pointer, or the pattern.
    pub fn place(&self) -> &str {
        if self.pattern.is_empty() { &self.at } else { &self.pattern }
    }

    /// Refuses an invalid description.
    pub(crate) fn check(&self) -> Result<(), StudyError> {
        let name = &self.name;
        if self.at.is_empty() == self.pattern.is_empty() {
            let message = "needs either `at` (a JSON pointer) or `pattern` (a regular expression)";
            return Err(StudyError::meaning(format!("the value '{name}' {message}")));
        }
        if self.pattern.is_empty() {
            return Ok(());
        }
        let wrong = |error: &dyn std::fmt::Display| {
            StudyError::meaning(format!("the pattern of the value '{name}' is not a regular expression: {error}"))
        };
        let pattern = Regex::new(&self.pattern).map_err(|error| wrong(&error))?;
        if pattern.captures_len() < 2 {
            let message = "has no group: put the number in parentheses, as in 'time: ([0-9.]+) s'";
            return Err(StudyError::meaning(format!("the pattern of the value '{name}' {message}")));
        }
        Ok(())
    }
}

/// The output of a command: its text, and the JSON document if it is one.
#[derive(Debug)]
pub struct Printed {
    text: String,
    document: Result<Value, serde_json::Error>,
}

impl Printed {
    /// Text as it was printed.
    pub fn new(text: String) -> Printed {
        let document = iolab_deserialize::json(text.as_bytes());
        Printed { text, document }
    }

    /// Why it is not a JSON document, if it is not.
    pub fn is_no_document(&self) -> Option<&serde_json::Error> {
        self.document.as_ref().err()
    }
}

/// The command of a configuration: every `{option}` is replaced by its value, as one word of the
/// shell.
pub fn with_values(command: &str, settings: &[JobSetting]) -> String {
    let mut text = String::new();
    let mut rest = command;
    // One pass: inserted values are not scanned again.
    while let Some(place) = rest.find('{') {
        text.push_str(&rest[..place]);
        rest = &rest[place..];
        let named =
            |setting: &&JobSetting| rest[1..].strip_prefix(&setting.option).is_some_and(|end| end.starts_with('}'));
        match settings.iter().find(named) {
            Some(setting) => {
                text.push_str(&quoted(&setting.value));
                rest = &rest[setting.option.len() + 2..];
            }
            None => {
                text.push('{');
                rest = &rest[1..];
            }
        }
    }
    text + rest
}

/// Quotes a word for sh(1); plain words are unchanged.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:,=+%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_their_options_are_named() {
        let set = |option: &str, value: &str| JobSetting { option: option.to_owned(), value: value.to_owned() };
        let check = |command: &str, settings: &[JobSetting], expected: &str| {
            assert_eq!(with_values(command, settings), expected, "{command}");
        };
        check("x --a={a} {b}", &[set("a", "4k"), set("b", "/a b")], "x --a=4k '/a b'");
        check("x {a} {a} {c}", &[set("a", "it's")], "x 'it'\\''s' 'it'\\''s' {c}");
        check("x {a}", &[set("a", "")], "x ''");
    }

    fn reported() -> Reported {
        let (at, pattern) = (String::new(), String::new());
        Reported { name: "t".to_owned(), at, pattern, unit: "s".to_owned(), better: Better::Lower }
    }

    #[test]
    fn numbers_are_found_in_text_by_patterns() {
        let text =
            "... finished 100 ops\rfillseq      :       3.387 micros/op 295222 ops/sec; \nreadseq : 0.3 micros/op";
        let printed = Printed::new(text.to_owned());
        let value = |pattern: &str| Reported { pattern: pattern.to_owned(), ..reported() }.of(&printed);
        assert_eq!(value(r"fillseq\s+:\s+([0-9.]+) micros/op"), Some(3.387));
        assert_eq!(value(r"([0-9]+) ops/sec"), Some(295_222.0));
        assert_eq!(value(r"(\w+) micros"), Some(387.0));
        assert_eq!(value(r"fillrandom\s+:\s+([0-9.]+)"), None);
        assert_eq!(value(r"(finished)"), None);
        assert!(printed.is_no_document().is_some());
    }

    #[test]
    fn a_value_has_one_way_to_be_found() {
        for (at, pattern, expected) in [
            ("/a", "", None),
            ("", "a ([0-9]+)", None),
            ("", "", Some("needs either")),
            ("/a", "(b)", Some("needs either")),
            ("", "a [0-9]+", Some("no group")),
            ("", "a (", Some("not a regular expression")),
        ] {
            let checked = Reported { at: at.to_owned(), pattern: pattern.to_owned(), ..reported() }.check();
            let message = checked.err().map(|error| error.to_string());
            assert_eq!(message.is_some(), expected.is_some(), "{at} {pattern}");
            assert!(expected.is_none_or(|word| message.unwrap_or_default().contains(word)), "{at} {pattern}");
        }
    }

    #[test]
    fn numbers_are_found_by_pointers() {
        let printed = Printed::new(r#"{"runs":[{"s":2.5,"n":"x"}]}"#.to_owned());
        let check = |at: &str, expected: Option<f64>| {
            let reported = Reported { at: at.to_owned(), ..reported() };
            assert_eq!(reported.of(&printed), expected, "{at}");
        };
        check("/runs/0/s", Some(2.5));
        check("/runs/0/n", None);
        check("/runs/1/s", None);
    }
}
