//! The engine's own options, which are fio's.

use iolab_options::{DefaultValue, OptionEntry, ValueKind};

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 7] = [
    OptionEntry {
        default: DefaultValue::Automatic,
        ..OptionEntry::switch(
            "userspace_reap",
            "Take completions from the kernel's ring in user memory, without a system call",
            "Automatic: on where the ring has the layout known here (magic 0xa10a10a1). A wait for more than the ring \
             holds still calls io_getevents. fio leaves it off unless asked.",
        )
    },
    OptionEntry::switch(
        "nowait",
        "Fail with EAGAIN rather than wait for resources",
        "RWF_NOWAIT on every read and write.",
    ),
    OptionEntry::switch(
        "libaio_vectored",
        "Use vectored reads and writes",
        "IOCB_CMD_PREADV and PWRITEV of one element.",
    ),
    OptionEntry::priority(
        "cmdprio_percentage",
        ValueKind::Integers { min: 0, max: 100 },
        "Percent of operations sent with their own priority",
    ),
    OptionEntry::priority(
        "cmdprio_class",
        ValueKind::Integers { min: 0, max: 3 },
        "Priority class of those operations",
    ),
    OptionEntry::priority("cmdprio", ValueKind::Integers { min: 0, max: 7 }, "Priority level of those operations"),
    OptionEntry::priority(
        "cmdprio_bssplit",
        ValueKind::Text,
        "Percent of operations with their own priority, by block size",
    ),
];
