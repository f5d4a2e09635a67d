//! libFuzzer binary of the target `nvme_device`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("nvme_device"), |input: &[u8]| targets::run("nvme_device", input));
