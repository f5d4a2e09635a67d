//! Compiles the C++ part if the feature `shim` is enabled.
//!
//! `ROCKSDB_INCLUDE` and `ROCKSDB_LIB` name the directories of headers and library of another
//! version than the installed one.

fn main() {
    println!("cargo::rerun-if-changed=cpp");
    #[cfg(feature = "shim")]
    shim();
}

#[cfg(feature = "shim")]
fn shim() {
    println!("cargo::rerun-if-env-changed=ROCKSDB_INCLUDE");
    println!("cargo::rerun-if-env-changed=ROCKSDB_LIB");
    let mut build = cc::Build::new();
    // Neither exceptions nor run-time type information cross the boundary to RocksDB, whose own
    // build may lack the latter.
    build.cpp(true).std("c++17").flag("-fno-rtti").flag("-Wno-unused-parameter").flag("-fvisibility=hidden");
    if let Some(folder) = std::env::var_os("ROCKSDB_INCLUDE") {
        build.include(folder);
    }
    let parts = ["cpp/files.cc", "cpp/file_system.cc", "cpp/entry.cc"];
    if let Err(error) = build.files(parts).try_compile("iolab_logfs_shim") {
        println!("cargo::error=the C++ part does not compile (Debian: apt install librocksdb-dev g++): {error}");
        return;
    }
    if let Ok(folder) = std::env::var("ROCKSDB_LIB") {
        println!("cargo::rustc-link-search=native={folder}");
    }
    println!("cargo::rustc-link-lib=dylib=rocksdb");
}
