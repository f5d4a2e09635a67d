//! The target `hosts`: what servers and clients receive from each other.

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "hosts",
    seeds: &[
        b"\x07\0\0\0\x01\"Alive\"",
        b"\x14\0\0\0\x01{\"Ping\":{\"token\":7}}",
        b"\x31\0\0\0\x01{\"Spool\":{\"worker\":1,\"content\":\"Logs\",\"bytes\":3}}\x03\0\0\0\x05abc",
        b"\x02\0\0\0\x04{}",
    ],
    words: &[
        "\"Prepare\"",
        "{\"Begin\":{\"unix_ns\":1}}",
        "\"workers\":[]",
        "null",
        "[[[[",
        "1e999",
        "\u{1}",
        "\u{0}\u{0}\u{0}\u{5}",
    ],
    run: iolab_hosts::fuzz_entry,
};
