//! libFuzzer binary of the target `option_value`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("option_value"), |input: &[u8]| targets::run("option_value", input));
