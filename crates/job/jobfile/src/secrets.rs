//! Secrets of jobs: found in settings, and hidden in the texts that messages and recordings quote.
//!
//! A text keeps its length when its secrets are hidden, so that places in it stay valid. A secret
//! that is written as `${NAME}` is not in the text, and nothing is hidden there. Misspelt names are
//! treated as the secret options that they resemble.

use std::ops::Range;

use iolab_options::{HIDDEN, OptionEntry, address_passwords};
use iolab_text::closest;

use crate::collect::engine_option;
use crate::{Surroundings, find_option};

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

/// The names of secret options.
pub(crate) struct SecretNames<'a> {
    surroundings: &'a dyn Surroundings,
    names: Vec<&'static str>,
}

impl<'a> SecretNames<'a> {
    /// Of jobs and of all engines.
    pub(crate) fn new(surroundings: &'a dyn Surroundings) -> SecretNames<'a> {
        let engines = surroundings.engine_names();
        let tables = engines.iter().filter_map(|engine| surroundings.engine_options(engine)).chain([crate::OPTIONS]);
        let entries = tables.flatten().filter(|entry| entry.is_secret);
        let mut names: Vec<_> = entries.flat_map(|entry| entry.aliases.iter().chain([&entry.name])).copied().collect();
        names.sort_unstable();
        names.dedup();
        SecretNames { surroundings, names }
    }

    /// Whether the option of this name, as written or abbreviated, is secret.
    pub(crate) fn has(&self, name: &str) -> bool {
        if self.names.contains(&name) {
            return true;
        }
        let is_other = || find_option(name).is_some() || engine_option(name, self.surroundings).is_some();
        let begins = || name.len() > 1 && self.names.iter().any(|secret| secret.starts_with(name));
        let resembles = begins() || closest(name, self.names.iter().copied()).is_some();
        resembles && !is_other()
    }

    /// Hides the secrets of a job file, also in its comments.
    pub(crate) fn hide_in_file(&self, text: &mut String) {
        let mut secrets = Vec::new();
        let mut begin = 0;
        for line in text.split_inclusive('\n') {
            let named = line.split_once('=').filter(|(before, _)| self.has(last_word(before)));
            match named {
                Some((before, value)) => {
                    let at = begin + before.len() + 1 + value.len() - value.trim_start().len();
                    secrets.push(at..at + value.trim().len());
                }
                None => secrets.extend(address_passwords(line).into_iter().map(|at| begin + at.start..begin + at.end)),
            }
            begin += line.len();
        }
        secrets.into_iter().for_each(|range| hide(text, range));
    }
}

/// The name before `=`, which may stand in a comment.
fn last_word(text: &str) -> &str {
    let text = text.trim_end();
    text.rsplit(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '-').next().unwrap_or(text)
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
    use crate::test_surroundings::Fixed;

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

    #[test]
    fn job_files_keep_their_length() {
        let names = SecretNames::new(&Fixed);
        for (line, hidden) in [
            ("s3_key=hunter2\nbs=4k\n", "s3_key=*******\nbs=4k\n"),
            (" s3_key = hunter2 # mine\n", " s3_key = **************\n"),
            ("; s3_key=hunter2", "; s3_key=*******"),
            ("s3_kye=hunter2", "s3_kye=*******"),
            ("s3_key=${KEY}", "s3_key=${KEY}"),
            ("s3_key=", "s3_key="),
            ("filename=a://b:cd@e/f", "filename=a://b:**@e/f"),
            ("cmd_type=hunter2", "cmd_type=hunter2"),
        ] {
            let mut text = line.to_owned();
            names.hide_in_file(&mut text);
            assert_eq!(text, hidden);
        }
    }
}
