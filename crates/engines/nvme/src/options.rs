//! The engine's own options: how queues are created and waited for, and options of SPDK's plugin
//! that have no effect here.

use iolab_engine::OpenRequest;
use iolab_nvme_driver::{DataPointer, QueueOptions, WaitPolicy};
use iolab_options::{Choice, DefaultValue, Kind, OptionEntry, TimeUnit};

const fn without_meaning(name: &'static str, kind: Kind, summary: &'static str) -> OptionEntry {
    OptionEntry {
        name,
        kind,
        summary,
        details: "Accepted because SPDK's plugin for fio has it; nothing here needs it.",
        ..OptionEntry::BLANK
    }
}

/// How to wait for completions.
static WAITS: [Choice; 3] = [
    Choice { name: "poll", aliases: &[], summary: "look at the completion queue all the time" },
    Choice { name: "interrupt", aliases: &[], summary: "sleep until the device signals" },
    Choice { name: "adaptive", aliases: &[], summary: "look for spin_time, then sleep until the device signals" },
];

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 10] = [
    OptionEntry {
        name: "queue_pairs",
        kind: Kind::Integer { min: 1, max: 64 },
        default: DefaultValue::Text("1"),
        summary: "Queue pairs of each job on each namespace",
        details: "Operations are spread over them by slot.",
        accepts: &[("1", "1"), ("4", "4")],
        rejects: &["0", "65"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "queue_size",
        kind: Kind::Integer { min: 2, max: 65_536 },
        summary: "Entries of each queue, of which one stays empty",
        details: "Without it a queue has room for iodepth commands. A smaller queue holds the others back.",
        accepts: &[("2", "2"), ("1024", "1024")],
        rejects: &["1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "wait",
        kind: Kind::Choice(&WAITS),
        default: DefaultValue::Text("poll"),
        summary: "How to wait for completions",
        details: "Interrupts leave the processor to others and add the time of a wake-up to every wait.",
        accepts: &[("poll", "poll"), ("interrupt", "interrupt"), ("adaptive", "adaptive")],
        rejects: &["never"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "spin_time",
        kind: Kind::Time { unit: TimeUnit::Microseconds },
        default: DefaultValue::Text("50"),
        summary: "With wait=adaptive: how long to look before sleeping",
        details: "",
        accepts: &[("20", "20us"), ("1ms", "1ms")],
        rejects: &["long"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "enable_sgl",
        kind: Kind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Describe data by scatter gather lists instead of PRPs",
        details: "Only where the controller has them.",
        accepts: &[("", "1"), ("0", "0")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "command_timeout",
        kind: Kind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("30"),
        summary: "How long a command may take before it is aborted, and then the controller reset",
        details: "",
        accepts: &[("5", "5s"), ("100ms", "100ms")],
        rejects: &["soon"],
        ..OptionEntry::BLANK
    },
    without_meaning("mem_size_mb", Kind::Integer { min: 0, max: i32::MAX as i64 }, "Memory to set aside, MiB"),
    without_meaning("shm_id", Kind::Integer { min: -1, max: i32::MAX as i64 }, "Shared memory group"),
    without_meaning("print_qid_mappings", Kind::Switch, "Print which job has which queue pair"),
    without_meaning("log_flags", Kind::Text, "What to log"),
];

/// How a lane is to be opened, from the options.
#[derive(Debug, Clone)]
pub(crate) struct LaneOptions {
    pub(crate) queue_pairs: u16,
    pub(crate) queue: QueueOptions,
}

impl LaneOptions {
    pub(crate) fn of(request: &OpenRequest<'_>) -> Result<LaneOptions, String> {
        let settings = request.options;
        let slots =
            u16::try_from(request.depth).map_err(|_| format!("iodepth={} is more than 65535", request.depth))?;
        let mut queue = QueueOptions::with_slots(slots);
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

    /// The options of one queue pair, which waits for its own interrupt vector.
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
