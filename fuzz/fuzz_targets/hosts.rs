//! libFuzzer binary of the target `hosts`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("hosts"), |input: &[u8]| targets::run("hosts", input));
