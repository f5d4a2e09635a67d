//! CPU time, context switches and page faults between two readings of the calling thread.

use iolab_process::Usage;
use iolab_recording::CpuUse;

/// The resources used from `start` to `end`.
pub(crate) fn between(start: &Usage, end: &Usage) -> CpuUse {
    CpuUse {
        user_ns: end.user_ns.saturating_sub(start.user_ns),
        system_ns: end.system_ns.saturating_sub(start.system_ns),
        context_switches: end.context_switches.saturating_sub(start.context_switches),
        major_faults: end.major_faults.saturating_sub(start.major_faults),
        minor_faults: end.minor_faults.saturating_sub(start.minor_faults),
    }
}
