//! Options of a controller and its queue pairs.

/// How a controller is driven.
#[derive(Debug, Clone)]
pub struct ControllerOptions {
    /// How long an admin command may take before the controller is reset.
    pub admin_timeout_ns: u64,
    /// How long commands such as Format NVM and Sanitize may take.
    pub long_admin_timeout_ns: u64,
    /// I/O queue pairs to request from the device; it may grant fewer.
    pub queue_pairs: u16,
    /// Whether to use shadow doorbells where the device has them (Doorbell Buffer Config).
    pub shadow_doorbells: bool,
    /// Asynchronous Event Requests to keep outstanding; the device may allow fewer.
    pub event_requests: u8,
    /// The longest transfer that queue pairs prepare for, if the device allows it.
    pub max_transfer_bytes: u32,
}

impl Default for ControllerOptions {
    fn default() -> ControllerOptions {
        ControllerOptions {
            admin_timeout_ns: 10_000_000_000,
            long_admin_timeout_ns: 600_000_000_000,
            queue_pairs: 64,
            shadow_doorbells: true,
            event_requests: 4,
            max_transfer_bytes: 1 << 20,
        }
    }
}

/// How commands describe the location of their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataPointer {
    /// Physical region pages, which every device supports.
    Prp,
    /// Scatter gather lists, where the device supports them.
    Sgl,
}

/// How [`crate::QueuePair::wait`] waits for a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Polls.
    Poll,
    /// Sleeps until this MSI-X vector is signalled.
    Interrupt {
        /// The vector.
        vector: u16,
    },
    /// Polls for a while, then sleeps until this MSI-X vector is signalled.
    Adaptive {
        /// The vector.
        vector: u16,
        /// How long to poll.
        spin_ns: u64,
    },
}

impl WaitPolicy {
    /// The vector that the device should signal, if any.
    pub(crate) fn vector(self) -> Option<u16> {
        match self {
            WaitPolicy::Poll => None,
            WaitPolicy::Interrupt { vector } | WaitPolicy::Adaptive { vector, .. } => Some(vector),
        }
    }

    /// How long to poll before sleeping.
    pub(crate) fn spin_ns(self) -> u64 {
        match self {
            WaitPolicy::Poll => u64::MAX,
            WaitPolicy::Interrupt { .. } => 0,
            WaitPolicy::Adaptive { spin_ns, .. } => spin_ns,
        }
    }
}

/// Options of a queue pair.
#[derive(Debug, Clone)]
pub struct QueueOptions {
    /// Entries of each ring: 2 up to CAP.MQES + 1, or 0 to derive the number from the slots. A ring
    /// holds one command fewer than it has entries.
    pub entries: u32,
    /// Commands that may be in flight, each with its own slot. With more than `entries - 1` slots
    /// the ring can become full.
    pub slots: u16,
    /// PRPs or SGLs.
    pub data_pointer: DataPointer,
    /// How to wait.
    pub wait: WaitPolicy,
    /// How long a command may take before it is aborted, and how long after the abort until the
    /// controller is reset.
    pub timeout_ns: u64,
    /// Reaps between two readings of the clock.
    pub reaps_per_check: u32,
    /// How often a command is resent after resets of the controller before it is given up.
    pub replays: u8,
    /// How long commands that the path refuses are resent (Asymmetric Namespace Access:
    /// inaccessible, in transition). `None`: for as long as a transition takes, as the controller
    /// says ([`crate::ControllerFacts::transition_ns`]).
    pub path_patience_ns: Option<u64>,
    /// Whether the queue pair looks for asynchronous events with its checks of time, while commands
    /// are in flight ([`crate::Controller::take_noticed`]).
    pub watches_events: bool,
}

/// Minimum entries of a ring, if the controller allows that many. They fill a page of memory. A
/// ring with many more entries than commands in flight needs its head doorbell less often.
const PAGE_OF_ENTRIES: u32 = 64;

impl QueueOptions {
    /// Resolves the number of entries, of which the controller accepts up to `most`.
    pub(crate) fn with_entries(self, most: u32) -> QueueOptions {
        let fewest = u32::from(self.slots) + 1;
        let entries = if self.entries == 0 { fewest.max(PAGE_OF_ENTRIES.min(most)) } else { self.entries };
        QueueOptions { entries, ..self }
    }

    /// A polled queue pair with room for `slots` commands in flight.
    pub fn with_slots(slots: u16) -> QueueOptions {
        QueueOptions {
            entries: 0,
            slots,
            data_pointer: DataPointer::Prp,
            wait: WaitPolicy::Poll,
            timeout_ns: 30_000_000_000,
            reaps_per_check: 1024,
            replays: 2,
            path_patience_ns: None,
            watches_events: false,
        }
    }
}
