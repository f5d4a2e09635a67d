//! The engine's own options: fio's, and switches for features that fio does not control.
//!
//! A switch whose default is automatic is on if the kernel and the limits of the process allow it.

use iolab_options::{DefaultValue, OptionEntry, Settings, ValueKind};

const fn automatic(name: &'static str, summary: &'static str, details: &'static str) -> OptionEntry {
    OptionEntry { default: DefaultValue::Automatic, ..OptionEntry::switch(name, summary, details) }
}

/// The table.
pub(crate) const OPTIONS: [OptionEntry; 21] = [
    automatic(
        "fixedbufs",
        "Register buffers with the kernel once instead of mapping them for every operation",
        "Automatic: on if the buffers fit the locked-memory limit (RLIMIT_MEMLOCK). If registering fails, plain \
        buffers are used and a note says so. In fio the default is off.",
    ),
    automatic(
        "registerfiles",
        "Register the files with the kernel once instead of looking them up for every operation",
        "Automatic: on. If registering fails, plain descriptors are used and a note says so. In fio the default is off.",
    ),
    OptionEntry::switch(
        "sqthread_poll",
        "Let a kernel thread pick up submissions, without system calls",
        "The thread needs its own CPU; without one, operations wait for it.",
    ),
    OptionEntry {
        name: "sqthread_poll_cpu",
        kind: ValueKind::Integer { min: 0, max: 65535 },
        summary: "CPU for the submission thread",
        details: "Only with sqthread_poll.",
        accepts: &[("0", "0"), ("3", "3")],
        rejects: &["-1", "many"],
        ..OptionEntry::BLANK
    },
    OptionEntry::switch(
        "hipri",
        "Poll the device for completions instead of taking interrupts",
        "Needs direct=1 and a device with poll queues; otherwise every operation fails with EOPNOTSUPP. Syncs and \
        trims use plain system calls, because a polled ring does not support them. A wait with a timeout polls once.",
    ),
    OptionEntry {
        name: "nonvectored",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Use plain reads and writes instead of vectored ones",
        details: "0 sends IORING_OP_READV and WRITEV of one element, unless the buffers are registered.",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry::switch(
        "uncached",
        "Drop the pages of buffered operations from the page cache on completion",
        "RWF_DONTCACHE (Linux 6.14); older kernels and file systems without it fail with EOPNOTSUPP.",
    ),
    OptionEntry::switch(
        "nowait",
        "Fail with EAGAIN rather than wait for resources",
        "RWF_NOWAIT on every read and write.",
    ),
    OptionEntry {
        name: "force_async",
        kind: ValueKind::Integer { min: 0, max: i32::MAX as i64 },
        default: DefaultValue::Text("0"),
        summary: "Hand every Nth operation to a kernel worker thread at once",
        details: "IOSQE_ASYNC on every Nth operation; 0 never.",
        accepts: &[("0", "0"), ("4", "4")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    automatic(
        "workers_at_once",
        "Hand operations to kernel worker threads without first trying to do them in place",
        "IOSQE_ASYNC on every read and write. Automatic: on if iodepth is 1 and the kernel cannot read the file \
        without waiting (it rejects RWF_NOWAIT, as for RAM disks and some file systems), because the attempt in \
        place never succeeds. With higher depths it would create more threads and use more CPU time. Off if \
        force_async, nowait or hipri is set.",
    ),
    automatic(
        "single_issuer",
        "Promise the kernel that one thread submits",
        "IORING_SETUP_SINGLE_ISSUER (Linux 6.0). Automatic: on.",
    ),
    automatic(
        "defer_taskrun",
        "Run the kernel's completion work only when the lane asks for completions",
        "IORING_SETUP_DEFER_TASKRUN (Linux 6.1), which needs single_issuer and rules out sqthread_poll. Automatic: \
         on.",
    ),
    automatic(
        "coop_taskrun",
        "Run the kernel's completion work without interrupting the thread",
        "IORING_SETUP_COOP_TASKRUN (Linux 5.19). Automatic: on if defer_taskrun is off.",
    ),
    automatic(
        "register_ring",
        "Register the ring's own descriptor, so that entering the kernel need not look it up",
        "IORING_REGISTER_RING_FDS (Linux 5.18). Automatic: on.",
    ),
    OptionEntry {
        name: "sqthread_idle",
        kind: ValueKind::Integer { min: 1, max: 3_600_000 },
        default: DefaultValue::Text("1000"),
        summary: "Milliseconds after which an idle submission thread sleeps",
        details: "Only with sqthread_poll.",
        accepts: &[("1", "1"), ("1000", "1000")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry::COMMAND_PRIORITIES[0],
    OptionEntry::COMMAND_PRIORITIES[1],
    OptionEntry::COMMAND_PRIORITIES[2],
    OptionEntry::COMMAND_PRIORITIES[3],
    OptionEntry::COMMAND_PRIORITIES[4],
    OptionEntry::ATOMIC,
];

/// The job's settings of the ring; `None` means automatic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Requested {
    pub(crate) fixed_buffers: Option<bool>,
    pub(crate) register_files: Option<bool>,
    pub(crate) single_issuer: Option<bool>,
    pub(crate) defer_taskrun: Option<bool>,
    pub(crate) coop_taskrun: Option<bool>,
    pub(crate) register_ring: Option<bool>,
    pub(crate) poll_thread: bool,
    pub(crate) poll_thread_cpu: Option<u32>,
    pub(crate) poll_thread_idle_ms: u32,
    pub(crate) poll_device: bool,
    pub(crate) vectored: bool,
    pub(crate) uncached: bool,
    pub(crate) nowait: bool,
    pub(crate) atomic: bool,
    pub(crate) force_async: u32,
    /// All files, none, or those that need it.
    pub(crate) workers_at_once: Option<bool>,
}

impl Requested {
    pub(crate) fn of(settings: &Settings) -> Requested {
        let on = |name| settings.flag(name).unwrap_or(false);
        let cpu = settings.integer("sqthread_poll_cpu");
        Requested {
            fixed_buffers: settings.flag("fixedbufs"),
            register_files: settings.flag("registerfiles"),
            single_issuer: settings.flag("single_issuer"),
            defer_taskrun: settings.flag("defer_taskrun"),
            coop_taskrun: settings.flag("coop_taskrun"),
            register_ring: settings.flag("register_ring"),
            // As in fio, naming a processor for the thread asks for the thread.
            poll_thread: on("sqthread_poll") || cpu.is_some(),
            poll_thread_cpu: cpu.map(|cpu| cpu as u32),
            poll_thread_idle_ms: settings.integer("sqthread_idle").unwrap_or(1000) as u32,
            poll_device: on("hipri"),
            vectored: settings.flag("nonvectored") == Some(false),
            uncached: on("uncached"),
            nowait: on("nowait"),
            atomic: on("atomic"),
            force_async: settings.integer("force_async").unwrap_or(0) as u32,
            workers_at_once: match settings.flag("workers_at_once") {
                None if on("nowait") || on("hipri") || settings.has("force_async") => Some(false),
                wish => wish,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_engine::conformance::{ConformanceSetup, Value};

    #[test]
    fn every_option_is_read_under_its_kind() {
        let mut setup = ConformanceSetup::default();
        for entry in &OPTIONS {
            let value = match entry.kind {
                ValueKind::Switch | ValueKind::Bool => Value::Flag(entry.name != "nonvectored"),
                ValueKind::Integer { .. } => Value::Integer(2),
                _ => continue,
            };
            setup = setup.option(entry.name, value);
        }
        let all = Requested {
            fixed_buffers: Some(true),
            register_files: Some(true),
            single_issuer: Some(true),
            defer_taskrun: Some(true),
            coop_taskrun: Some(true),
            register_ring: Some(true),
            poll_thread: true,
            poll_thread_cpu: Some(2),
            poll_thread_idle_ms: 2,
            poll_device: true,
            vectored: true,
            uncached: true,
            nowait: true,
            atomic: true,
            force_async: 2,
            workers_at_once: Some(true),
        };
        assert_eq!(Requested::of(&setup.options), all);
    }
}
