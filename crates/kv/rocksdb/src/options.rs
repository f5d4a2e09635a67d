//! Options as text, and the objects of the library made of them.
//!
//! The text is RocksDB's own (`rocksdb_get_options_from_string`): any option of a database, of a
//! column family, and of the table format in `block_based_table_factory={...}`. Three options are
//! read here and not passed on: `statistics=1` counts everything exactly (it costs a few per cent),
//! `perf_level=N` sets the measuring level of every thread (off by default, as in `db_bench`; the
//! library's own default is level 2, which costs a fifth of the instructions of a put),
//! `filesystem=URI` says where files live.
#![allow(unsafe_code, reason = "island: calls of the library")]

use std::path::Path;

use iolab_kv::{ErrorKind, Existing, StoreError, number, options_of};

use crate::calls::{c_text, checked};
use crate::elsewhere::Elsewhere;
use crate::library::Library;
use crate::symbols::{Object, Symbols};

/// Options of the library, and the options that are read here.
#[derive(Debug)]
pub(crate) struct Options {
    symbols: &'static Symbols,
    pub(crate) object: Object,
    pub(crate) statistics: bool,
    /// The measuring level of operations (`rocksdb/perf_level.h`).
    pub(crate) perf_level: i32,
    /// Where files live, if not in folders of this machine, as a URI.
    pub(crate) filesystem: Option<String>,
    /// The opened environment. It is dropped after the options, which use it.
    elsewhere: Option<Elsewhere>,
}

// SAFETY: the object is only read once it is made, and the library allows that from any thread.
unsafe impl Send for Options {}
// SAFETY: as above.
unsafe impl Sync for Options {}

impl Options {
    /// Reads `text` over the library's defaults. `create` makes a store where there is none.
    ///
    /// A library with assertions ends the process where it cannot write its own log of messages, on
    /// a full disk: so only the header is logged, unless the text sets `info_log_level`.
    pub(crate) fn read(library: &'static Library, text: &str, create: bool) -> Result<Options, StoreError> {
        let symbols = &library.symbols;
        let (mut statistics, mut perf_level, mut filesystem, mut native) = (false, 1, None, String::new());
        for (name, value) in options_of(text)? {
            match name {
                "statistics" => statistics = matches!(value, "1" | "true"),
                "perf_level" => perf_level = number(name, value)?.clamp(1, library.most_perf_level()) as i32,
                "filesystem" => filesystem = Some(value.to_owned()),
                _ => native.push_str(&format!("{name}={value};")),
            }
        }
        if library.assertions && !text.contains("info_log_level") {
            native.push_str("info_log_level=HEADER_LEVEL;");
        }
        if create {
            native.push_str("create_if_missing=true;");
        }
        // SAFETY: makes an object that this value owns from here on.
        let object = unsafe { (symbols.options_create)() };
        let options = Options { symbols, object, statistics, perf_level, filesystem, elsewhere: None };
        // SAFETY: as above; this one is given back below.
        let base = unsafe { (symbols.options_create)() };
        let text = c_text(native.as_bytes());
        // SAFETY: two objects of options that live through the call, and a C string.
        let read = checked(symbols, |failure| unsafe {
            (symbols.get_options_from_string)(base, text.as_ptr(), object, failure);
        });
        // SAFETY: made above, not used any more.
        unsafe { (symbols.options_destroy)(base) };
        read.map_err(|why| {
            let message = format!(
                "RocksDB rejects an option: {why}; correct it in --store_options or the flag that sets it (all options: \
                `{native}`)"
            );
            StoreError::new(ErrorKind::Option, message)
        })?;
        if statistics {
            // SAFETY: the object is alive and not shared yet.
            unsafe { (symbols.options_enable_statistics)(object) };
        }
        Ok(options)
    }

    /// From now on the store's files live there.
    pub(crate) fn live_in(&mut self, elsewhere: Elsewhere, existing: Existing) {
        // SAFETY: the options are alive and not shared yet; the environment goes after them.
        unsafe {
            (self.symbols.options_set_env)(self.object, elsewhere.environment);
            (self.symbols.options_set_error_if_exists)(self.object, (existing == Existing::Forbidden).into());
        }
        self.elsewhere = Some(elsewhere);
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: this value owns the object.
        unsafe { (self.symbols.options_destroy)(self.object) };
    }
}

/// What the newest file `OPTIONS-N` of a store says: everything that is in effect.
pub(crate) fn in_effect(folder: &Path) -> String {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let number: u64 = name.strip_prefix("OPTIONS-")?.parse().ok()?;
        Some((number, name))
    });
    let newest = names.max().and_then(|(_, name)| std::fs::read_to_string(folder.join(name)).ok());
    newest.unwrap_or_default()
}

/// The value of an option in such a file.
pub(crate) fn value_in<'a>(options: &'a str, name: &str) -> Option<&'a str> {
    options.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_options_are_read_by_whole_names() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("OPTIONS-000007"), "  compression=old\n").unwrap();
        let text = "[Version]\n  rocksdb_version=7.8.3\n  bottommost_compression=x\n  compression=kSnappy\n";
        std::fs::write(folder.path().join("OPTIONS-000011"), text).unwrap();
        let read = in_effect(folder.path());
        assert_eq!(value_in(&read, "compression"), Some("kSnappy"));
        assert_eq!(value_in(&read, "rocksdb_version"), Some("7.8.3"));
        assert_eq!(value_in(&read, "colour"), None);
    }
}
