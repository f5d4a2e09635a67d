//! libFuzzer binary of the target `trace`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("trace"), |input: &[u8]| targets::run("trace", input));
