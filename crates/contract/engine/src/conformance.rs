//! The tests that every engine passes: the contract of [`crate::Lane`] as assertions.
//!
//! An engine's crate instantiates the suite in its tests with
//! [`conformance_suite!`](crate::conformance_suite). Each check is a generic function that opens
//! lanes of the engine on scratch files (made with the standard library only, removed on drop) and
//! panics with a sentence when the contract is broken. Engines with [`crate::FileUse::Nothing`] or
//! [`crate::FileUse::Paths`] run the part that makes sense for them; a check that does not apply
//! returns at once. Nothing here measures time: a check of a timeout asserts that the call returns
//! and what it returned, not when.
//!
//! ```text
//! #[cfg(test)]
//! mod tests {
//!     use super::*;
//!     crate::conformance_suite!(Psync);
//!     crate::conformance_suite!(pvsync2_hipri, Pvsync2, ConformanceSetup::default().option("hipri", Value::Flag(true)));
//! }
//! ```

mod bench;
#[cfg(test)]
mod canaries;
mod data;
mod failures;
mod queue;
mod rig;
mod tables;

use iolab_memory::Backing;
pub use iolab_options::Value;
use iolab_options::{Setting, Settings};

use crate::OpKind;

pub use bench::{BENCH_BLOCK, BENCH_DEPTH, LaneBench, numbered_blocks};
pub use data::{
    data_reads_back_through_every_slot, only_the_named_part_of_a_slot_is_used, short_reads_are_short,
    syncs_complete_with_zero, trimmed_ranges_read_as_zeroes,
};
pub use failures::{errors_are_negative_errnos, refusals_leave_the_slot};
pub use queue::{
    at_least_is_honoured, depth_is_held, dropping_with_operations_in_flight, flush_and_reap_does_both,
    nothing_is_left_after_draining, polling_returns, room_is_respected, slots_come_back_exactly_once, timeouts_return,
};
pub use tables::description_is_well_formed;

/// How the lanes of one run of the suite are opened.
#[derive(Debug, Clone)]
pub struct ConformanceSetup {
    /// The engine's own options.
    pub options: Settings,
    /// Open the scratch files with `O_DIRECT` where their file system has it.
    pub direct: bool,
    /// Whether trimmed ranges read as zeroes, which holes in files do; an engine that documents
    /// otherwise says false.
    pub trims_to_zeroes: bool,
    /// For an engine with devices of its own: the name of a device that keeps its data in this
    /// file, which has this size.
    pub device: Option<fn(&std::path::Path, u64) -> String>,
    /// What backs the buffers.
    pub buffers: Backing,
    /// The queue depths tried.
    pub depths: &'static [usize],
    /// The operation with which the queue is tested; an engine without reads names another.
    pub probe: OpKind,
    /// Objects that must live as long as the setup, such as a temporary folder that an option
    /// names.
    pub keeps: Option<std::sync::Arc<dyn std::any::Any + Send + Sync>>,
}

impl Default for ConformanceSetup {
    fn default() -> ConformanceSetup {
        ConformanceSetup {
            options: Settings::default(),
            direct: false,
            trims_to_zeroes: true,
            device: None,
            buffers: Backing::Anonymous,
            depths: &[1, 4, 32],
            probe: OpKind::Read,
            keeps: None,
        }
    }
}

impl ConformanceSetup {
    /// Sets one option.
    pub fn option(mut self, name: &str, value: Value) -> ConformanceSetup {
        let text = format!("{value:?}");
        self.options.set(name, Setting { value, text, source: 0, span: (0, 0) });
        self
    }

    /// Turns a switch of the engine on or off.
    pub fn flag(self, name: &str, on: bool) -> ConformanceSetup {
        self.option(name, Value::Flag(on))
    }

    /// Uses `O_DIRECT` files.
    pub fn direct(mut self) -> ConformanceSetup {
        self.direct = true;
        self
    }

    /// Tests the queue with this operation.
    pub fn probe(mut self, probe: OpKind) -> ConformanceSetup {
        self.probe = probe;
        self
    }

    /// Uses devices named like this, with buffers in a memfd as in the runner.
    pub fn device(mut self, name: fn(&std::path::Path, u64) -> String) -> ConformanceSetup {
        self.device = Some(name);
        self.buffers = Backing::Memfd;
        self
    }

    /// Uses these depths.
    pub fn depths(mut self, depths: &'static [usize]) -> ConformanceSetup {
        self.depths = depths;
        self
    }
}

/// Expands into the tests of the suite for one engine, in a module of its own.
///
/// `conformance_suite!(Engine)` uses defaults and the module name `conformance`;
/// `conformance_suite!(module_name, Engine)` names the module, so that a crate can test several
/// engines; `conformance_suite!(module_name, Engine, setup)` also takes an expression of type
/// [`ConformanceSetup`], in whose scope [`ConformanceSetup`] and `Value` are named.
#[macro_export]
macro_rules! conformance_suite {
    ($engine:ty) => {
        $crate::conformance_suite!(conformance, $engine);
    };
    ($module:ident, $engine:ty) => {
        $crate::conformance_suite!($module, $engine, $crate::conformance::ConformanceSetup::default());
    };
    ($module:ident, $engine:ty, $setup:expr) => {
        $crate::conformance_suite!(@checks $module, $engine, $setup,
            description_is_well_formed
            data_reads_back_through_every_slot
            only_the_named_part_of_a_slot_is_used
            short_reads_are_short
            syncs_complete_with_zero
            trimmed_ranges_read_as_zeroes
            depth_is_held
            slots_come_back_exactly_once
            polling_returns
            at_least_is_honoured
            room_is_respected
            timeouts_return
            flush_and_reap_does_both
            nothing_is_left_after_draining
            dropping_with_operations_in_flight
            errors_are_negative_errnos
            refusals_leave_the_slot
        );
    };
    (@checks $module:ident, $engine:ty, $setup:expr, $($check:ident)*) => {
        mod $module {
            // The setup and the engine may be named by paths of their own and need neither import.
            #[allow(unused_imports, reason = "see above")]
            use super::*;
            #[allow(unused_imports, reason = "as above")]
            use $crate::conformance::{ConformanceSetup, Value};

            $(#[test]
            fn $check() {
                $crate::conformance::$check::<$engine>(&$setup);
            })*
        }
    };
}
