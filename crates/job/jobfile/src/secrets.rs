//! Secrets in the settings of jobs, and how a text is shown without them.
//!
//! A secret that is written as `${NAME}` is not in the text, and nothing is hidden there.

use std::ops::Range;

use iolab_options::{HIDDEN, OptionEntry};

/// A setting that holds secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretSetting {
    /// Canonical name of the option.
    pub option: String,
    /// Its text, with the secrets.
    pub text: String,
    /// The text as written, with [`HIDDEN`] in the place of secrets that stand in it.
    pub shown: String,
    /// The same with a variable in their place, which the job language inserts.
    pub copyable: String,
    /// That variable, if there is one.
    pub variable: Option<String>,
    /// The secrets, also as they are without the escapes of file names.
    pub values: Vec<String>,
}

impl SecretSetting {
    /// The secrets of a setting, if there are any.
    pub(crate) fn of(entry: &OptionEntry, written: &str, text: &str) -> Option<SecretSetting> {
        let secrets = entry.secrets(text);
        if secrets.is_empty() {
            return None;
        }
        let mut values: Vec<String> = secrets.into_iter().map(|range| text[range].to_owned()).collect();
        let unescaped: Vec<_> = values.iter().map(|value| value.replace("\\:", ":")).collect();
        values.extend(unescaped.into_iter().filter(|value| !values.contains(value)).collect::<Vec<_>>());
        let literal: Vec<_> =
            entry.secrets(written).into_iter().filter(|at| !is_variable(&written[at.clone()])).collect();
        let end = if entry.is_secret { "" } else { "_PASSWORD" };
        let variable = format!("{}{end}", entry.name.to_ascii_uppercase());
        let with = |replacement: &str| {
            let mut shown = written.to_owned();
            literal.iter().rev().for_each(|range| shown.replace_range(range.clone(), replacement));
            shown
        };
        Some(SecretSetting {
            option: entry.name.to_owned(),
            text: text.to_owned(),
            shown: with(HIDDEN),
            copyable: with(&format!("${{{variable}}}")),
            variable: (!literal.is_empty()).then_some(variable),
            values,
        })
    }
}

/// Whether a text is `${NAME}`, once or several times.
fn is_variable(text: &str) -> bool {
    let parts = |text: &str| text.strip_prefix("${").and_then(|rest| Some(rest.split_once('}')?.1.to_owned()));
    let mut rest = text.to_owned();
    while let Some(after) = parts(&rest) {
        if after.is_empty() {
            return true;
        }
        rest = after;
    }
    false
}

/// Replaces a range of a text by asterisks; a variable stays.
pub(crate) fn hide(text: &mut String, range: Range<usize>) {
    if !is_variable(&text[range.clone()]) {
        let asterisks = "*".repeat(range.len());
        text.replace_range(range, &asterisks);
    }
}

#[cfg(test)]
mod tests {
    use iolab_options::ValueKind;

    use super::*;

    const KEY: OptionEntry = OptionEntry { name: "key", kind: ValueKind::Text, is_secret: true, ..OptionEntry::BLANK };
    const PLACE: OptionEntry = OptionEntry { name: "place", kind: ValueKind::Text, ..OptionEntry::BLANK };

    #[test]
    fn settings_are_shown_without_secrets_and_can_be_copied() {
        let found = |entry, written, text| {
            SecretSetting::of(entry, written, text).map(|own| (own.shown, own.copyable, own.variable, own.values))
        };
        let strings = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let variable = |name: &str| Some(name.to_owned());
        assert_eq!(
            found(&KEY, "s3cr3t", "s3cr3t"),
            Some(("***".into(), "${KEY}".into(), variable("KEY"), strings(&["s3cr3t"])))
        );
        assert_eq!(found(&KEY, "${A}${B}", "ab"), Some(("${A}${B}".into(), "${A}${B}".into(), None, strings(&["ab"]))));
        let written = r"i\://u%p\:w@h/t/1";
        assert_eq!(
            found(&PLACE, written, written),
            Some((
                r"i\://u%***@h/t/1".into(),
                r"i\://u%${PLACE_PASSWORD}@h/t/1".into(),
                variable("PLACE_PASSWORD"),
                strings(&[r"p\:w", "p:w"])
            ))
        );
        assert_eq!(found(&PLACE, "${URL}", "i://u%w@h").map(|own| own.0), Some("${URL}".to_owned()));
        assert_eq!(found(&PLACE, "/tmp/x", "/tmp/x"), None);
    }
}
