//! iostat's line of CPU use.

/// The time of all CPUs together since the machine started, in ticks (proc_stat(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User time, guests included.
    pub user: u64,
    /// User time with lowered priority.
    pub nice: u64,
    /// Kernel time, interrupts included.
    pub system: u64,
    /// Idle time while I/O was pending.
    pub iowait: u64,
    /// Time taken by the hypervisor.
    pub steal: u64,
    /// Other idle time.
    pub idle: u64,
}

/// One share.
pub struct CpuColumn {
    /// Its name in text; in JSON without the `%`.
    pub name: &'static str,
    /// Width of its name in the header, with the space before it, characters.
    pub(crate) header_width: usize,
    /// Its ticks.
    pub ticks: fn(&CpuTimes) -> u64,
    /// What it is, and what it does not show.
    pub meaning: &'static str,
}

/// The shares, in iostat's order.
pub const CPU: &[CpuColumn] = &[
    CpuColumn {
        name: "%user",
        header_width: 7,
        ticks: |cpu| cpu.user,
        meaning: "Time in programs; virtual machines on this host included.",
    },
    CpuColumn {
        name: "%nice",
        header_width: 8,
        ticks: |cpu| cpu.nice,
        meaning: "Time in programs of lowered priority.",
    },
    CpuColumn {
        name: "%system",
        header_width: 8,
        ticks: |cpu| cpu.system,
        meaning: "Time in the kernel, interrupts included: the I/O stack is here, whoever asked for the I/O.",
    },
    CpuColumn {
        name: "%iowait",
        header_width: 8,
        ticks: |cpu| cpu.iowait,
        meaning: "Idle time during which some task that last ran on the CPU waited for I/O. Low does not mean that nobody waits: a busy CPU hides it.",
    },
    CpuColumn {
        name: "%steal",
        header_width: 8,
        ticks: |cpu| cpu.steal,
        meaning: "Time the hypervisor gave to others while this machine wanted to run: latencies of such a time are not the device's.",
    },
    CpuColumn {
        name: "%idle",
        header_width: 8,
        ticks: |cpu| cpu.idle,
        meaning: "Time with nothing to do and no I/O awaited.",
    },
];

impl CpuColumn {
    /// Percent of the time between two samples; 0 when no time has passed.
    pub fn percent(&self, before: &CpuTimes, after: &CpuTimes) -> f64 {
        let gained = |column: &CpuColumn| (column.ticks)(after).saturating_sub((column.ticks)(before));
        let all: u64 = CPU.iter().map(gained).sum();
        if all == 0 { 0.0 } else { gained(self) as f64 / all as f64 * 100.0 }
    }
}
