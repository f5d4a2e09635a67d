//! Numbers that a study's command prints: trials that are not jobs.
//!
//! The command of a trial prints one JSON document; a [`Reported`] says where in it a number is
//! (JSON pointer, RFC 6901) and what it means.

use iolab_statistics::Better;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Setting;

/// One number of a command's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reported {
    /// What tables and figures call it.
    pub name: String,
    /// Where it is, as a JSON pointer.
    pub at: String,
    /// What one of it is: `ns`, `s`, `B/s`, `B`, or empty.
    #[serde(default)]
    pub unit: String,
    /// Which direction is good: `higher` or `lower`.
    pub better: Better,
}

impl Reported {
    /// Its value; `None` when there is no number in that place.
    pub fn of(&self, document: &Value) -> Option<f64> {
        document.pointer(&self.at)?.as_f64().filter(|value| value.is_finite())
    }
}

/// The command of a configuration: every `{option}` is its value, as one word of the shell.
pub fn with_values(command: &str, settings: &[Setting]) -> String {
    let mut text = String::new();
    let mut rest = command;
    // One pass: what a value holds is not looked at again.
    while let Some(place) = rest.find('{') {
        text.push_str(&rest[..place]);
        rest = &rest[place..];
        let named =
            |setting: &&Setting| rest[1..].strip_prefix(&setting.option).is_some_and(|end| end.starts_with('}'));
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

/// A word as it is for sh(1); plain ones stay as they are.
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
        let set = |option: &str, value: &str| Setting { option: option.to_owned(), value: value.to_owned() };
        let check = |command: &str, settings: &[Setting], expected: &str| {
            assert_eq!(with_values(command, settings), expected, "{command}");
        };
        check("x --a={a} {b}", &[set("a", "4k"), set("b", "/a b")], "x --a=4k '/a b'");
        check("x {a} {a} {c}", &[set("a", "it's")], "x 'it'\\''s' 'it'\\''s' {c}");
        check("x {a}", &[set("a", "")], "x ''");
    }

    #[test]
    fn numbers_are_found_by_pointers() {
        let document: Value = serde_json::from_str(r#"{"runs":[{"s":2.5,"n":"x"}]}"#).expect("JSON");
        let check = |at: &str, expected: Option<f64>| {
            let reported =
                Reported { name: "t".to_owned(), at: at.to_owned(), unit: "s".to_owned(), better: Better::Lower };
            assert_eq!(reported.of(&document), expected, "{at}");
        };
        check("/runs/0/s", Some(2.5));
        check("/runs/0/n", None);
        check("/runs/1/s", None);
    }
}
