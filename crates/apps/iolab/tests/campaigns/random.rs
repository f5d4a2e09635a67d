//! Random numbers and hostile values.

use iolab_random::SplitMix64;

/// splitmix64: every seed is good, and gives the same numbers everywhere.
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// A number below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Words that parsers of numbers, sizes, times, lists and names do not expect.
pub(crate) const HOSTILE: &[&str] = &[
    "",
    "0",
    "-1",
    "1",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "0x",
    "0xffffffffffffffff",
    "%",
    "100%",
    "101%",
    "k",
    "1t",
    "16e",
    "999999999p",
    "1:2:3:4:5",
    ",,,",
    "4k,",
    "4k-",
    "8k-4k",
    "4k/101:8k",
    "((((((((1",
    "1/0",
    "2^64",
    "1..10 x2",
    "${HOME}",
    "${",
    "$jobname.$jobnum.$filenum",
    "/dev/zero",
    "../../x",
    "/",
    "a\u{1b}[2J",
    "a\u{202e}b",
    "é",
    "\"x",
    "'",
    "zipf:",
    "zipf:0",
    "zipf:1e9",
    "pareto:9",
    "zoned:101/1",
    "normal:-1",
    "randrw:99999999999",
    "poisson",
    "0-4294967295",
    "none",
    "null",
    "io_uring",
    "nvme",
    "logfs",
    "psync",
    "read",
    "randwrite",
    "1us",
    "1h",
    "0s",
    "300d",
    "1000000",
];

/// Changes `bytes` in a few random places.
pub(crate) fn scrambled(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(40)).min(bytes.len());
        match random.below(5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            3 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => drop(bytes.splice(at..at, random.pick(HOSTILE).bytes())),
        }
    }
    bytes
}
