//! The seam between the device and the timing model: the device's commands in, times out.
//!
//! Guarantees: the ideal model costs a comparison and takes no lock. Deliberately not here: any time of any flash.

/// What a command does to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Read,
    Write,
    Flush,
    Trim,
    WriteZeroes,
    ZoneReset,
}

/// One command, as far as time depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) work: Work,
    /// From the start of the media.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) fua: bool,
}

/// When a command completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    At(u64),
    Retry { not_before_ns: u64 },
}

/// The model of a subsystem.
#[derive(Debug)]
pub(crate) enum Timing {
    Ideal,
}

impl Timing {
    /// When `request`, which has arrived now, completes.
    #[inline]
    pub(crate) fn schedule(&self, now_ns: u64, _request: Request) -> Verdict {
        match self {
            Timing::Ideal => Verdict::At(now_ns),
        }
    }
}
