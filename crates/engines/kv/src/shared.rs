//! The stores that are open in this process: workers that name the same folder share one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use iolab_engine::OpenError;
use iolab_kv::{ErrorKind, Existing, OpenRequest, Store, StoreError, StoreKind};

use crate::options::Asked;

/// An open store, and what must be removed with it.
pub(crate) struct Opened {
    pub(crate) store: Box<dyn Store>,
    pub(crate) kind: &'static dyn StoreKind,
    options: String,
    /// A temporary store's folder: destroyed when the last worker ends.
    _temporary: Option<Temporary>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Opened").field("kind", &self.kind.description().name).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A share of an open store. Shares are dropped one at a time, and no store is opened meanwhile:
/// after the drop of the last share, the folder is free.
#[derive(Debug, Clone)]
pub(crate) struct Handle(Option<Arc<Opened>>);

impl std::ops::Deref for Handle {
    type Target = Opened;

    fn deref(&self) -> &Opened {
        self.0.as_ref().expect("a handle is empty only while it is dropped")
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _stores = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        self.0 = None;
    }
}

static OPEN: Mutex<BTreeMap<PathBuf, Weak<Opened>>> = Mutex::new(BTreeMap::new());

/// The store that a worker requests, opened if no other worker of this process has it open.
pub(crate) fn open(asked: &Asked) -> Result<Handle, OpenError> {
    let mut stores = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = match &asked.path {
        Some(path) => PathBuf::from(path),
        // Jobs that name no folder share one for each kind of store.
        None => {
            let kind = kind_of(asked)?.description().name;
            std::env::temp_dir().join(format!("iolab-kv-job-{}-{kind}", std::process::id()))
        }
    };
    if let Some(opened) = stores.get(&folder).and_then(Weak::upgrade) {
        // This does not drop a share: the lock is held here.
        let answer = same(&opened, asked);
        return match answer {
            Ok(()) => Ok(Handle(Some(opened))),
            Err(error) => {
                drop(stores);
                drop(Handle(Some(opened)));
                Err(error)
            }
        };
    }
    let kind = kind_of(asked)?;
    let request = OpenRequest { folder: &folder, options: &asked.options, existing: Existing::Either };
    let store = kind.open(&request).map_err(|error| open_error(&folder, &error))?;
    let remove = asked.path.is_none().then(|| Temporary(folder.clone()));
    let opened = Arc::new(Opened { store, kind, options: asked.options.clone(), _temporary: remove });
    stores.insert(folder, Arc::downgrade(&opened));
    Ok(Handle(Some(opened)))
}

fn kind_of(asked: &Asked) -> Result<&'static dyn StoreKind, OpenError> {
    let Some(name) = &asked.store else { return Ok(iolab_kv_catalogue::preferred().0) };
    iolab_kv_catalogue::kind(name).ok_or_else(|| {
        let message = format!("unknown store `{name}`; known are {}", iolab_kv_catalogue::names());
        OpenError { message, errno: None }
    })
}

/// Checks that a worker requests the store with the options with which another worker has opened
/// it.
fn same(opened: &Opened, asked: &Asked) -> Result<(), OpenError> {
    let name = opened.kind.description().name;
    let differs = asked.store.as_deref().is_some_and(|store| store != name) || asked.options != opened.options;
    if !differs {
        return Ok(());
    }
    let message = format!("another job of this run opened this store as {name} with the options `{}`", opened.options);
    Err(OpenError { message, errno: None })
}

fn open_error(folder: &Path, error: &StoreError) -> OpenError {
    const EPERM: i32 = 1;
    const EBUSY: i32 = 16;
    let advice = match error.kind {
        ErrorKind::Busy => "; workers that share a store must be threads (thread=1)",
        _ => "",
    };
    let errno = match error.kind {
        ErrorKind::Folder if folder.exists() => Some(EPERM),
        ErrorKind::Busy => Some(EBUSY),
        _ => Some(errno_of(error)),
    };
    OpenError { message: format!("{error}{advice}"), errno }
}

/// The errno that an operation fails with (errno(3)).
pub(crate) fn errno_of(error: &StoreError) -> i32 {
    match error.kind {
        ErrorKind::NotInstalled => 2,
        ErrorKind::Option => 22,
        ErrorKind::Folder => 17,
        ErrorKind::Busy => 16,
        ErrorKind::Corrupt => 117,
        ErrorKind::Full => 28,
        ErrorKind::Unsupported => 95,
        ErrorKind::Io => 5,
    }
}
