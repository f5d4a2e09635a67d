//! The engine's own options, which are fio's.

use iolab_options::{DefaultValue, OptionEntry};

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
    OptionEntry::COMMAND_PRIORITIES[0],
    OptionEntry::COMMAND_PRIORITIES[1],
    OptionEntry::COMMAND_PRIORITIES[2],
    OptionEntry::COMMAND_PRIORITIES[3],
];
