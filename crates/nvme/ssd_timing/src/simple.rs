//! Parallel units, each with a delay and a time: models a device of uniform memory.
//!
//! ```text
//! unit   = (offset >> io_unit_shift) mod io_units
//! latest = max(now, busy[unit]) + delay
//! for each piece of 2^io_unit_shift bytes:
//!     latest += time;  busy[unit] = latest  (+ trailing, for as many pieces as there are units);  next unit
//! target = latest
//! ```
//!
//! If a request starts on an idle unit and continues on a busy one, the busy unit's time is set
//! back. This is a property of the formula.
//!
//! Source: NVMeVirt's simple model (Kim et al., FAST '23). A flush completes when all units are
//! idle. The model has no buffers, and does not distinguish a fresh drive from a used one.

use crate::parameters::error::impossible;
use crate::parameters::{ParameterError, Parameters};
use crate::request::{CommandKind, TimedCommand};
use crate::statistics::Statistics;

#[derive(Debug, Clone, Copy)]
struct Times {
    delay_ns: u64,
    time_ns: u64,
    trailing_ns: u64,
}

/// The model.
#[derive(Debug, Clone)]
pub struct Simple {
    visible_bytes: u64,
    busy_ns: Vec<u64>,
    shift: u32,
    read: Times,
    write: Times,
    counts: Statistics,
}

impl Simple {
    /// A device of this size.
    ///
    /// # Errors
    /// No units, too many units, or pieces of an invalid size.
    pub fn new(parameters: &Parameters, visible_bytes: u64) -> Result<Self, ParameterError> {
        let p = parameters;
        if !(1..=65536).contains(&p.io_units) {
            return Err(impossible("io_units", p.io_units, "it must be between 1 and 65536"));
        }
        if !(9..=30).contains(&p.io_unit_shift) {
            return Err(impossible(
                "io_unit_shift",
                p.io_unit_shift,
                "it must be between 9 and 30 (pieces of 512 \
                bytes to 1 GiB)",
            ));
        }
        Ok(Self {
            visible_bytes,
            busy_ns: vec![0; p.io_units as usize],
            shift: p.io_unit_shift as u32,
            read: Times { delay_ns: p.read_delay_ns, time_ns: p.read_time_ns, trailing_ns: p.read_trailing_ns },
            write: Times { delay_ns: p.write_delay_ns, time_ns: p.write_time_ns, trailing_ns: p.write_trailing_ns },
            counts: Statistics::default(),
        })
    }

    /// The visible capacity.
    pub fn visible_bytes(&self) -> u64 {
        self.visible_bytes
    }

    /// When a command submitted now completes.
    pub fn schedule(&mut self, now_ns: u64, request: &TimedCommand) -> u64 {
        match request.kind {
            CommandKind::Read => {
                self.counts.host_read_bytes += request.length_bytes;
                self.transfer(now_ns, request, self.read)
            }
            CommandKind::Write => {
                self.counts.host_written_bytes += request.length_bytes;
                self.transfer(now_ns, request, self.write)
            }
            CommandKind::Flush => self.busy_ns.iter().copied().fold(now_ns, u64::max),
            CommandKind::Trim | CommandKind::WriteZeroes | CommandKind::ZoneReset => now_ns,
        }
    }

    /// Makes all units idle, resets the counters, and lets time restart.
    pub fn settle(&mut self) {
        self.busy_ns.fill(0);
        self.counts = Statistics::default();
    }

    /// The counters of host commands.
    pub fn statistics(&self) -> Statistics {
        self.counts
    }

    fn transfer(&mut self, now_ns: u64, request: &TimedCommand, times: Times) -> u64 {
        let units = self.busy_ns.len() as u64;
        let mut unit = ((request.offset_bytes >> self.shift) % units) as usize;
        let pieces = request.length_bytes.div_ceil(1 << self.shift).max(1);
        let mut latest_ns = now_ns.max(self.busy_ns[unit]) + times.delay_ns;
        for piece in 0..pieces {
            latest_ns += times.time_ns;
            self.busy_ns[unit] = latest_ns + if piece < units { times.trailing_ns } else { 0 };
            unit = if unit + 1 == self.busy_ns.len() { 0 } else { unit + 1 };
        }
        latest_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;

    fn simple(delay: u64, time: u64, trailing: u64, units: u64) -> Simple {
        let mut parameters = presets::OPTANE.parameters();
        parameters.read_delay_ns = delay;
        parameters.read_time_ns = time;
        parameters.read_trailing_ns = trailing;
        parameters.io_units = units;
        Simple::new(&parameters, 1 << 30).unwrap()
    }

    #[test]
    fn targets_follow_the_formula() {
        // (parameters, [(now, offset, length, target)])
        type Case = ((u64, u64, u64, u64), &'static [(u64, u64, u64, u64)]);
        let cases: [Case; 4] = [
            ((100, 10, 0, 4), &[(0, 0, 4096, 110), (0, 0, 4096, 220), (0, 4096, 4096, 110), (500, 0, 512, 610)]),
            ((100, 10, 5, 4), &[(0, 0, 4096, 110), (0, 0, 4096, 225), (0, 12288, 8192, 120), (0, 0, 1, 235)]),
            ((0, 10, 7, 2), &[(0, 0, 16384, 40), (0, 0, 4096, 40), (0, 4096, 4096, 50)]),
            ((1, 1, 0, 8), &[(7, 8 * 4096, 131_072, 40)]),
        ];
        for ((delay, time, trailing, units), steps) in cases {
            let mut model = simple(delay, time, trailing, units);
            for (now, offset, length, target) in steps {
                assert_eq!(model.schedule(*now, &TimedCommand::read(*offset, *length)), *target, "{steps:?}");
            }
        }
    }

    #[test]
    fn a_flush_waits_for_the_last_unit() {
        let mut model = simple(100, 10, 5, 4);
        assert_eq!(model.schedule(3, &TimedCommand::flush()), 3);
        model.schedule(3, &TimedCommand::read(4096, 4096));
        assert_eq!(model.schedule(4, &TimedCommand::flush()), 118);
    }

    #[test]
    fn impossible_units_are_refused() {
        for (name, text) in [("io_units", "0"), ("io_unit_shift", "8"), ("io_unit_shift", "63")] {
            let mut parameters = presets::OPTANE.parameters();
            parameters.set(name, text).unwrap();
            let message = Simple::new(&parameters, 1 << 30).unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
        }
    }
}
