//! libFuzzer binary of the target `blktrace`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iolab_fuzz::targets::run("blktrace", input));
