//! libFuzzer binary of the target `strace_text`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iolab_fuzz::targets::run("strace_text", input));
