//! The pages of a drive's memory: small pages, or transparent huge pages.
//!
//! ```text
//! small   a page is taken with its first write: a sparse drive costs what was written, each place a fault and a look-up
//! huge    2 MiB are taken with the first write among them: few faults and look-ups, up to 512 times the memory
//! ```
//!
//! Guarantees: the automatic choice uses huge pages only if all memory is allocated at once, and
//! then only up to half of the available memory. Otherwise each first write would wait until a
//! whole huge page is found and zeroed. This takes milliseconds in a guest whose host has to find
//! one as well. Reads of memory that was never written allocate none. `iolab_memory` allocates the
//! memory.

use std::fmt;
use std::io;
use std::str::FromStr;

use iolab_memory::{PageSize, SharedBytes};

/// The pages that memory uses, and when they are allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryPages {
    /// Whether to use huge pages.
    pub huge: HugePages,
    /// Whether all pages are allocated at once.
    pub populate: bool,
}

/// Whether memory uses transparent huge pages (Linux, `admin-guide/mm/transhuge`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HugePages {
    /// If all memory is allocated at once, and at least twice the size of all blocks is available.
    #[default]
    Auto,
    /// Wherever the kernel provides them; an error if it does not support them.
    On,
    /// Never.
    Off,
}

impl MemoryPages {
    /// Allocates memory for `bytes` of blocks.
    pub(crate) fn take(self, bytes: usize) -> io::Result<SharedBytes> {
        let size = match self.huge {
            HugePages::On => PageSize::Huge,
            HugePages::Off => PageSize::Small,
            HugePages::Auto if self.populate && available_bytes() / 2 >= bytes as u64 => PageSize::HugeIfPossible,
            HugePages::Auto => PageSize::Default,
        };
        let memory = SharedBytes::anonymous_of(bytes, size)?;
        if self.populate {
            memory.populate()?;
        }
        Ok(memory)
    }
}

/// Memory available without swapping (proc_meminfo(5)), bytes; 0 if the kernel does not report it.
fn available_bytes() -> u64 {
    std::fs::read_to_string("/proc/meminfo").map_or(0, |text| available_of(&text))
}

fn available_of(meminfo: &str) -> u64 {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = value.and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(0, |kib| kib.saturating_mul(1024))
}

impl fmt::Display for HugePages {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            HugePages::Auto => "auto",
            HugePages::On => "on",
            HugePages::Off => "off",
        })
    }
}

impl FromStr for HugePages {
    type Err = String;

    fn from_str(text: &str) -> Result<HugePages, String> {
        match text {
            "auto" => Ok(HugePages::Auto),
            "on" => Ok(HugePages::On),
            "off" => Ok(HugePages::Off),
            _ => Err(format!("`{text}` is not auto, on or off")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_what_is_available() {
        assert_eq!(available_of("MemTotal: 24 kB\nMemAvailable:   16 kB\nSwapTotal: 0 kB\n"), 16 << 10);
        assert_eq!(available_of("MemTotal: 24 kB\n"), 0);
        assert_eq!(available_of("MemAvailable: many kB\n"), 0);
    }

    #[test]
    fn memory_is_zeroed_however_it_is_taken() {
        for huge in [HugePages::Auto, HugePages::Off] {
            for populate in [false, true] {
                let memory = MemoryPages { huge, populate }.take(3 << 20).unwrap();
                let mut all = vec![1; memory.len()];
                memory.read(0, &mut all);
                assert!(all.iter().all(|byte| *byte == 0), "{huge} {populate}");
                assert_eq!(huge.to_string().parse(), Ok(huge));
            }
        }
    }
}
