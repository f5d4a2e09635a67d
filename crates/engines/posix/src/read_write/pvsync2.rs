//! `preadv2(2)` and `pwritev2(2)`, and the options that become their flags.
//!
//! If the file system or device does not support a flag, the kernel answers `EOPNOTSUPP`, per
//! operation; no flag is dropped silently. `RWF_NOWAIT` may end an operation with `EAGAIN`: that is
//! its result, which is not retried here.
//!
//! Unsafe: the kernel gets addresses of slot buffers.

use iolab_engine::file_calls::retry;
use iolab_engine::{LaneRequest, OpenError};
use iolab_options::{Category, DefaultValue, OptionEntry, Settings, ValueKind};
use iolab_random::SplitMix64;

use crate::read_write::{Stretch, Transfer};

/// The options of `pvsync2`.
pub const PVSYNC2_OPTIONS: &[OptionEntry] = &[
    OptionEntry {
        name: "hipri",
        category: Category::Engine,
        kind: ValueKind::Switch,
        summary: "Poll for completions (RWF_HIPRI)",
        details: "The kernel spins on the device's queue instead of waiting for an interrupt. Needs direct=1 and a \
                  device with poll queues; elsewhere the flag changes nothing.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "maybe"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "hipri_percentage",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 0, max: 100 },
        default: DefaultValue::Text("100"),
        summary: "Share of operations that hipri applies to, percent",
        details: "Each operation is chosen at random, by the job's seed.",
        accepts: &[("0", "0"), ("37", "37"), ("100", "100")],
        rejects: &["101", "-1", "many"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "uncached",
        category: Category::Engine,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Drop pages from the cache after buffered operations (RWF_DONTCACHE)",
        details: "Buffered reads and writes that do not stay in the page cache: needs Linux 6.14 and a file system \
            with support (ext4, xfs, btrfs); otherwise each operation fails with EOPNOTSUPP.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes please"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "nowait",
        category: Category::Engine,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Fail with EAGAIN rather than block (RWF_NOWAIT)",
        details: "An operation that would block ends with EAGAIN or after part of its bytes.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "never"],
        ..OptionEntry::BLANK
    },
    OptionEntry::ATOMIC,
];

/// Vectored calls with flags.
#[derive(Debug)]
pub struct Preadv2 {
    read_flags: i32,
    write_flags: i32,
    hipri: Lottery,
}

impl Preadv2 {
    #[inline]
    fn hipri_flag(&mut self) -> i32 {
        if self.hipri.draw() { libc::RWF_HIPRI } else { 0 }
    }
}

/// The flags from `options` for every read and for every write.
fn constant_flags(options: &Settings) -> (i32, i32) {
    let asked = |name, flag| if options.flag(name).unwrap_or(false) { flag } else { 0 };
    let both = asked("uncached", libc::RWF_DONTCACHE) | asked("nowait", libc::RWF_NOWAIT);
    // The kernel supports untorn writes only (statx(2), STATX_WRITE_ATOMIC).
    (both, both | asked("atomic", libc::RWF_ATOMIC))
}

impl Transfer for Preadv2 {
    fn open(request: &LaneRequest<'_>) -> Result<Preadv2, OpenError> {
        let (read_flags, write_flags) = constant_flags(request.options);
        let percent = match request.options.flag("hipri") {
            Some(true) => request.options.integer("hipri_percentage").unwrap_or(100),
            _ => 0,
        };
        Ok(Preadv2 { read_flags, write_flags, hipri: Lottery::new(percent, request.seed) })
    }

    #[inline]
    fn read(&mut self, at: &Stretch) -> i32 {
        let vector = at.as_iovec();
        let flags = self.read_flags | self.hipri_flag();
        // SAFETY: one element, alive during the call, that lies within a slot of the lane's.
        retry(|| unsafe { libc::preadv2(at.fd, &vector, 1, at.offset as libc::off_t, flags) })
    }

    #[inline]
    fn write(&mut self, at: &Stretch) -> i32 {
        let vector = at.as_iovec();
        let flags = self.write_flags | self.hipri_flag();
        // SAFETY: as for read; the kernel only reads the bytes.
        retry(|| unsafe { libc::pwritev2(at.fd, &vector, 1, at.offset as libc::off_t, flags) })
    }
}

/// Answers yes in a given share of draws. Draws no number if the answer is always the same.
#[derive(Debug)]
struct Lottery {
    percent: u64,
    numbers: SplitMix64,
}

impl Lottery {
    fn new(percent: i64, seed: u64) -> Lottery {
        Lottery { percent: percent.clamp(0, 100) as u64, numbers: SplitMix64::new(seed) }
    }

    #[inline]
    fn draw(&mut self) -> bool {
        match self.percent {
            0 => false,
            100 => true,
            percent => self.numbers.next() % 100 < percent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_options::{Setting, Value};

    fn options(on: &[&str]) -> Settings {
        let mut settings = Settings::default();
        for name in on {
            settings.set(name, Setting { value: Value::Flag(true), text: "1".into(), source: 0, span: (0, 0) });
        }
        settings
    }

    #[test]
    fn options_become_flags() {
        let (dontcache, nowait, atomic) = (libc::RWF_DONTCACHE, libc::RWF_NOWAIT, libc::RWF_ATOMIC);
        for (on, expected) in [
            (&[][..], (0, 0)),
            (&["uncached"], (dontcache, dontcache)),
            (&["nowait"], (nowait, nowait)),
            (&["atomic"], (0, atomic)),
            (&["nowait", "uncached", "atomic"], (dontcache | nowait, dontcache | nowait | atomic)),
        ] {
            assert_eq!(constant_flags(&options(on)), expected, "{on:?}");
        }
    }

    #[test]
    fn the_lottery_keeps_its_share_and_repeats() {
        for (percent, low, high) in [(0, 0, 0), (100, 10_000, 10_000), (30, 2_800, 3_200)] {
            let wins = |seed| {
                let mut lottery = Lottery::new(percent, seed);
                (0..10_000).filter(|_| lottery.draw()).count()
            };
            let count = wins(42);
            assert!((low..=high).contains(&count), "{percent} %: {count} of 10000");
            assert_eq!(count, wins(42), "the same seed draws the same");
        }
    }
}
