//! C libraries of this machine, loaded when they are needed and never unloaded.
//!
//! ```text
//! c_functions! { Table, "what it is", "libname.so.1": function: fn(c_int) -> c_int; … }
//!   ─▶ Table::get() ─▶ &Table { function, … }       or CLibraryError: which library, and why
//!      loaded on first use, once for the process
//! ```
//!
//! The types of the functions are those of the library's header: whoever writes a table vouches for
//! them. Deliberately not here: searching for files, and versions of interfaces; a file name with a
//! version (`.so.1`) names an interface that does not change.
#![allow(unsafe_code, reason = "island: dlopen, dlsym, dladdr, dlerror")]

#[cfg(feature = "fixtures")]
mod fixtures;

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::PathBuf;
use std::ptr::NonNull;

#[cfg(feature = "fixtures")]
pub use fixtures::load_substitute;

/// What [`c_functions!`] needs of the C library, so that its users need not depend on it.
#[doc(hidden)]
pub use std::ffi::c_void as function_address;

/// A library that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{library}: {why}")]
pub struct CLibraryError {
    /// Its file.
    pub library: &'static str,
    /// The loader's message, or the function that it does not have.
    pub why: String,
}

/// A loaded library.
#[derive(Debug, Clone, Copy)]
pub struct CLibrary {
    file: &'static str,
    handle: NonNull<c_void>,
}

// SAFETY: a handle of dlopen is a number to the loader, whose functions every thread may call.
unsafe impl Send for CLibrary {}
// SAFETY: as above.
unsafe impl Sync for CLibrary {}

impl CLibrary {
    /// Loads a library by the name of its file, which the loader finds (ld.so(8)).
    ///
    /// # Errors
    /// It is not installed, or cannot be loaded.
    pub fn load(file: &'static str) -> Result<CLibrary, CLibraryError> {
        let name = format!("{file}\0");
        // SAFETY: the name is a C string. Loading runs the constructors of a library that the
        // administrator of the machine has installed for this.
        let handle = unsafe { libc::dlopen(name.as_ptr().cast(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        match NonNull::new(handle) {
            Some(handle) => Ok(CLibrary { file, handle }),
            None => Err(CLibraryError { library: file, why: loader_text() }),
        }
    }

    /// The address of a function.
    ///
    /// # Errors
    /// The library has none of this name.
    pub fn function(&self, name: &str) -> Result<NonNull<c_void>, CLibraryError> {
        let symbol = format!("{name}\0");
        // SAFETY: a handle of dlopen, and a C string.
        let address = unsafe { libc::dlsym(self.handle.as_ptr(), symbol.as_ptr().cast()) };
        let missing = || CLibraryError { library: self.file, why: format!("it has no function {name}") };
        NonNull::new(address).ok_or_else(missing)
    }
}

/// The first of these libraries that is there: the same interface under several names.
///
/// # Errors
/// None is; the answer is that of the first.
pub fn load_any(files: &[&'static str]) -> Result<CLibrary, CLibraryError> {
    let first = CLibrary::load(files[0]);
    let others = || files[1..].iter().find_map(|file| CLibrary::load(file).ok());
    first.or_else(|error| others().ok_or(error))
}

/// A text for a library.
///
/// # Errors
/// It has a zero byte; a sentence says so.
pub fn c_text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("`{}` has a zero byte", text.escape_default()))
}

/// A copy of a text of a library; `None` for a null pointer.
///
/// # Safety
/// It is a null pointer, or a C string that stays during this call.
pub unsafe fn copied_text(text: *const c_char) -> Option<String> {
    text_of(text)
}

/// Where a function comes from, for people.
pub fn origin_of(function: usize) -> String {
    file_of(function).map_or_else(|| "an unknown file".to_owned(), |file| file.display().to_string())
}

/// The file that the function at an address comes from, links as they were given to the loader.
pub fn file_of(function: usize) -> Option<PathBuf> {
    // SAFETY: all zeroes is a valid value of this structure of pointers.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for, and the answer goes to our own structure.
    if unsafe { libc::dladdr(function as *const c_void, &mut found) } == 0 {
        return None;
    }
    let name = text_of(found.dli_fname)?;
    Some(PathBuf::from(name))
}

/// A constant C string of a library; `None` for a null pointer.
fn text_of(text: *const c_char) -> Option<String> {
    // SAFETY: the loader's strings are C strings, and stay until its thread's next call.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

fn loader_text() -> String {
    // SAFETY: dlerror answers with a C string or null; it stays until the thread's next such call.
    text_of(unsafe { libc::dlerror() }).unwrap_or_else(|| "no reason given".to_owned())
}

/// Declares a table of functions of a library, and how it is loaded.
///
/// The code that it makes is unsafe: it belongs into an island, whose author vouches that the
/// library's header declares the functions with these types.
#[macro_export]
macro_rules! c_functions {
    ($name:ident, $what:literal, $($file:literal),+: $($function:ident: fn($($argument:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        #[doc = $what]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name {
            $(pub(crate) $function: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $name {
            /// Loads the library and finds all of the functions.
            pub(crate) fn load() -> Result<$name, $crate::CLibraryError> {
                let library = $crate::load_any(&[$($file),+])?;
                Ok($name {
                    $($function: {
                        let address = library.function(stringify!($function))?;
                        // SAFETY: the library exports this symbol as the function of that name,
                        // whose type its header declares; whoever wrote the table vouches for it.
                        unsafe {
                            std::mem::transmute::<
                                *mut $crate::function_address,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(address.as_ptr())
                        }
                    },)*
                })
            }

            /// The functions, loaded on first use.
            pub(crate) fn get() -> Result<&'static $name, $crate::CLibraryError> {
                static TABLE: std::sync::OnceLock<Result<$name, $crate::CLibraryError>> = std::sync::OnceLock::new();
                TABLE.get_or_init($name::load).as_ref().map_err($crate::CLibraryError::clone)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_double, c_int};

    use super::*;

    c_functions! {
        Maths, "Functions of the C library's mathematics.", "libm.so.6":
        cbrt: fn(c_double) -> c_double;
        ilogb: fn(c_double) -> c_int;
    }

    c_functions! {
        Nothing, "A function that is not there.", "libm.so.6":
        iolab_has_no_such_function: fn(c_int);
    }

    #[test]
    fn functions_are_found_and_called() {
        let maths = Maths::get().unwrap();
        // SAFETY: math.h declares both with these types.
        let (root, exponent) = unsafe { ((maths.cbrt)(27.0), (maths.ilogb)(1024.0)) };
        assert_eq!((root.round() as i32, exponent), (3, 10));
        assert!(file_of(maths.cbrt as usize).unwrap().to_string_lossy().contains("libm"));
    }

    #[test]
    fn what_is_missing_is_told() {
        let said = Nothing::get().map(|table| table.iolab_has_no_such_function as usize).unwrap_err().to_string();
        assert_eq!(said, "libm.so.6: it has no function iolab_has_no_such_function");
        let error = CLibrary::load("libiolab-has-none.so.1").unwrap_err();
        assert!(error.library == "libiolab-has-none.so.1" && error.why.contains("No such file"), "{error}");
        assert_eq!(file_of(0), None);
        assert_eq!(origin_of(0), "an unknown file");
    }

    #[test]
    fn the_first_library_that_is_there_is_taken_and_texts_have_no_zero() {
        assert_eq!(load_any(&["libiolab-has-none.so.1", "libm.so.6"]).unwrap().file, "libm.so.6");
        let error = load_any(&["libiolab-has-none.so.1", "libiolab-has-none.so.2"]).unwrap_err();
        assert_eq!(error.library, "libiolab-has-none.so.1");
        assert_eq!(c_text("a").unwrap().as_bytes(), b"a");
        assert_eq!(c_text("a\0b").unwrap_err(), "`a\\u{0}b` has a zero byte");
    }
}
