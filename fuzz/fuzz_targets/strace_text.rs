//! libFuzzer binary of the target `strace_text`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("strace_text"), |input: &[u8]| targets::run("strace_text", input));
