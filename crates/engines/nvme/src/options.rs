//! The engine's own options: how queues are created and waited for, and options of SPDK's plugin
//! that have no effect here.

use iolab_engine::LaneRequest;
use iolab_nvme_driver::{DataPointer, QueueOptions, WaitPolicy};
use iolab_options::{Choice, DefaultValue, OptionEntry, TimeUnit, ValueKind};

const fn without_meaning(name: &'static str, kind: ValueKind, summary: &'static str) -> OptionEntry {
    OptionEntry {
        name,
        kind,
        summary,
        details: "Accepted for compatibility with SPDK's fio plugin; it has no effect.",
        ..OptionEntry::BLANK
    }
}

/// How to wait for completions.
static WAITS: [Choice; 3] = [
    Choice { name: "poll", aliases: &[], summary: "poll the completion queue" },
    Choice { name: "interrupt", aliases: &[], summary: "sleep until the interrupt" },
    Choice { name: "adaptive", aliases: &[], summary: "poll for spin_time, then sleep until the interrupt" },
];

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 10] = [
    OptionEntry {
        name: "queue_pairs",
        kind: ValueKind::Integer { min: 1, max: 64 },
        default: DefaultValue::Text("1"),
        summary: "Queue pairs per job and namespace",
        details: "Operations are distributed over them by slot.",
        accepts: &[("1", "1"), ("4", "4")],
        rejects: &["0", "65"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "queue_size",
        kind: ValueKind::Integer { min: 2, max: 65_536 },
        summary: "Entries per queue; one of them stays empty",
        details: "By default a queue has room for iodepth commands. With a smaller queue, further commands wait.",
        accepts: &[("2", "2"), ("1024", "1024")],
        rejects: &["1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "wait",
        kind: ValueKind::Choice(&WAITS),
        default: DefaultValue::Text("poll"),
        summary: "How to wait for completions",
        details: "Interrupts free the CPU for others, but add a wake-up to every wait.",
        accepts: &[("poll", "poll"), ("interrupt", "interrupt"), ("adaptive", "adaptive")],
        rejects: &["never"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "spin_time",
        kind: ValueKind::Time { unit: TimeUnit::Microseconds },
        default: DefaultValue::Text("50"),
        summary: "With wait=adaptive: how long to poll before sleeping",
        details: "",
        accepts: &[("20", "20us"), ("1ms", "1ms")],
        rejects: &["long"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "enable_sgl",
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Use scatter-gather lists (SGLs) instead of PRPs",
        details: "Only if the controller supports them.",
        accepts: &[("", "1"), ("0", "0")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "command_timeout",
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("30"),
        summary: "Timeout after which a command is aborted and, if that fails, the controller is reset",
        details: "",
        accepts: &[("5", "5s"), ("100ms", "100ms")],
        rejects: &["soon"],
        ..OptionEntry::BLANK
    },
    without_meaning("mem_size_mb", ValueKind::Integer { min: 0, max: i32::MAX as i64 }, "Memory to set aside, MiB"),
    without_meaning("shm_id", ValueKind::Integer { min: -1, max: i32::MAX as i64 }, "Shared memory group"),
    without_meaning("print_qid_mappings", ValueKind::Switch, "Print which job has which queue pair"),
    without_meaning("log_flags", ValueKind::Text, "What to log"),
];

/// The lane's settings, from the options.
#[derive(Debug, Clone)]
pub(crate) struct LaneOptions {
    pub(crate) queue_pairs: u16,
    pub(crate) queue: QueueOptions,
}

impl LaneOptions {
    pub(crate) fn of(request: &LaneRequest<'_>) -> Result<LaneOptions, String> {
        let settings = request.options;
        let slots =
            u16::try_from(request.depth).map_err(|_| format!("iodepth={} is more than 65535", request.depth))?;
        let mut queue = QueueOptions { watches_events: true, ..QueueOptions::with_slots(slots) };
        if let Some(entries) = settings.integer("queue_size") {
            queue.entries = entries as u32;
        }
        if settings.flag("enable_sgl") == Some(true) {
            queue.data_pointer = DataPointer::Sgl;
        }
        if let Some(timeout_ns) = settings.time_ns("command_timeout") {
            queue.timeout_ns = timeout_ns;
        }
        queue.wait = match settings.choice("wait") {
            Some("interrupt") => WaitPolicy::Interrupt { vector: 0 },
            Some("adaptive") => {
                WaitPolicy::Adaptive { vector: 0, spin_ns: settings.time_ns("spin_time").unwrap_or(50_000) }
            }
            _ => WaitPolicy::Poll,
        };
        Ok(LaneOptions { queue_pairs: settings.integer("queue_pairs").unwrap_or(1) as u16, queue })
    }

    /// The options of one queue pair, which uses its own interrupt vector.
    pub(crate) fn queue_on(&self, vector: u16) -> QueueOptions {
        let mut queue = self.queue.clone();
        queue.wait = match queue.wait {
            WaitPolicy::Poll => WaitPolicy::Poll,
            WaitPolicy::Interrupt { .. } => WaitPolicy::Interrupt { vector },
            WaitPolicy::Adaptive { spin_ns, .. } => WaitPolicy::Adaptive { vector, spin_ns },
        };
        queue
    }
}
