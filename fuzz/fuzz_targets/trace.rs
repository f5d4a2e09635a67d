//! libFuzzer binary of the target `trace`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iolab_fuzz::targets::run("trace", input));
