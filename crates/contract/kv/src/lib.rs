//! The contract between the loaders of a key-value store (the workloads of `iolab kv bench`, the
//! engine `kv`, checks of crash consistency) and the stores.
//!
//! A [`StoreKind`] is cold: a constant description, and how to recognise, open and destroy a store
//! of this kind. A [`Store`] is open: one handle that threads share by reference. [`Access`] is its
//! hot half; [`Cursor`] iterates over keys in order, in both directions. Keys are bytes and compare
//! as bytes.
//!
//! What every store promises, and the [`conformance`] suite checks of each:
//!
//! - An operation that returned is seen by every later one, of any thread.
//! - The operations of a [`Batch`] take effect in their order, all or none.
//! - A cursor shows the store as it was when the cursor was made.
//! - After [`Store::close`] and another `open`, every operation that returned has its effect,
//!   unless it was written [`Durability::Unlogged`] and not flushed since.
//! - What was written [`Durability::Synced`] and returned survives the loss of the process and of
//!   the power. No unit test can show this; it is checked elsewhere.
//! - A folder that holds something else is refused and left as it is.
//!
//! This crate does no storage itself. It is not the database of runs, which is `report/store`.

mod batch;
pub mod conformance;
mod cursor;
mod error;
mod facts;
mod folder;
mod kind;
mod option_text;
mod store;

pub use batch::{Batch, Change};
pub use cursor::{Bytes, Cursor, RangeCursor, Ranges, Seek, Way};
pub use error::{ErrorKind, StoreError};
pub use facts::{StoreFacts, StoreFigures};
pub use folder::{Holds, holds, judge, remove_owned, some_of};
pub use kind::{Existing, OpenRequest, StoreDescription, StoreKind};
pub use option_text::{number, options_of, unknown_option};
pub use store::{Access, Durability, Maintenance, Store};
