//! Results: of a submission, and of a command.

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
    /// The command cannot be sent. The slot is as it was.
    Refused(Refusal),
}

/// Why a command cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The queue pair has no such slot.
    #[error("the queue pair has no such slot")]
    NoSlot,
    /// The slot's last command has not been reaped.
    #[error("the slot's last command has not been reaped")]
    SlotTaken,
    /// No blocks, or more than the device takes at once.
    #[error("no blocks, or more than one command may transfer")]
    Length,
    /// The data is shorter than the blocks.
    #[error("the data is shorter than the blocks")]
    ShortData,
    /// The address of the data is not a multiple of four, or parts do not meet at page boundaries.
    #[error("the data is not aligned as the device needs it")]
    Misaligned,
    /// The namespace keeps metadata in a buffer of its own, and none was given.
    #[error("the namespace needs a metadata buffer")]
    Metadata,
    /// More parts than the list memory of a slot describes.
    #[error("more parts than a command can name")]
    TooManyParts,
    /// The namespace has no zones.
    #[error("the namespace has no zones")]
    NotZoned,
    /// The controller was given up.
    #[error("the controller was given up")]
    Dead,
}

/// A command that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Its slot, which is free again.
    pub slot: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// The command specific result: of Zone Append the LBA.
    pub result: u64,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Successfully.
    Done,
    /// With an error of the device.
    Failed(Status),
    /// Without an answer of the device. Whether it took effect is not known.
    Lost(Loss),
}

/// Why a command has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// It took too long and was aborted, or was sent again after resets as often as allowed.
    #[error("it took too long")]
    TimedOut,
    /// The controller was reset, and doing the command twice could do harm.
    #[error("the controller was reset while it was in flight")]
    Reset,
    /// The controller was given up.
    #[error("the controller was given up while it was in flight")]
    Dead,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Done => write!(out, "done"),
            Outcome::Failed(status) => write!(out, "the device answered: {status}"),
            Outcome::Lost(loss) => write!(out, "no answer: {loss}"),
        }
    }
}

impl Outcome {
    /// Whether the command succeeded.
    pub const fn is_done(self) -> bool {
        matches!(self, Outcome::Done)
    }
}
