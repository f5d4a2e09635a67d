//! The C functions of RocksDB that are used, as one table: what `rocksdb/c.h` declares, of the
//! versions 7 to 11. All of its objects are opaque.
#![allow(unsafe_code, reason = "island: types of foreign functions, and pointers made into them")]

use std::ffi::{c_char, c_int, c_uchar, c_void};

/// An object of the library.
pub(crate) type Object = *mut c_void;
/// Where the library puts the text of an error, allocated by it.
pub(crate) type ErrorPlace = *mut *mut c_char;

macro_rules! symbols {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions.
        #[allow(non_snake_case, reason = "each is the C function rocksdb_NAME")]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct Symbols {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Symbols {
            /// All of them, or the C name of the first that is not there.
            pub(crate) fn load(find: impl Fn(&str) -> *mut c_void) -> Result<Symbols, &'static str> {
                Ok(Symbols {
                    $($name: {
                        let symbol = concat!("rocksdb_", stringify!($name));
                        let address = find(symbol);
                        if address.is_null() {
                            return Err(symbol);
                        }
                        // SAFETY: the library exports this symbol as the function of that name,
                        // whose type `rocksdb/c.h` has declared so since version 7.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(address)
                        }
                    },)*
                })
            }

            /// The C names of all of them.
            #[cfg(test)]
            pub(crate) const NAMES: &[&str] = &[$(concat!("rocksdb_", stringify!($name))),*];
        }
    };
}

#[rustfmt::skip]
symbols! {
    open: fn(Object, *const c_char, ErrorPlace) -> Object;
    close: fn(Object);
    destroy_db: fn(Object, *const c_char, ErrorPlace);
    free: fn(*mut c_void);

    options_create: fn() -> Object;
    options_destroy: fn(Object);
    options_set_env: fn(Object, Object);
    options_set_error_if_exists: fn(Object, c_uchar);
    options_enable_statistics: fn(Object);
    options_statistics_get_string: fn(Object) -> *mut c_char;
    get_options_from_string: fn(Object, *const c_char, Object, ErrorPlace);

    writeoptions_create: fn() -> Object;
    writeoptions_destroy: fn(Object);
    writeoptions_set_sync: fn(Object, c_uchar);
    writeoptions_disable_WAL: fn(Object, c_int);
    readoptions_create: fn() -> Object;
    readoptions_destroy: fn(Object);
    flushoptions_create: fn() -> Object;
    flushoptions_destroy: fn(Object);

    get_pinned: fn(Object, Object, *const c_char, usize, ErrorPlace) -> Object;
    pinnableslice_value: fn(Object, *mut usize) -> *const c_char;
    pinnableslice_destroy: fn(Object);
    write: fn(Object, Object, Object, ErrorPlace);
    writebatch_create: fn() -> Object;
    writebatch_clear: fn(Object);
    writebatch_destroy: fn(Object);
    writebatch_put: fn(Object, *const c_char, usize, *const c_char, usize);
    writebatch_delete: fn(Object, *const c_char, usize);

    create_iterator: fn(Object, Object) -> Object;
    iter_destroy: fn(Object);
    iter_valid: fn(Object) -> c_uchar;
    iter_seek_to_first: fn(Object);
    iter_seek_to_last: fn(Object);
    iter_seek: fn(Object, *const c_char, usize);
    iter_seek_for_prev: fn(Object, *const c_char, usize);
    iter_next: fn(Object);
    iter_prev: fn(Object);
    iter_key: fn(Object, *mut usize) -> *const c_char;
    iter_value: fn(Object, *mut usize) -> *const c_char;
    iter_get_error: fn(Object, ErrorPlace);

    flush: fn(Object, Object, ErrorPlace);
    compact_range: fn(Object, *const c_char, usize, *const c_char, usize);
    property_value: fn(Object, *const c_char) -> *mut c_char;
    property_int: fn(Object, *const c_char, *mut u64) -> c_int;

    set_perf_level: fn(c_int);
    perfcontext_create: fn() -> Object;
    perfcontext_reset: fn(Object);
    perfcontext_report: fn(Object, c_uchar) -> *mut c_char;
    perfcontext_destroy: fn(Object);
}
