//! The engine's own options, which are fio's.

use iolab_options::{Category, DefaultValue, OptionEntry, SupportStatus, ValueKind};

const fn switch(name: &'static str, summary: &'static str, details: &'static str) -> OptionEntry {
    OptionEntry {
        name,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary,
        details,
        accepts: &[("", "1"), ("0", "0"), ("1", "1")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    }
}

const fn priority(name: &'static str, kind: ValueKind, summary: &'static str) -> OptionEntry {
    OptionEntry {
        name,
        kind,
        summary,
        category: Category::Process,
        status: SupportStatus::NotYet,
        ..OptionEntry::BLANK
    }
}

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 7] = [
    OptionEntry {
        default: DefaultValue::Automatic,
        ..switch(
            "userspace_reap",
            "Take completions from the kernel's ring in user memory, without a system call",
            "Automatic: on where the ring has the layout known here (magic 0xa10a10a1). A wait for more than the ring \
             holds still calls io_getevents. fio leaves it off unless asked.",
        )
    },
    switch("nowait", "Fail with EAGAIN rather than wait for resources", "RWF_NOWAIT on every read and write."),
    switch("libaio_vectored", "Use vectored reads and writes", "IOCB_CMD_PREADV and PWRITEV of one element."),
    priority(
        "cmdprio_percentage",
        ValueKind::Integers { min: 0, max: 100 },
        "Percent of operations sent with their own priority",
    ),
    priority("cmdprio_class", ValueKind::Integers { min: 0, max: 3 }, "Priority class of those operations"),
    priority("cmdprio", ValueKind::Integers { min: 0, max: 7 }, "Priority level of those operations"),
    priority("cmdprio_bssplit", ValueKind::Text, "Percent of operations with their own priority, by block size"),
];
