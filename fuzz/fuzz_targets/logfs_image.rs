//! libFuzzer binary of the target `logfs_image`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("logfs_image"), |input: &[u8]| targets::run("logfs_image", input));
