//! libFuzzer binary of the target `nvme_host`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("nvme_host"), |input: &[u8]| targets::run("nvme_host", input));
