//! The only reader of time: the TSC, the kernel's clocks, or a simulated clock, all in nanoseconds
//! on one time line.
//!
//! Every source counts nanoseconds on the time line of `CLOCK_MONOTONIC`, so stamps of threads, and
//! of forked processes that copied the same [`Clock`], can be compared. This crate does not decide
//! what a stamp means.
#![allow(unsafe_code, reason = "island: rdtsc, clock_gettime, clock_nanosleep")]

mod kernel;
mod tsc;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kernel::{gettimeofday_ns, kernel_clock_ns, kernel_sleep_ns};
use tsc::TscScale;
pub use tsc::{TscUnfit, begin_calibration};

/// A source of stamps in nanoseconds. It is cheap to clone; reading it never allocates.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    Tsc(TscScale),
    Monotonic,
    /// Subtracted from the time of day to give monotonic time.
    Gettimeofday {
        offset_ns: u64,
    },
    Simulated(Arc<AtomicU64>),
}

impl Clock {
    /// The TSC if it is invariant and agrees with the kernel; otherwise `clock_gettime`, with the
    /// reason.
    pub fn best() -> (Clock, Option<TscUnfit>) {
        match Clock::tsc() {
            Ok(clock) => (clock, None),
            Err(reason) => (Clock::monotonic(), Some(reason)),
        }
    }

    /// The TSC, calibrated against `CLOCK_MONOTONIC`. This takes a few milliseconds, or a tenth of
    /// a second if reading a clock is slow.
    pub fn tsc() -> Result<Clock, TscUnfit> {
        TscScale::calibrate().map(|scale| Clock(Source::Tsc(scale)))
    }

    /// `clock_gettime(CLOCK_MONOTONIC)`.
    pub fn monotonic() -> Clock {
        Clock(Source::Monotonic)
    }

    /// `gettimeofday(2)`, minus its current distance from `CLOCK_MONOTONIC`. It counts microseconds
    /// and is not monotonic; use it only for comparison with other tools.
    pub fn gettimeofday() -> Clock {
        let offset_ns = gettimeofday_ns().saturating_sub(kernel_clock_ns(libc::CLOCK_MONOTONIC));
        Clock(Source::Gettimeofday { offset_ns })
    }

    /// A clock that moves only when told to ([`Clock::advance`], [`Clock::sleep_until`]).
    pub fn simulated(start_ns: u64) -> Clock {
        Clock(Source::Simulated(Arc::new(AtomicU64::new(start_ns))))
    }

    /// The current time, ns.
    #[inline(always)]
    pub fn now_ns(&self) -> u64 {
        // The cheapest source costs one comparison. For the others, the call costs little compared
        // with the reading.
        if let Source::Tsc(scale) = &self.0 { scale.now_ns() } else { self.slow_now_ns() }
    }

    #[inline(never)]
    fn slow_now_ns(&self) -> u64 {
        match &self.0 {
            Source::Tsc(scale) => scale.now_ns(),
            Source::Monotonic => kernel_clock_ns(libc::CLOCK_MONOTONIC),
            Source::Gettimeofday { offset_ns } => gettimeofday_ns().saturating_sub(*offset_ns),
            Source::Simulated(now) => now.load(Ordering::Relaxed),
        }
    }

    /// `tsc`, `clock_gettime`, `gettimeofday` or `simulated`.
    pub fn name(&self) -> &'static str {
        match &self.0 {
            Source::Tsc(_) => "tsc",
            Source::Monotonic => "clock_gettime",
            Source::Gettimeofday { .. } => "gettimeofday",
            Source::Simulated(_) => "simulated",
        }
    }

    /// Whether time moves only when told to, so that durations have no meaning.
    pub fn is_simulated(&self) -> bool {
        matches!(self.0, Source::Simulated(_))
    }

    /// Sleeps until `deadline_ns`; a signal may end the sleep early. It spins for the last
    /// `spin_ns`, to wake up more precisely than the kernel's timers allow.
    pub fn sleep_until(&self, deadline_ns: u64, spin_ns: u64) {
        if let Source::Simulated(now) = &self.0 {
            now.fetch_max(deadline_ns, Ordering::Relaxed);
            return;
        }
        let now = self.now_ns();
        let Some(left) = deadline_ns.checked_sub(now) else { return };
        if left > spin_ns {
            kernel_sleep_ns(left - spin_ns);
        }
        if spin_ns > 0 {
            while self.now_ns() < deadline_ns {
                std::hint::spin_loop();
            }
        }
    }

    /// Moves a simulated clock forward; other clocks move by themselves.
    pub fn advance(&self, by_ns: u64) {
        if let Source::Simulated(now) = &self.0 {
            now.fetch_add(by_ns, Ordering::Relaxed);
        }
    }

    /// Nanoseconds since the Unix epoch, from the kernel's real-time clock. A simulated clock
    /// returns its own time.
    pub fn unix_ns(&self) -> u64 {
        match &self.0 {
            Source::Simulated(now) => now.load(Ordering::Relaxed),
            _ => kernel_clock_ns(libc::CLOCK_REALTIME),
        }
    }
}

/// Reads one of the kernel's clocks, ns. `clock` is the number that clock_gettime(2) takes.
///
/// # Errors
/// There is no such clock.
pub fn kernel_time_ns(clock: u32) -> std::io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let clock = libc::clockid_t::try_from(clock).map_err(std::io::Error::other)?;
    // SAFETY: the call writes one timespec, which this function owns.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Processor time that the calling thread has used so far, ns (`CLOCK_THREAD_CPUTIME_ID`,
/// clock_gettime(2)). This is not a time line: only differences within one thread have a meaning.
pub fn thread_processor_ns() -> u64 {
    kernel_clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_never_run_backwards() {
        for clock in [Clock::best().0, Clock::monotonic(), Clock::simulated(5)] {
            let mut last = clock.now_ns();
            for _ in 0..10_000 {
                let now = clock.now_ns();
                assert!(now >= last, "{}", clock.name());
                last = now;
            }
        }
    }

    #[test]
    fn every_clock_is_on_the_kernels_time_line() {
        for clock in [Clock::best().0, Clock::gettimeofday()] {
            let before = Clock::monotonic().now_ns();
            let stamp = clock.now_ns();
            let after = Clock::monotonic().now_ns();
            // The calibration error over a few milliseconds is far below a millisecond.
            let name = clock.name();
            assert!(stamp + 1_000_000 > before && stamp < after + 1_000_000, "{name}: {before} {stamp} {after}");
        }
    }

    #[test]
    fn processor_time_grows_with_work_and_belongs_to_the_thread() {
        const MUCH_NS: u64 = 50_000_000;
        let begun_ns = thread_processor_ns();
        while thread_processor_ns() < begun_ns + MUCH_NS {
            std::hint::spin_loop();
        }
        let of_another_ns = std::thread::spawn(thread_processor_ns).join().expect("it only reads a clock");
        assert!(of_another_ns < MUCH_NS, "{of_another_ns}");
    }

    #[test]
    fn a_simulated_clock_moves_only_when_told() {
        let clock = Clock::simulated(100);
        let copy = clock.clone();
        clock.advance(50);
        copy.sleep_until(1_000, 10);
        assert_eq!((clock.now_ns(), copy.now_ns()), (1_000, 1_000));
        assert!(clock.is_simulated() && !Clock::monotonic().is_simulated());
        clock.sleep_until(500, 0);
        assert_eq!(clock.now_ns(), 1_000);
    }
}
