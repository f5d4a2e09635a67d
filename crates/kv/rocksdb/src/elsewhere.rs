//! Stores whose files do not live in folders of this machine: `filesystem=logfs:IMAGE`.
//!
//! A separate shared library makes a `rocksdb_env_t` of an image, because that needs C++: the crate
//! `logfs/rocksdb`, built with its feature `shim`. It is searched at the path in
//! `IOLAB_ROCKSDB_LOGFS`, beside this program, and where the loader looks.
#![allow(unsafe_code, reason = "island: dlopen, dlsym, and calls of what is found")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::PathBuf;

use iolab_kv::{ErrorKind, StoreError};

use crate::library::{Library, find};
use crate::symbols::Object;

/// The variable that names the library, and its name.
const VARIABLE: &str = "IOLAB_ROCKSDB_LOGFS";
const FILE: &str = "libiolab_logfs_rocksdb.so";

/// How to build it. It needs a folder of its own: a build of the whole workspace makes a library of
/// the same name without the C++ part.
const HOW: &str = "cargo build --release -p iolab-logfs-rocksdb --features shim --target-dir target/shim makes it (with librocksdb-dev and g++); \
                   name it in IOLAB_ROCKSDB_LOGFS, or put it beside this program";

type Open = unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> Object;
type Close = unsafe extern "C" fn(Object);

/// An environment of the library, closed when this is dropped.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    pub(crate) environment: Object,
    close: Close,
}

impl Elsewhere {
    /// Opens what a URI names: for stores that are gone before this is.
    pub(crate) fn open(library: &Library, uri: &str) -> Result<Elsewhere, StoreError> {
        let (open, close) = functions(library)?;
        let text = CString::new(uri).map_err(|_| StoreError::new(ErrorKind::Option, "filesystem= has a zero byte"))?;
        let mut error = std::ptr::null_mut();
        // SAFETY: a C string and a place for a pointer, which live through the call.
        let environment = unsafe { open(text.as_ptr(), &raw mut error) };
        if !environment.is_null() {
            return Ok(Elsewhere { environment, close });
        }
        let why = if error.is_null() {
            "no reason given".to_owned()
        } else {
            // SAFETY: a C string made by malloc, ours from here on.
            let why = unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned();
            // SAFETY: as above, and not used any more.
            unsafe { libc::free(error.cast()) };
            why
        };
        Err(StoreError::new(ErrorKind::Folder, format!("filesystem={uri} cannot be opened: {why}")))
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        // SAFETY: from `open`, given back once; the store that used it has been closed.
        unsafe { (self.close)(self.environment) };
    }
}

/// The two functions of the library, if it uses the same RocksDB.
pub(crate) fn functions(library: &Library) -> Result<(Open, Close), StoreError> {
    let handle = load()?;
    let missing = |name: &str| {
        let message = format!("{FILE} has no function {name}: it was built without the feature shim; {HOW}");
        StoreError::new(ErrorKind::NotInstalled, message)
    };
    let symbol = |name: &str| {
        let found = find(handle, name);
        if found.is_null() { Err(missing(name)) } else { Ok(found) }
    };
    let (open, close) = (symbol("iolab_rocksdb_env_open")?, symbol("iolab_rocksdb_env_close")?);
    // The RocksDB that the loader chose for it must be this one.
    if !std::ptr::eq(symbol("rocksdb_open")?, library.symbols.open as *const c_void) {
        let message = format!(
            "{FILE} was built for a different RocksDB than {}: rebuild it for this one, or set IOLAB_ROCKSDB to the other",
            library.path.display()
        );
        return Err(StoreError::new(ErrorKind::NotInstalled, message));
    }
    // SAFETY: functions of these names have these types: src/entry.rs of that crate.
    Ok(unsafe { (std::mem::transmute::<*mut c_void, Open>(open), std::mem::transmute::<*mut c_void, Close>(close)) })
}

/// Loads the library; it stays.
fn load() -> Result<*mut c_void, StoreError> {
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join(FILE)));
    let places: Vec<PathBuf> = match std::env::var_os(VARIABLE) {
        Some(named) => vec![named.into()],
        None => beside.into_iter().chain([PathBuf::from(FILE)]).collect(),
    };
    let mut why = String::new();
    for place in places {
        let Ok(name) = CString::new(place.as_os_str().as_encoded_bytes()) else { continue };
        // SAFETY: a C string. Loading runs the constructors of a library that the user has built or
        // named for this.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !handle.is_null() {
            return Ok(handle);
        }
        // SAFETY: dlerror answers with a C string or null; it stays until the thread's next such
        // call.
        let text = unsafe { libc::dlerror().as_ref() }.map(|text| unsafe { CStr::from_ptr(text) });
        why = text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    }
    let message = format!("filesystem= needs {FILE}, which was not found ({why}); {HOW}");
    Err(StoreError::new(ErrorKind::NotInstalled, message))
}
