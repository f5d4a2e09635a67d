//! libFuzzer binary of the target `canary`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("canary"), |input: &[u8]| targets::run("canary", input));
