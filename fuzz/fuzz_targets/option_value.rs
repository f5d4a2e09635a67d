//! libFuzzer binary of the target `option_value`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iolab_fuzz::targets::run("option_value", input));
