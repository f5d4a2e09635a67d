//! The folder of the store: what may be opened, made and destroyed in it.
//!
//! A store is destroyed only if it is a store and nothing else, and either the user said so or this
//! program made it: its folder then carries a mark, an extended attribute.

use std::path::{Path, PathBuf};

use iolab_kv::{Holds, StoreError, StoreKind, some_of};

/// Name of the mark.
const MARK: &str = "user.iolab.kv";

/// What ends a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TellError {
    /// Refused for safety.
    Refused(String),
    /// An error of the store.
    Store(StoreError),
    /// A flag that does not fit the rest.
    Mistake(String),
}

impl From<StoreError> for TellError {
    fn from(error: StoreError) -> TellError {
        TellError::Store(error)
    }
}

/// The folder of a session.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    /// Removed when the session ends.
    _temporary: Option<tempfile::TempDir>,
}

impl Folder {
    /// The folder the user named, or a temporary one.
    pub(crate) fn choose(named: Option<&Path>) -> Result<Folder, TellError> {
        if let Some(path) = named {
            return Ok(Folder { path: path.to_owned(), _temporary: None });
        }
        let temporary = tempfile::Builder::new().prefix("iolab-kv-").tempdir().map_err(|error| {
            let folder = std::env::temp_dir();
            StoreError::of_file(&folder, "create a temporary folder", &error)
        })?;
        Ok(Folder { path: temporary.path().join("store"), _temporary: Some(temporary) })
    }

    /// Checks, without changing anything, whether a store of this kind can be used or created here.
    pub(crate) fn judge(&self, kind: &dyn StoreKind, fresh: bool, may_destroy: bool) -> Result<(), TellError> {
        let path = self.path.display();
        let name = kind.description().name;
        let refused = |message: String| Err(TellError::Refused(message));
        match iolab_kv_catalogue::holds_any(&self.path)? {
            Holds::Nothing => Ok(()),
            Holds::Other(names) => refused(format!(
                "{path}: holds {}, but no store; nothing was changed; use another folder",
                some_of(&names)
            )),
            Holds::Store(other) | Holds::StoreAndMore(other, _) if other != name => {
                refused(format!("{path}: holds a different kind of store; use --store={other}, or another folder"))
            }
            _ if !fresh => Ok(()),
            Holds::StoreAndMore(_, names) => refused(format!(
                "{path}: holds a {name} store and {}, which is not part of it; a new store would destroy both: use \
                another folder",
                some_of(&names)
            )),
            Holds::Store(_) if may_destroy || self.is_marked() => Ok(()),
            Holds::Store(_) => refused(format!(
                "{path}: holds a {name} store that iolab did not create; use it with --use_existing_db, or destroy \
                it with --destroy_db"
            )),
        }
    }

    /// Makes room for a new store: what [`Folder::judge`] allows is destroyed.
    pub(crate) fn clear(&self, kind: &dyn StoreKind) -> Result<(), StoreError> {
        if kind.recognises(&self.path) { kind.destroy(&self.path) } else { Ok(()) }
    }

    /// Marks the folder as one with a store made by this program. Where the file system has no
    /// attributes, the user must confirm this later.
    pub(crate) fn mark(&self) {
        let _ = rustix::fs::setxattr(&self.path, MARK, b"1", rustix::fs::XattrFlags::empty());
    }

    fn is_marked(&self) -> bool {
        let mut value = [0_u8; 8];
        rustix::fs::getxattr(&self.path, MARK, &mut value[..]).is_ok()
    }

    /// Bytes of its files; what was reserved ahead and not written is not counted.
    pub(crate) fn bytes(&self) -> u64 {
        bytes_below(&self.path)
    }
}

/// Waits until the file system of a file or folder has written everything out.
pub(crate) fn write_out(path: &Path) {
    if let Ok(file) = std::fs::File::open(path) {
        let _ = rustix::fs::syncfs(file);
    }
}

fn bytes_below(folder: &Path) -> u64 {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(facts) if facts.is_dir() => bytes += bytes_below(&entry.path()),
            Ok(facts) => bytes += facts.len(),
            Err(_) => {}
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_kv::{Existing, OpenRequest};

    fn kind(name: &str) -> &'static dyn StoreKind {
        iolab_kv_catalogue::kind(name).unwrap()
    }

    fn make(path: &Path, name: &str) {
        let request = OpenRequest { folder: path, options: "", existing: Existing::Forbidden };
        kind(name).open(&request).unwrap().close().unwrap();
    }

    #[test]
    fn only_a_store_that_was_marked_or_named_may_be_destroyed() {
        let outer = tempfile::tempdir().unwrap();
        let folder = Folder::choose(Some(&outer.path().join("db"))).unwrap();
        folder.judge(kind("redb"), true, false).unwrap();
        make(&folder.path, "redb");
        let refused = folder.judge(kind("redb"), true, false).unwrap_err();
        assert!(matches!(&refused, TellError::Refused(text) if text.contains("--destroy_db")), "{refused:?}");
        folder.judge(kind("redb"), true, true).unwrap();
        folder.judge(kind("redb"), false, false).unwrap();
        let refused = folder.judge(kind("fjall"), false, true).unwrap_err();
        assert!(matches!(&refused, TellError::Refused(text) if text.contains("--store=redb")), "{refused:?}");
        std::fs::write(folder.path.join("letter"), "dear").unwrap();
        assert!(
            matches!(folder.judge(kind("redb"), true, true), Err(TellError::Refused(text)) if text.contains("letter"))
        );
        folder.judge(kind("redb"), false, false).unwrap();
    }

    #[test]
    fn somebodys_folder_is_refused_whatever_is_said() {
        let outer = tempfile::tempdir().unwrap();
        std::fs::write(outer.path().join("letter"), "dear").unwrap();
        let folder = Folder::choose(Some(outer.path())).unwrap();
        for fresh in [true, false] {
            assert!(
                matches!(folder.judge(kind("fjall"), fresh, true), Err(TellError::Refused(text)) if text.contains("letter"))
            );
        }
    }

    #[test]
    fn a_temporary_folder_goes_with_the_session() {
        let folder = Folder::choose(None).unwrap();
        let path = folder.path.clone();
        make(&path, "redb");
        assert!(path.exists() && folder.bytes() > 0);
        drop(folder);
        assert!(!path.exists());
    }
}
