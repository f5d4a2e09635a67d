//! libFuzzer binary of the target `nvme_tcp`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("nvme_tcp"), |input: &[u8]| targets::run("nvme_tcp", input));
