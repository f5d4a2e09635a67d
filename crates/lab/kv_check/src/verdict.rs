//! Whether a reopened store has the required content.

use iolab_kv::{Access, StoreError};

use crate::{Model, Shape};

/// What was promised before a crash, as numbers of operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Promised {
    /// All operations up to this one were found before, and made durable.
    pub settled: u64,
    /// The last that was acknowledged and synced.
    pub synced: u64,
    /// The last that was acknowledged.
    pub acknowledged: u64,
}

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Something is gone that was acknowledged and synced.
    #[error("operation {synced} was acknowledged and synced, but the store holds only operations up to {found}")]
    Lost {
        /// The last that must be there.
        synced: u64,
        /// The last that is.
        found: u64,
    },
    /// Something is there that was never begun.
    #[error("the store holds operation {found}, but the last one started was {begun}")]
    Invented {
        /// The last that can be there.
        begun: u64,
        /// The last that is.
        found: u64,
    },
    /// A state that no prefix of the operations yields.
    #[error("the store holds operation {found}, but its contents do not match the operations up to it: {difference}")]
    NoPrefix {
        /// The last that is there.
        found: u64,
        /// What is wrong.
        difference: String,
    },
}

/// Compares a store with the state that the operations of a round yield after those in `model`, and
/// updates the model to the store's state. Returns the last existing operation.
///
/// # Errors
/// The store's, if it cannot be read.
pub fn judge(
    store: &dyn Access,
    model: &mut Model,
    shape: &Shape,
    round: u64,
    promised: Promised,
) -> Result<Result<u64, Violation>, StoreError> {
    let content = Model::read(store)?;
    let found = content.last_operation();
    let synced = promised.synced.max(promised.settled);
    if found < synced {
        return Ok(Err(Violation::Lost { synced, found }));
    }
    // One more may have been in progress.
    let begun = promised.acknowledged.max(promised.settled) + 1;
    if found > begun {
        return Ok(Err(Violation::Invented { begun, found }));
    }
    for number in promised.settled + 1..=found {
        model.apply(&shape.operation(round, number));
    }
    Ok(match model.difference(&content) {
        Some(difference) => Err(Violation::NoPrefix { found, difference }),
        None => Ok(found),
    })
}
