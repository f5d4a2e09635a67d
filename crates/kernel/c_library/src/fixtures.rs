//! Libraries that tests make, in the place of those of the machine.

use std::path::Path;
use std::process::Command;

use crate::CLibrary;

/// Compiles a library and loads it under each of these names, once for the process. The loader then
/// finds it by its name when a table asks for the real one.
///
/// # Panics
/// Where there is no C compiler, which Rust needs to link, or the source is wrong.
pub fn load_substitute(source: &Path, names: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    for name in names {
        let file = folder.path().join(name);
        let soname = format!("-Wl,-soname,{name}");
        let arguments = ["-shared", "-fPIC", "-O1", "-pthread", &soname, "-o"];
        let compiler = Command::new("cc").args(arguments).args([file.as_path(), source]).status();
        assert!(compiler.is_ok_and(|status| status.success()), "the C compiler, which Rust links with");
        let path: &'static str = Box::leak(file.display().to_string().into_boxed_str());
        CLibrary::load(path).unwrap_or_else(|error| panic!("{error}"));
    }
}
