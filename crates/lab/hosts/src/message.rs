//! What server and client say to each other, as JSON. Recordings and what workers left for logs are
//! frames of their own kinds.
//!
//! ```text
//!  client                                  server                             (its job, a process)
//!   Job ─────────────────────────────────▶ ─────────────────────────────────▶  plans, judges
//!   ◀──────────────────── Warnings, frame Planned │ Refused ◀────────────────
//!   Prepare (when all hosts have planned) ───────────────────────────────────▶  lays out, sets up
//!   ◀──────────────────────────────────────────────────── LaidOut, Ready ◀────
//!   Ping ────────────────────────────────▶
//!   ◀────────────────────────────── Pong ─
//!   Begin (when all hosts are ready) ────────────────────────────────────────▶  runs
//!   ◀───────────────────────────────────────────────────────── Progress ◀─────
//!   ◀───────────────────────────── Reached, of jobs that wear out ◀───────────
//!   Goal (when all hosts have reached it) ───────────────────────────────────▶  goes on
//!   Report ──────────────────────────────────────────────────────────────────▶
//!   ◀───────────────────────────────────────────────────── frame SoFar ◀──────
//!   ◀────────────────── frame Recording, Spool with its pieces, Finished ◀────
//!   Ping, and Pong, of ranks ────────────▶
//!   Received ────────────────────────────────────────────────────────────────▶
//! ```
//!
//! `End` ends the job at any time, `Finish` as `exitall` does. Each end says `Alive` when it has
//! nothing else to say.

use std::path::PathBuf;

use iolab_activity::{Failure, FailureKind};
use iolab_recording::{Progress, State, WorkerProgress};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::channel::{Channel, ChannelError, Frame, FrameKind};
use crate::parcel::JobParcel;
use crate::room::RoomThere;
use crate::seal::{NONCE_BYTES, Tag};

/// The number of this protocol. It is raised with every change of a message.
pub(crate) const PROTOCOL: u32 = 5;
/// How often a client is told where a run stands, ns.
pub(crate) const PROGRESS_NS: u64 = 200_000_000;

/// The first message of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) protocol: u32,
    pub(crate) version: String,
    pub(crate) nonce: [u8; NONCE_BYTES],
}

/// The answer of a server to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Welcome {
    /// It goes on.
    Goes {
        /// Whether both have to prove that they know a secret.
        needs_secret: bool,
        nonce: [u8; NONCE_BYTES],
    },
    /// It does not.
    Refused { reason: String },
}

/// The proof of a client or of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Proof {
    Tag(Tag),
    /// The server does not accept the client's.
    Refused {
        reason: String,
    },
}

/// From client to server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ToServer {
    Job(Box<JobParcel>),
    Ping {
        token: u32,
    },
    Prepare,
    /// The first operations begin then, by the server's clock.
    Begin {
        unix_ns: u64,
    },
    /// After how many operations the workers of a job end whose time is up (`wear_out`).
    Goal {
        job: String,
        operations: u64,
    },
    /// Asks for the recording of the run so far.
    Report,
    /// The user ends the run.
    End,
    /// Something else ends the jobs, which have done what they should.
    Finish,
    /// Of the client to the server: its job answers no more and is to be killed.
    Abandon,
    /// The client has all that came of its job.
    Received,
    /// Of the server to the process of the job: there is no client any more.
    Gone,
    Alive,
}

/// From server to client.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ToClient {
    Refused(Refusal),
    /// What the user should know of the plan that follows.
    Warnings {
        text: String,
        accepted: Vec<String>,
        /// What tells the machine from all others, if that is known: those of one machine have one
        /// clock.
        machine: Option<String>,
        /// What the files of a rank need.
        rooms: Vec<RoomThere>,
    },
    Pong {
        token: u32,
        unix_ns: u64,
    },
    LaidOut {
        path: PathBuf,
        done_bytes: u64,
        total_bytes: u64,
    },
    Ready,
    /// The time of all workers of a job is up, and the busiest has done so many operations.
    Reached {
        job: String,
        operations: u64,
    },
    /// Of the process of a job to the server: where it keeps its run until it is delivered.
    Keeps {
        partial: PathBuf,
    },
    /// So many bytes of pieces follow.
    Spool {
        worker: u32,
        content: SpoolContent,
        bytes: u64,
    },
    Finished,
    Alive,
}

/// What a worker leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SpoolContent {
    Logs,
    Operations,
}

/// From the server to the process of a job, before the client's messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobRules {
    /// What jobs may touch.
    pub(crate) allowed: Vec<PathBuf>,
    /// Most workers.
    pub(crate) max_jobs: Option<u32>,
    /// The server's address as the client reached it; `None` on a UNIX socket.
    pub(crate) address: Option<String>,
    /// It is a rank of somebody who may do here what its user may: nothing is fenced off, and the
    /// rules of ranks apply.
    pub(crate) is_rank: bool,
}

/// Why the server does not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    exit_code: i32,
    message: String,
    is_report: bool,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        let exit_code = i32::from(failure.kind.exit_code());
        Refusal { exit_code, message: failure.message, is_report: failure.is_report }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let kind = FailureKind::of_exit_code(refusal.exit_code).unwrap_or(FailureKind::Failed);
        Failure { kind, message: refusal.message, is_report: refusal.is_report }
    }
}

/// Where a run stands, as numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgressThere {
    elapsed_ns: u64,
    workers: Vec<WorkerThere>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct WorkerThere {
    state: u32,
    ios: [u64; 3],
    bytes: [u64; 3],
    measured_ns: u64,
}

impl From<&Progress> for ProgressThere {
    fn from(progress: &Progress) -> ProgressThere {
        let of = |worker: &WorkerProgress| {
            let WorkerProgress { state, ios, bytes, measured_ns } = *worker;
            WorkerThere { state: state as u32, ios, bytes, measured_ns }
        };
        ProgressThere { elapsed_ns: progress.elapsed_ns, workers: progress.workers.iter().map(of).collect() }
    }
}

impl ProgressThere {
    /// Puts it into the queue of a channel.
    pub(crate) fn tell(&self, channel: &mut Channel) {
        // Numbers alone: serialisation has no way to fail.
        channel.queue(FrameKind::Progress, &serde_json::to_vec(self).unwrap_or_default());
    }

    /// Since the first operations could begin, ns.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// The progress of exactly so many workers; one that is not told of is waiting.
    pub(crate) fn workers(&self, count: usize) -> impl Iterator<Item = WorkerProgress> + '_ {
        (0..count).map(|worker| match self.workers.get(worker) {
            Some(WorkerThere { state, ios, bytes, measured_ns }) => WorkerProgress {
                state: State::from_number(*state),
                ios: *ios,
                bytes: *bytes,
                measured_ns: *measured_ns,
            },
            None => WorkerProgress { state: State::Waiting, ios: [0; 3], bytes: [0; 3], measured_ns: 0 },
        })
    }
}

impl Channel {
    /// Puts a message into the queue.
    pub(crate) fn say(&mut self, message: &impl Serialize) {
        // Plain data with string keys: serialisation has no way to fail.
        self.queue(FrameKind::Message, &serde_json::to_vec(message).unwrap_or_default());
    }
}

impl Frame {
    /// Where a run stands.
    ///
    /// # Errors
    /// It is not what a frame of this kind consists of.
    pub(crate) fn progress(&self) -> Result<ProgressThere, ChannelError> {
        iolab_deserialize::json(&self.payload)
            .map_err(|error| ChannelError::Malformed(format!("progress cannot be read: {error}")))
    }

    /// The message that it is.
    ///
    /// # Errors
    /// It is none of this type.
    pub(crate) fn message<M: DeserializeOwned>(&self) -> Result<M, ChannelError> {
        if self.kind != FrameKind::Message {
            return Err(ChannelError::Malformed("something else than a message came out of turn".to_owned()));
        }
        iolab_deserialize::json(&self.payload)
            .map_err(|error| ChannelError::Malformed(format!("a message cannot be read: {error}")))
    }
}
