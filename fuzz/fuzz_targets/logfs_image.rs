//! libFuzzer binary of the target `logfs_image`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iolab_fuzz::targets::run("logfs_image", input));
