//! libFuzzer binary of the target `log_entry`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("log_entry"), |input: &[u8]| targets::run("log_entry", input));
