//! libFuzzer binary of the target `job_file`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("job_file"), |input: &[u8]| targets::run("job_file", input));
