//! A plan of faults as data, applied at three points.
//!
//! ```text
//! fetch ─▶ execute ─▶ complete
//!   timeout, fatal,     media-error,    drop, double,
//!   removal             slow            wrong-phase, wrong-cid
//! ```
//!
//! Guarantees: the same commands in the same order get the same faults. Without faults, the cost is
//! one comparison per command. This module does not carry out faults.

mod parse;
mod state;

pub use parse::FaultError;
pub(crate) use state::{FaultPoint, FaultState, Subject};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Reads and writes of the blocks fail with a media error.
    MediaError,
    /// The command is never answered.
    Timeout,
    /// The command is executed, but its completion is never posted.
    DropCompletion,
    /// The completion is posted twice.
    DoubleCompletion,
    /// The completion has the phase tag of the round before.
    WrongPhase,
    /// The completion names another command: the identifier's lowest bit is flipped.
    WrongCid,
    /// The controller sets CSTS.CFS and stops.
    Fatal,
    /// The command takes this many nanoseconds longer.
    Slow {
        /// The extra time.
        extra_ns: u64,
    },
    /// The device is removed: every register reads as all ones.
    Removal,
    /// The controller may not reach the namespace (`ana=`), as its current state says; users cannot
    /// request it as a fault.
    NoAccess,
}

/// The commands that a fault applies to, by the direction of their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultOperation {
    /// Whatever the command does.
    Any,
    /// Commands that read the media.
    Read,
    /// Commands that write the media.
    Write,
}

/// Blocks on one of several units over which the bytes of a namespace are striped, such as the LUNs
/// of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// The unit.
    pub unit: u64,
    /// The number of units.
    pub units: u64,
    /// Bytes on one unit before the next unit begins.
    pub bytes: u64,
}

/// One fault: its kind, the commands that it hits, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// The direction of the commands.
    pub operation: FaultOperation,
    /// Only commands with this opcode.
    pub opcode: Option<u8>,
    /// Only commands of this submission queue. 0 means admin commands, which no other fault hits.
    pub queue: Option<u16>,
    /// Only this namespace.
    pub namespace: Option<u32>,
    /// Only commands that touch these blocks: the first, and how many.
    pub blocks: Option<(u64, u64)>,
    /// Only commands that access this unit.
    pub stripe: Option<Stripe>,
    /// How many commands are spared before the first one is hit.
    pub after: u64,
    /// How many commands are hit; `u64::MAX` for all.
    pub times: u64,
}

impl Fault {
    /// A fault that hits every I/O command.
    pub const fn new(kind: FaultKind) -> Fault {
        Fault {
            kind,
            operation: FaultOperation::Any,
            opcode: None,
            queue: None,
            namespace: None,
            blocks: None,
            stripe: None,
            after: 0,
            times: u64::MAX,
        }
    }
}

/// Faults of a command outside its execution. The front applies them, as far as its protocol can
/// express them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlannedFaults {
    /// Replaces the execution: [`FaultKind::Timeout`], [`FaultKind::Fatal`] or
    /// [`FaultKind::Removal`].
    pub at_fetch: Option<FaultKind>,
    /// Changes the completion.
    pub at_completion: Option<FaultKind>,
}
