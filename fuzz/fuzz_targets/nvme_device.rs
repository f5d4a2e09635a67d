//! libFuzzer binary of the target `nvme_device`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iolab_fuzz::targets::run("nvme_device", input));
