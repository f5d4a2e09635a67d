//! libFuzzer binary of the target `iolog`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("iolog"), |input: &[u8]| targets::run("iolog", input));
