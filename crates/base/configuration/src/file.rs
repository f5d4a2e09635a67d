//! The file: reading, checking, and the lines of its values.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::environment::home;
use crate::setting::{Form, SETTINGS, SettingInfo, UserSetting};

/// A mistake in the file, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ConfigurationError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1, if it is about one.
    pub line: Option<usize>,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// The values of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigurationFile {
    /// The file.
    pub(crate) path: PathBuf,
    entries: Vec<ConfiguredValue>,
}

/// A value of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfiguredValue {
    setting: UserSetting,
    /// One value, or those of a list.
    pub(crate) values: Vec<String>,
    /// Its line, from 1.
    pub(crate) line: usize,
}

impl ConfigurationFile {
    /// Reads a file; one that does not exist is empty.
    ///
    /// # Errors
    /// It cannot be read, has a mistake, or other users may write it.
    pub fn read(path: &Path) -> Result<ConfigurationFile, ConfigurationError> {
        let wrong = |message: String| ConfigurationError { path: path.to_owned(), line: None, message };
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(ConfigurationFile::default()),
            Err(error) => return Err(wrong(error.to_string())),
        };
        // It says what may be overwritten, so it must be the user's own.
        let user = rustix::process::geteuid().as_raw();
        if metadata.uid() != user && metadata.uid() != 0 {
            return Err(wrong(format!(
                "belongs to user {}, and you are user {user}: use a file of your own (IOLAB_CONFIG=none for none)",
                metadata.uid()
            )));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(wrong("other users may write it: chmod go-w".to_owned()));
        }
        let text = iolab_bounded_read::read_text(path, iolab_bounded_read::JOB_FILE)
            .map_err(|error| wrong(error.to_string()))?;
        ConfigurationFile::parse(path, &text, home().as_deref())
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// It is not TOML, a setting does not exist, or its value cannot be one.
    pub fn parse(path: &Path, text: &str, home: Option<&Path>) -> Result<ConfigurationFile, ConfigurationError> {
        let line_of = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
        let wrong = |offset: usize, message: String| ConfigurationError {
            path: path.to_owned(),
            line: Some(line_of(offset)),
            message,
        };
        let table = DeTable::parse(text)
            .map_err(|error| wrong(error.span().map_or(0, |span| span.start), error.message().to_owned()))?;
        let mut entries = Vec::new();
        for (name, value) in table.get_ref() {
            let written = name.get_ref();
            let Some(info) = SETTINGS.iter().find(|info| info.name == written) else {
                return Err(wrong(name.span().start, unknown(written)));
            };
            let values = values(info, value, home).map_err(|message| wrong(value.span().start, message))?;
            entries.push(ConfiguredValue { setting: info.setting, values, line: line_of(name.span().start) });
        }
        Ok(ConfigurationFile { path: path.to_owned(), entries })
    }

    pub(crate) fn get(&self, setting: UserSetting) -> Option<&ConfiguredValue> {
        self.entries.iter().find(|entry| entry.setting == setting)
    }
}

fn unknown(written: &str) -> String {
    let names = || SETTINGS.iter().map(|info| info.name);
    match iolab_text::closest(written, names()) {
        Some(name) => format!("unknown setting '{written}'; did you mean '{name}'?"),
        None => format!("unknown setting '{written}'; there are {}", names().collect::<Vec<_>>().join(", ")),
    }
}

fn values(info: &SettingInfo, value: &Spanned<DeValue<'_>>, home: Option<&Path>) -> Result<Vec<String>, String> {
    let SettingInfo { name, example, .. } = info;
    match (info.form, value.get_ref()) {
        (Form::Word(words), DeValue::String(text)) => match words.contains(&text.as_ref()) {
            true => Ok(vec![text.to_string()]),
            false => Err(format!("{name} is {}, not '{text}'", words.join(", "))),
        },
        (Form::PathOr(word), DeValue::String(text)) if text == word => Ok(vec![text.to_string()]),
        (Form::Path | Form::PathOr(_), DeValue::String(text)) => Ok(vec![absolute(name, text, home)?]),
        (Form::Paths, DeValue::Array(list)) => {
            let path = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
                DeValue::String(text) => absolute(name, text, home),
                _ => Err(format!("{name} is a list of paths, as in {example}")),
            };
            list.iter().map(path).collect()
        }
        (Form::Paths, _) => Err(format!("{name} is a list of paths, as in {example}")),
        _ => Err(format!("{name} is a text in quotes, as in {example}")),
    }
}

/// A path that means the same from every folder.
fn absolute(name: &str, text: &str, home: Option<&Path>) -> Result<String, String> {
    let path = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) => return Err(format!("{name}: '{text}' needs HOME, which is not set")),
        (None, _) => PathBuf::from(text),
    };
    match path.is_absolute() {
        true => Ok(path.to_string_lossy().into_owned()),
        false => Err(format!("{name}: '{text}' depends on the folder where iolab starts: write it from / or ~/")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn parsed(text: &str) -> Result<ConfigurationFile, String> {
        let parsed = ConfigurationFile::parse(Path::new("c.toml"), text, Some(Path::new("/users/me")));
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn values_have_their_lines() {
        let text = "# mine\nrecordings = \"~/r\"\ncolor = \"never\"\nallow_destroy = [\n  \"/dev/a\",\n  \"~/b\",\n]\n";
        let file = parsed(text).unwrap();
        let of = |setting| file.get(setting).map(|entry| (entry.line, entry.values.join(" ")));
        assert_eq!(of(UserSetting::Recordings), Some((2, "/users/me/r".to_owned())));
        assert_eq!(of(UserSetting::Color), Some((3, "never".to_owned())));
        assert_eq!(of(UserSetting::AllowDestroy), Some((4, "/dev/a /users/me/b".to_owned())));
        assert_eq!(of(UserSetting::Database), None);
        assert_eq!(parsed("database = \"none\"").unwrap().get(UserSetting::Database).unwrap().values, ["none"]);
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        let check = |text: &str, expected: &str| assert_eq!(parsed(text).expect_err(text), expected);
        check("\ncolour = \"never\"", "c.toml:2: unknown setting 'colour'; did you mean 'color'?");
        check("color = \"red\"", "c.toml:1: color is auto, always, never, not 'red'");
        check("color = true", "c.toml:1: color is a text in quotes, as in \"never\"");
        check(
            "recordings = \"here\"",
            "c.toml:1: recordings: 'here' depends on the folder where iolab starts: write it from / or ~/",
        );
        let list = "c.toml:1: allow_destroy is a list of paths, as in [\"/dev/disk/by-id/nvme-scratch\"]";
        check("allow_destroy = \"/dev/a\"", list);
        check("allow_destroy = [1]", list);
        assert!(parsed("x").expect_err("no TOML").starts_with("c.toml:1: "));
        assert!(parsed("zzzzzzz = 1").expect_err("unknown").contains("there are recordings, database"));
    }

    #[test]
    fn every_example_is_valid() {
        for info in SETTINGS {
            parsed(&format!("{} = {}", info.name, info.example)).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn a_file_that_others_may_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        assert_eq!(ConfigurationFile::read(&path).unwrap(), ConfigurationFile::default());
        std::fs::write(&path, "color = \"never\"\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(ConfigurationFile::read(&path).unwrap().get(UserSetting::Color).is_some());
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o664)).unwrap();
        assert!(ConfigurationFile::read(&path).unwrap_err().message.contains("other users may write it"));
    }
}
