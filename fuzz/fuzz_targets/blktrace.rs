//! libFuzzer binary of the target `blktrace`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("blktrace"), |input: &[u8]| targets::run("blktrace", input));
