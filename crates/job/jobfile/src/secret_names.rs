//! Hides secrets in the texts that messages and recordings quote, by the names of secret options.
//!
//! A text keeps its length, so that places in it stay valid. Misspelt names are treated as the
//! secret options that they resemble.

use iolab_options::address_passwords;
use iolab_order::Arrange;
use iolab_text::closest;

use crate::collect::engine_option;
use crate::secrets::hide;
use crate::{Surroundings, find_option};

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
        names.arrange();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_surroundings::Fixed;

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
