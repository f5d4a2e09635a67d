//! Finding and loading the library, once for the process.
//!
//! The search begins with `librocksdb.so` as the loader finds it, then `librocksdb.so.VERSION` in
//! the folders where distributions put libraries, the newest supported version first. The setting
//! `rocksdb` names one file instead. The library is never unloaded, because its threads may outlive
//! a store.
#![allow(unsafe_code, reason = "island: dlopen, dlsym, dladdr")]

use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use iolab_configuration::UserSetting;
use iolab_kv::{ErrorKind, StoreError};
use iolab_order::Arrange;

use crate::symbols::Symbols;

/// What installs the library.
pub(crate) const INSTALL: &str = "apt-get install librocksdb-dev";

/// Versions whose C interface has the functions used here.
const SUPPORTED: std::ops::RangeInclusive<u32> = 7..=11;

/// The loaded library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) symbols: Symbols,
    /// The file that it was loaded from, links followed.
    pub(crate) path: PathBuf,
    /// Its version, from the name of that file; `unknown` if the name has none.
    pub(crate) version: String,
    /// Whether it was built with assertions: such a library has hooks for its own tests.
    pub(crate) assertions: bool,
}

impl Library {
    /// Where it comes from, how it was built as far as that is known, and which compression
    /// libraries this process has loaded.
    pub(crate) fn sentence(&self) -> String {
        let assertions = if self.assertions { "with" } else { "without" };
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let libraries = compression_libraries(&maps);
        let libraries = if libraries.is_empty() { "none that is shared".to_owned() } else { libraries.join(", ") };
        format!(
            "RocksDB is loaded from {}, built {assertions} assertions; libraries that compress: {libraries}.",
            self.path.display()
        )
    }

    /// The level of `perf_level` that measures everything (`rocksdb/perf_level.h`): version 9 has
    /// one more.
    pub(crate) fn most_perf_level(&self) -> u64 {
        let major = self.version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        if major.is_some_and(|major| major >= 9) { 6 } else { 5 }
    }
}

/// The library, loaded on first use.
pub(crate) fn library() -> Result<&'static Library, StoreError> {
    static LIBRARY: OnceLock<Result<Library, StoreError>> = OnceLock::new();
    let loaded = LIBRARY.get_or_init(|| match iolab_configuration::folder(UserSetting::Rocksdb) {
        Some(path) => load(&path),
        None => search(),
    });
    loaded.as_ref().map_err(StoreError::clone)
}

fn not_installed(what: &str) -> StoreError {
    let message = format!("RocksDB cannot be used: {what}; install it with: {INSTALL}");
    StoreError::new(ErrorKind::NotInstalled, message)
}

fn search() -> Result<Library, StoreError> {
    let mut first_error = None;
    let plain = std::iter::once(PathBuf::from("librocksdb.so"));
    for path in plain.chain(installed(&library_folders())) {
        match load(&path) {
            Ok(library) => return Ok(library),
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| not_installed("no library librocksdb.so was found")))
}

/// The folders where libraries are, those for this machine's architecture first.
fn library_folders() -> Vec<PathBuf> {
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    let mut folders = Vec::new();
    for root in ["/usr/lib", "/usr/local/lib", "/lib"] {
        folders.push(Path::new(root).join(&triple));
        folders.push(PathBuf::from(root));
    }
    folders.push(PathBuf::from("/usr/lib64"));
    folders
}

/// Files `librocksdb.so.VERSION` of supported versions, the newest first.
fn installed(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten() {
        let path = entry.path();
        let version =
            version_of(&path).filter(|version| version.first().is_some_and(|major| SUPPORTED.contains(major)));
        found.extend(version.map(|version| (version, path)));
    }
    found.arrange();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// The version numbers after `librocksdb.so.`.
fn version_of(path: &Path) -> Option<Vec<u32>> {
    let rest = path.file_name()?.to_str()?.strip_prefix("librocksdb.so.")?;
    rest.split('.').map(|number| number.parse().ok()).collect()
}

fn load(path: &Path) -> Result<Library, StoreError> {
    let name =
        CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| not_installed("its name has a zero byte"))?;
    // SAFETY: `name` is a C string. Loading runs the constructors of the library, which the user
    // has installed, or named, for this.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        // SAFETY: dlerror answers with a C string or null; it stays until the thread's next such
        // call.
        let why = unsafe { libc::dlerror().as_ref() }.map(|text| unsafe { CStr::from_ptr(text) });
        let why = why.map_or("no reason given".into(), CStr::to_string_lossy);
        return Err(not_installed(&format!("the library {} cannot be loaded ({why})", path.display())));
    }
    let symbols = Symbols::load(|symbol| find(handle, symbol)).map_err(|missing| {
        let shown = path.display();
        let range = format!("{} to {}", SUPPORTED.start(), SUPPORTED.end());
        not_installed(&format!("{shown} has no function {missing}; use version {range}"))
    })?;
    let path = file_of(symbols.open as *const c_void).unwrap_or_else(|| path.to_owned());
    let numbers = version_of(&path).filter(|numbers| !numbers.is_empty());
    let version = numbers.map(|numbers| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join("."));
    let hook = find(handle, "_ZN7rocksdb9SyncPoint11GetInstanceEv");
    Ok(Library {
        symbols,
        path,
        version: version.unwrap_or_else(|| "0 (unknown)".to_owned()),
        assertions: !hook.is_null(),
    })
}

/// Names of mapped files (proc_pid_maps(5)) that are compression libraries.
fn compression_libraries(maps: &str) -> Vec<String> {
    let known = ["libsnappy.", "liblz4.", "libzstd.", "libz.", "libbz2."];
    let files = maps.lines().filter_map(|line| line.split_whitespace().nth(5)?.rsplit('/').next());
    let mut found: Vec<String> =
        files.filter(|file| known.iter().any(|start| file.starts_with(start))).map(str::to_owned).collect();
    found.arrange();
    found.dedup();
    found
}

pub(crate) fn find(handle: *mut c_void, symbol: &str) -> *mut c_void {
    let Ok(symbol) = CString::new(symbol) else { return std::ptr::null_mut() };
    // SAFETY: `handle` is a loaded library, `symbol` a C string.
    unsafe { libc::dlsym(handle, symbol.as_ptr()) }
}

/// The file that holds this address, links followed.
fn file_of(address: *const c_void) -> Option<PathBuf> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: `info` is a place for the answer.
    let found = unsafe { libc::dladdr(address, &raw mut info) } != 0 && !info.dli_fname.is_null();
    // SAFETY: dladdr gave a C string, which lives as long as the library.
    let name = found.then(|| unsafe { CStr::from_ptr(info.dli_fname) })?;
    std::fs::canonicalize(name.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_one_message_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("librocksdb.so.8");
        std::fs::write(&text, "no library").unwrap();
        for path in [folder.path().join("librocksdb.so.9"), text] {
            let error = load(&path).unwrap_err();
            assert_eq!(error.kind, ErrorKind::NotInstalled);
            assert!(error.message.contains("librocksdb.so.") && error.message.ends_with(INSTALL), "{error}");
        }
    }

    #[test]
    fn libraries_that_compress_are_listed_once() {
        let maps = "7f00-7f01 r--p 0000 08:01 42 /usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4\n\
                    7f01-7f02 r-xp 1000 08:01 42 /usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4\n\
                    7f02-7f03 r-xp 1000 08:01 43 /usr/lib/libsnappy.so.1.1.9\n7f03-7f04 rw-p 0000 00:00 0 [heap]\n";
        assert_eq!(compression_libraries(maps), ["libsnappy.so.1.1.9", "libzstd.so.1.5.4"]);
    }

    /// The C library is a library, too, but has none of the functions.
    #[test]
    fn a_missing_function_is_named() {
        let Some(libc) = file_of(libc::getpid as *const c_void) else { return };
        let error = load(&libc).unwrap_err();
        assert!(error.message.contains(Symbols::NAMES[0]) && error.message.ends_with(INSTALL), "{error}");
    }

    #[test]
    fn the_newest_supported_version_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["librocksdb.so.7.8.3", "librocksdb.so.9.10", "librocksdb.so.6.29", "librocksdb.so.12.0", "other.so.8"]
        {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = installed(&[folder.path().to_owned()]);
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["librocksdb.so.9.10", "librocksdb.so.7.8.3"]);
    }
}
