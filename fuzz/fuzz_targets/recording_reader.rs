//! libFuzzer binary of the target `recording_reader`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("recording_reader"), |input: &[u8]| targets::run("recording_reader", input));
