//! libFuzzer binary of the target `partial_recording`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("partial_recording"), |input: &[u8]| targets::run("partial_recording", input));
