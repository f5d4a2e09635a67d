//! libFuzzer binary of the target `vfio_user`.
#![no_main]

use iolab_fuzz::targets;

libfuzzer_sys::fuzz_target!(init: targets::write_start("vfio_user"), |input: &[u8]| targets::run("vfio_user", input));
