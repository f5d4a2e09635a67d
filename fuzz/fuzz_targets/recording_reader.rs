//! libFuzzer binary of the target `recording_reader`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iolab_fuzz::targets::run("recording_reader", input));
