//! The virtual SSDs that a user has created: one small file for each, with its parameters as given.
//!
//! A device exists only as this file. It has data only while it is served, unless its parameters
//! name a file for the data.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use iolab_bounded_read::{DEVICE_ENTRY, ReadError};
use iolab_order::Arrange;
use iolab_text::closest;

/// Why an operation of the catalogue failed.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// A mistake of the user: a name that is invalid, does not exist, or exists already.
    #[error("{0}")]
    Name(String),
    /// There is no folder for devices.
    #[error("no folder for virtual devices: set IOLAB_DEVICES, XDG_STATE_HOME or HOME")]
    NoPlace,
    /// The file of a device cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ReadError,
    },
    /// The file of a device has invalid contents.
    #[error("{}: line {line}: `{text}` is not KEY=VALUE", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The place.
        line: usize,
        /// The contents there.
        text: String,
    },
    /// A file or folder cannot be created, listed or removed.
    #[error("{what}{}: {source}", path.display())]
    Io {
        /// What was tried, with a space; empty if the name says enough.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

type Result<T> = std::result::Result<T, CatalogueError>;

impl CatalogueError {
    fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CatalogueError {
        let path = path.to_owned();
        move |source| CatalogueError::Io { what, path, source }
    }
}

/// The folder of the files.
#[derive(Debug)]
pub struct Catalogue {
    folder: PathBuf,
}

/// A created device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Key and value, in the order given.
    pub parameters: Vec<(String, String)>,
}

const SUFFIX: &str = "device";

impl Catalogue {
    /// The user's own catalogue: the setting `devices`, or `devices` in iolab's state folder (XDG
    /// Base Directory Specification).
    ///
    /// # Errors
    /// None of these variables is set.
    pub fn of_user() -> Result<Catalogue> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let state = || set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
        let own = iolab_configuration::folder(iolab_configuration::UserSetting::Devices);
        let folder = own.or_else(|| state().map(|state| state.join("iolab/devices")));
        Ok(Catalogue { folder: folder.ok_or(CatalogueError::NoPlace)? })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{SUFFIX}"))
    }

    /// Adds a device. Returns its file.
    ///
    /// # Errors
    /// The name exists already, or the file cannot be written.
    pub fn create(&self, entry: &Entry) -> Result<PathBuf> {
        check_name(&entry.name)?;
        std::fs::create_dir_all(&self.folder).map_err(CatalogueError::io("making ", &self.folder))?;
        let path = self.path(&entry.name);
        let mut text = String::from("# A virtual SSD of iolab: a parameter on each line.\n");
        for (key, value) in &entry.parameters {
            text += &format!("{key}={value}\n");
        }
        // The file is first written completely under another name, so that a full disk leaves no
        // partial file.
        let unfinished = self.folder.join(format!(".{}.new-{}", entry.name, std::process::id()));
        let made = std::fs::write(&unfinished, text).and_then(|()| std::fs::hard_link(&unfinished, &path));
        let removed = std::fs::remove_file(&unfinished);
        match made {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let text = format!("device {0} already exists (see `iolab device info {0}`)", entry.name);
                return Err(CatalogueError::Name(text));
            }
            made => made.and(removed).map_err(CatalogueError::io("writing ", &path))?,
        }
        Ok(path)
    }

    /// Whether no device has this name, so that what is not created may be served under it.
    ///
    /// # Errors
    /// It is no name of a device.
    pub fn is_free(&self, name: &str) -> Result<bool> {
        check_name(name)?;
        Ok(!self.path(name).exists())
    }

    /// The device of this name.
    ///
    /// # Errors
    /// It does not exist, or its file is damaged.
    pub fn find(&self, name: &str) -> Result<Entry> {
        check_name(name)?;
        let path = self.path(name);
        match iolab_bounded_read::read_text(&path, DEVICE_ENTRY) {
            Ok(text) => read(&path, name, &text),
            Err(error) if error.is_missing() => {
                let names: Vec<String> = self.list()?.into_iter().map(|entry| entry.name).collect();
                Err(CatalogueError::Name(format!("no device is called {name}{}", alternatives(name, &names))))
            }
            Err(source) => Err(CatalogueError::Unreadable { path, source }),
        }
    }

    /// All devices, by name.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>> {
        let files = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            files => files.map_err(CatalogueError::io("", &self.folder))?,
        };
        let mut entries = Vec::new();
        for file in files {
            let path = file.map_err(CatalogueError::io("", &self.folder))?.path();
            let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if hidden || path.extension().is_none_or(|extension| extension != SUFFIX) {
                continue;
            }
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = iolab_bounded_read::read_text(&path, DEVICE_ENTRY);
            let text = text.map_err(|source| CatalogueError::Unreadable { path: path.clone(), source })?;
            entries.push(read(&path, &name, &text)?);
        }
        entries.arrange_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
    }

    /// Removes the device of this name.
    ///
    /// # Errors
    /// It does not exist, or its file cannot be removed.
    pub fn destroy(&self, name: &str) -> Result<()> {
        self.find(name)?;
        let path = self.path(name);
        std::fs::remove_file(&path).map_err(CatalogueError::io("removing ", &path))
    }
}

/// A suggestion for a name that does not exist.
fn alternatives(name: &str, names: &[String]) -> String {
    if let Some(known) = closest(name, names.iter().map(String::as_str)) {
        return format!("; did you mean {known}?");
    }
    let there = if names.is_empty() { String::new() } else { format!("there are: {}; ", names.join(", ")) };
    format!(" ({there}create it with `iolab device create {name} --size 8G`)")
}

fn read(path: &Path, name: &str, text: &str) -> Result<Entry> {
    let mut parameters = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let damaged = || CatalogueError::Damaged { path: path.to_owned(), line: number + 1, text: line.to_owned() };
        let pair = line.split_once('=').ok_or_else(damaged)?;
        parameters.push((pair.0.trim().to_owned(), pair.1.trim().to_owned()));
    }
    Ok(Entry { name: name.to_owned(), parameters })
}

/// Names are parts of file names and of `traddr=`.
fn check_name(name: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        let text = format!("`{name}` is not a valid device name: use up to 64 letters, digits, '-' and '_'");
        return Err(CatalogueError::Name(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_created_found_listed_and_destroyed() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue { folder: folder.path().join("devices") };
        assert_eq!(catalogue.list().unwrap(), []);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let fast = Entry { name: "fast".into(), parameters: vec![pair("model", "ideal"), pair("size", "1G")] };
        let slow = Entry { name: "a-slow_1".into(), parameters: Vec::new() };
        assert!(catalogue.is_free("fast").unwrap());
        catalogue.create(&fast).unwrap();
        catalogue.create(&slow).unwrap();
        assert!(!catalogue.is_free("fast").unwrap());
        assert!(catalogue.create(&fast).unwrap_err().to_string().contains("already"));
        assert_eq!(catalogue.find("fast").unwrap(), fast);
        assert_eq!(catalogue.list().unwrap(), [slow, fast]);
        catalogue.destroy("fast").unwrap();
        let gone = catalogue.find("fast").unwrap_err().to_string();
        assert!(gone.contains("no device is called fast") && gone.contains("a-slow_1"), "{gone}");
        assert!(catalogue.destroy("fast").is_err());
        assert_eq!(std::fs::read_dir(&catalogue.folder).unwrap().count(), 1, "nothing unfinished is left");
    }

    #[test]
    fn odd_names_and_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue { folder: folder.path().to_owned() };
        for name in ["", "../up", "a b", ".hidden", &"x".repeat(65)] {
            assert!(catalogue.find(name).unwrap_err().to_string().contains("not a valid device name"), "{name}");
            assert!(catalogue.is_free(name).is_err(), "{name}");
        }
        std::fs::write(folder.path().join("bad.device"), "size=1G\nmodel\n").unwrap();
        let error = format!("{:#}", catalogue.find("bad").unwrap_err());
        assert!(error.contains("line 2") && error.contains("`model`"), "{error}");
    }
}
