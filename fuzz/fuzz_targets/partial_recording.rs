//! libFuzzer binary of the target `partial_recording`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iolab_fuzz::targets::run("partial_recording", input));
