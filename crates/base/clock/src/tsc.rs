//! The processor's time stamp counter as a nanosecond clock.
//!
//! It can be used only if CPUID says that the counter is invariant (leaf 8000_0007h, EDX bit 8;
//! Intel SDM vol. 3, 19.17.1) and two calibrations against `CLOCK_MONOTONIC` agree. `rdtsc` is used
//! without a fence, so it may be reordered by some tens of cycles; stamps here do not need more
//! precision. Unsafe because `rdtsc` and the kernel clock with which it is compared are intrinsics
//! and C calls.

/// Why the TSC is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TscUnfit {
    /// Not an x86-64 processor.
    NoCounter,
    /// CPUID does not guarantee a constant rate.
    NotInvariant,
    /// Two calibrations differ by this number of parts per million.
    Unsteady(u64),
}

impl std::fmt::Display for TscUnfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TscUnfit::NoCounter => write!(f, "this processor has no time stamp counter"),
            TscUnfit::NotInvariant => write!(f, "the time stamp counter is not invariant"),
            TscUnfit::Unsteady(ppm) => write!(f, "two calibrations of the time stamp counter disagree by {ppm} ppm"),
        }
    }
}

/// ns = base_ns + (tsc - base_tsc) * multiplier / 2^32.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TscScale {
    base_tsc: u64,
    base_ns: u64,
    multiplier: u64,
}

#[cfg(target_arch = "x86_64")]
impl TscScale {
    #[inline(always)]
    pub(crate) fn now_ns(&self) -> u64 {
        let ticks = read_tsc().wrapping_sub(self.base_tsc);
        self.base_ns.wrapping_add(((u128::from(ticks) * u128::from(self.multiplier)) >> 32) as u64)
    }

    pub(crate) fn calibrate() -> Result<TscScale, TscUnfit> {
        use core::arch::x86_64::__cpuid;
        const INVARIANT: u32 = 1 << 8;
        if __cpuid(0x8000_0000).eax < 0x8000_0007 || __cpuid(0x8000_0007).edx & INVARIANT == 0 {
            return Err(TscUnfit::NotInvariant);
        }
        // Reading both clocks takes time, and too much of it if instructions are emulated or the
        // machine is busy. Over a longer period, that error matters less. A counter that does not
        // run evenly disagrees over every period.
        let mut unfit = TscUnfit::Unsteady(0);
        let begun = FIRST.get().copied().filter(|(_, ns)| kernel_ns().saturating_sub(*ns) < LONGEST_NS);
        for (first, stretch_ns) in [(begun, 2_000_000), (None, 8_000_000), (None, 32_000_000)] {
            match TscScale::over(first.unwrap_or_else(paired_reading), stretch_ns) {
                Ok(scale) => return Ok(scale),
                Err(reason) => unfit = reason,
            }
        }
        Err(unfit)
    }

    /// Calibrates from the rates over two periods, of which the later has this length and the
    /// earlier at least twice as much; they must agree.
    fn over(first: (u64, u64), stretch_ns: u64) -> Result<TscScale, TscUnfit> {
        let second = reading_after(first.1 + 2 * stretch_ns);
        let third = reading_after(second.1 + stretch_ns);
        let late = multiplier(second, third);
        let whole = multiplier(first, third);
        let ppm = late.abs_diff(whole).saturating_mul(1_000_000) / whole.max(1);
        if whole == 0 || ppm > 1_000 {
            return Err(TscUnfit::Unsteady(ppm));
        }
        Ok(TscScale { base_tsc: third.0, base_ns: third.1, multiplier: whole })
    }
}

/// The reading of [`begin_calibration`].
#[cfg(target_arch = "x86_64")]
static FIRST: std::sync::OnceLock<(u64, u64)> = std::sync::OnceLock::new();

/// Over longer than this, ns, the system may have adjusted its clock, or slept.
#[cfg(target_arch = "x86_64")]
const LONGEST_NS: u64 = 1_000_000_000;

/// Reads both clocks, so that a calibration soon after needs to wait for less.
pub fn begin_calibration() {
    #[cfg(target_arch = "x86_64")]
    FIRST.get_or_init(paired_reading);
}

#[cfg(not(target_arch = "x86_64"))]
impl TscScale {
    pub(crate) fn now_ns(&self) -> u64 {
        self.base_ns + self.base_tsc * self.multiplier
    }

    pub(crate) fn calibrate() -> Result<TscScale, TscUnfit> {
        Err(TscUnfit::NoCounter)
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_tsc() -> u64 {
    // SAFETY: rdtsc exists on every x86-64 processor and touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "x86_64")]
fn kernel_ns() -> u64 {
    crate::kernel::kernel_clock_ns(libc::CLOCK_MONOTONIC)
}

/// Returns the most precise of a few `(tsc, ns)` pairs: the one whose clock reading took the fewest
/// ticks.
#[cfg(target_arch = "x86_64")]
fn paired_reading() -> (u64, u64) {
    let mut best = (u64::MAX, (0, 0));
    for _ in 0..16 {
        let before = read_tsc();
        let ns = kernel_ns();
        let after = read_tsc();
        let width = after.wrapping_sub(before);
        if width < best.0 {
            best = (width, (before + width / 2, ns));
        }
    }
    best.1
}

/// Returns a pair of readings that is not earlier than this. Waiting takes no processor: how much
/// later the pair is read does not matter.
#[cfg(target_arch = "x86_64")]
fn reading_after(ns: u64) -> (u64, u64) {
    loop {
        let now = kernel_ns();
        if now >= ns {
            return paired_reading();
        }
        std::thread::sleep(std::time::Duration::from_nanos(ns - now));
    }
}

#[cfg(target_arch = "x86_64")]
fn multiplier(first: (u64, u64), second: (u64, u64)) -> u64 {
    let ticks = second.0.wrapping_sub(first.0).max(1);
    let ns = second.1.saturating_sub(first.1);
    ((u128::from(ns) << 32) / u128::from(ticks)) as u64
}
