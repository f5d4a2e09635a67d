//! libFuzzer binary of the target `log_entry`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iolab_fuzz::targets::run("log_entry", input));
