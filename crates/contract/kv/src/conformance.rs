//! The tests that every store passes: the promises of the contract as assertions.
//!
//! A store's crate instantiates the suite in its tests with
//! [`kv_conformance_suite!`](crate::kv_conformance_suite). Each check is a function that opens
//! stores in scratch folders (removed on drop) and panics with a sentence when a promise is broken.
//! A [`BTreeMap`](std::collections::BTreeMap) that gets the same operations decides what is right.
//! Operations come from seeds; a failure names its seed. Nothing here measures time, and nothing
//! shows what survives the loss of power.
//!
//! ```text
//! iolab_kv::kv_conformance_suite!(fjall, &Fjall, Setup { wrong_option: "colour=red", ..Setup::default() });
//! ```

#[cfg(test)]
mod canaries;
mod concurrency;
mod cursors;
mod folders;
mod model;
mod rig;

pub use concurrency::{readers_never_see_half_a_write, threads_do_not_disturb_each_other};
pub use cursors::{a_cursor_goes_both_ways, a_cursor_keeps_what_it_saw, a_cursor_seeks_beside_keys};
pub use folders::{
    description_is_well_formed, destroy_takes_only_what_it_owns, existing_stores_are_used_as_told,
    other_folders_are_left_alone, two_cannot_open_one, wrong_options_are_refused,
};
pub use model::{batches_keep_their_order, every_length_is_kept, random_operations_agree_with_the_model};

/// How the stores of one run of the suite are opened.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Options of the store.
    pub options: &'static str,
    /// Options that the store does not know and must refuse; its name up to `=` must be in the
    /// message.
    pub wrong_option: &'static str,
    /// Operations of each random sequence.
    pub operations: usize,
    /// Random sequences.
    pub seeds: u64,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { options: "", wrong_option: "no_such_option=1", operations: 2_000, seeds: 3 }
    }
}

/// Expands into the tests of the suite for one kind of store, in a module of its own:
/// `kv_conformance_suite!(module, kind)` or `kv_conformance_suite!(module, kind, setup)`, where
/// `kind` is an expression of type `&dyn StoreKind`.
#[macro_export]
macro_rules! kv_conformance_suite {
    ($module:ident, $kind:expr) => {
        $crate::kv_conformance_suite!($module, $kind, $crate::conformance::Setup::default());
    };
    ($module:ident, $kind:expr, $setup:expr) => {
        $crate::kv_conformance_suite!(@checks $module, $kind, $setup,
            description_is_well_formed
            random_operations_agree_with_the_model
            batches_keep_their_order
            every_length_is_kept
            a_cursor_goes_both_ways
            a_cursor_seeks_beside_keys
            a_cursor_keeps_what_it_saw
            threads_do_not_disturb_each_other
            readers_never_see_half_a_write
            existing_stores_are_used_as_told
            other_folders_are_left_alone
            two_cannot_open_one
            wrong_options_are_refused
            destroy_takes_only_what_it_owns
        );
    };
    (@checks $module:ident, $kind:expr, $setup:expr, $($check:ident)*) => {
        mod $module {
            #[allow(unused_imports, reason = "kind and setup may be named by paths of their own")]
            use super::*;
            #[allow(unused_imports, reason = "as above")]
            use $crate::conformance::Setup;

            $(#[test]
            fn $check() {
                $crate::conformance::$check($kind, &$setup);
            })*
        }
    };
}
