//! The results of a submission and of a command.

use iolab_nvme_spec::Status;

/// The result of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Submit {
    /// The command is in the ring; it becomes visible with the next flush, and its slot is taken
    /// until it is reaped.
    Accepted,
    /// The ring is full: reap first. The slot is still free.
    Full,
    /// The command cannot be sent. The slot is unchanged.
    Refused(Refusal),
}

/// Why a command cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The queue pair has no such slot.
    #[error("the queue pair does not have this slot")]
    NoSlot,
    /// The slot's last command has not been reaped.
    #[error("the previous command of the slot has not been reaped")]
    SlotTaken,
    /// The command has no blocks, or more than the device accepts at once.
    #[error("zero blocks, or more than one command can transfer")]
    Length,
    /// The data is shorter than the blocks.
    #[error("the data buffer is smaller than the blocks")]
    ShortData,
    /// The address of the data is not a multiple of four, or parts do not meet at page boundaries.
    #[error("the data buffer is not aligned as the device requires")]
    Misaligned,
    /// The namespace keeps metadata in a separate buffer, and none was given.
    #[error("the namespace needs a metadata buffer")]
    Metadata,
    /// More parts than the list memory of a slot describes.
    #[error("more parts than a command can describe")]
    TooManyParts,
    /// The namespace has no zones.
    #[error("the namespace has no zones")]
    NotZoned,
    /// The controller was given up.
    #[error("the controller was shut down after a failure")]
    Dead,
}

/// A command that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Its slot, which is free again.
    pub slot: u16,
    /// How it ended.
    pub outcome: CommandOutcome,
    /// The command specific result; for Zone Append the LBA.
    pub result: u64,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOutcome {
    /// It succeeded.
    Done,
    /// It failed with an error of the device.
    Failed(Status),
    /// It has no answer from the device. Whether it took effect is unknown.
    Lost(Loss),
}

/// Why a command has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// It took too long and was aborted, or was resent after resets as often as allowed.
    #[error("the command timed out")]
    TimedOut,
    /// The controller was reset, and executing the command twice could do harm.
    #[error("the controller was reset while the command was in flight")]
    Reset,
    /// The controller was given up.
    #[error("the controller was shut down while the command was in flight")]
    Dead,
}

impl std::fmt::Display for CommandOutcome {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CommandOutcome::Done => write!(out, "done"),
            CommandOutcome::Failed(status) => write!(out, "the device answered: {status}"),
            CommandOutcome::Lost(loss) => write!(out, "no answer: {loss}"),
        }
    }
}

impl CommandOutcome {
    /// Whether the command succeeded.
    pub const fn is_done(self) -> bool {
        matches!(self, CommandOutcome::Done)
    }
}
