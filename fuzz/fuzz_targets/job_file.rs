//! libFuzzer binary of the target `job_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iolab_fuzz::targets::run("job_file", input));
