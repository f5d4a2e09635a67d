//! The tests every engine passes.
