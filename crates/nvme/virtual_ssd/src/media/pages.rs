//! What the memory of a drive is made of: small pages, or transparent huge pages.
//!
//! ```text
//! small   a page is taken with its first write: a sparse drive costs what was written, each place a fault and a look-up
//! huge    2 MiB are taken with the first write among them: few faults and look-ups, up to 512 times the memory
//! ```
//!
//! Guarantees: the automatic choice takes huge pages only where all memory is taken at once, and
//! then only as much as half of what is available. Otherwise each first write would wait until a
//! whole huge page is found and zeroed, which takes milliseconds in a guest whose host has to find
//! it too. Reads of what was never written take none. Deliberately not here: how memory is had,
//! which is `iolab_memory`.

use std::fmt;
use std::io;
use std::str::FromStr;

use iolab_memory::{PageSize, SharedBytes};

/// Which pages memory is made of, and when they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryPages {
    /// Huge pages or not.
    pub huge: HugePages,
    /// Whether all are taken at once.
    pub populate: bool,
}

/// Whether memory is made of transparent huge pages (Linux, `admin-guide/mm/transhuge`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HugePages {
    /// Where all memory is taken at once, and the memory that is available is twice what all blocks
    /// take.
    #[default]
    Auto,
    /// Wherever the kernel gives them; an error where it knows none.
    On,
    /// Never.
    Off,
}

impl MemoryPages {
    /// Memory for `bytes` of blocks.
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

/// Memory that can be had without swapping (proc_meminfo(5)); none where the kernel does not say.
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
