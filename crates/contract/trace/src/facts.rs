//! The facts of a trace besides its operations: its origin, its files and threads, and at its end
//! what was not seen.

use serde::{Deserialize, Serialize};

use crate::Role;

/// Where a trace comes from; the first thing in the file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// How the operations were seen: `ptrace`, [`Facts::PERF`], `strace`, `iolog`, `blktrace`.
    pub source: String,
    /// The command that was traced, or the files that were read.
    #[serde(default)]
    pub command: Vec<String>,
    /// When the trace began, ns since the Unix epoch; 0 if that is not known.
    #[serde(default)]
    pub started_unix_ns: u64,
    /// Whether paths, names and the command were hidden.
    #[serde(default)]
    pub anonymous: bool,
    /// The cost of observing a call, ns; part of every duration and of the time between calls.
    /// `None` if it was not measured.
    #[serde(default)]
    pub traced_call_ns: Option<f64>,
    /// The cost for a call that is not recorded, ns.
    #[serde(default)]
    pub other_call_ns: Option<f64>,
    /// Whether durations are known at all.
    #[serde(default = "yes")]
    pub has_durations: bool,
}

impl Facts {
    /// The source of a program that was watched by the kernel's tracepoints.
    pub const PERF: &'static str = "perf";
}

fn yes() -> bool {
    true
}

/// What kind of thing a descriptor stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A block device.
    BlockDevice,
    /// A folder.
    Folder,
    /// A pipe or FIFO.
    Pipe,
    /// A socket.
    Socket,
    /// A terminal or another character device.
    CharacterDevice,
    /// A file of procfs, sysfs or similar, an event, a timer.
    Kernel,
    /// Not known.
    #[default]
    Unknown,
}

impl FileKind {
    /// Whether data written there is kept: files and block devices, or what may be one.
    pub fn is_storage(self) -> bool {
        matches!(self, FileKind::Regular | FileKind::BlockDevice | FileKind::Unknown)
    }
}

/// A file of a trace. Its number is its place in the table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct File {
    /// Its path when it was first seen, or a substitute.
    pub path: String,
    /// What it is.
    #[serde(default)]
    pub kind: FileKind,
    /// Its role in the program, judged by its path.
    #[serde(default)]
    pub role: Role,
    /// Its size when it was first seen, bytes; `None` if that is not known.
    #[serde(default)]
    pub size_bytes: Option<u64>,
}

/// A thread of a trace. Its number is its place in the table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Thread {
    /// Its process.
    pub process: u32,
    /// Its number in the kernel, or in what was imported.
    pub id: u32,
    /// Its name, or the program's.
    #[serde(default)]
    pub name: String,
}

/// Something missing from the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// What, and why it is not there.
    pub what: String,
    /// How often; `None` if that is not known.
    #[serde(default)]
    pub count: Option<u64>,
    /// How many bytes; `None` if that is not known.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// A block device beneath files of a trace: what reached it while the trace was made, for all
/// programs, and what the calls of the trace moved there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceBytes {
    /// Kernel name, e.g. `sda`, `dm-0`.
    pub name: String,
    /// Kernel names of the devices that it is made of.
    #[serde(default)]
    pub parts: Vec<String>,
    /// Bytes that the kernel read from it.
    pub read: u64,
    /// Bytes that the kernel wrote to it.
    pub written: u64,
    /// Bytes that calls of the trace read there, from the page cache or the device.
    pub calls_read: u64,
    /// Bytes that calls of the trace wrote there.
    pub calls_written: u64,
}

/// The accumulated activity of the machine's processors at a moment of a trace, for all programs;
/// times are sums over all processors, from the same arbitrary origin for all moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessorSample {
    /// When, ns since the trace began.
    pub time_ns: u64,
    /// How long they had worked, ns.
    pub busy_ns: u64,
    /// How long they had not, ns.
    pub idle_ns: u64,
    /// How often they had gone from one thread to another.
    pub switches: u64,
    /// The busy time by program; absent if it was not sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<ProcessorShares>,
}

/// Processor time by program since the trace began, ns. The rest was used by other programs, by
/// interrupts, and by processes that ended between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessorShares {
    /// The traced processes.
    pub program_ns: u64,
    /// Processes of this machine with a socket whose other end a traced process has.
    pub clients_ns: u64,
    /// Threads of the kernel.
    pub kernel_ns: u64,
    /// What made the trace.
    pub tracer_ns: u64,
    /// How long threads of the traced processes and of their clients ran.
    pub ran_ns: u64,
    /// How long they could have run, but waited for a processor.
    pub waited_ns: u64,
}

impl ProcessorShares {
    /// From this share of all processors on, other programs may have affected the trace.
    pub const DISTURBING: f64 = 0.1;
    /// From this share on of the time that program and clients could have run, waiting for a
    /// processor matters.
    const WAITING: f64 = 0.1;

    /// The difference to an earlier sample.
    pub fn since(self, before: ProcessorShares) -> ProcessorShares {
        let less = |of: fn(&ProcessorShares) -> u64| of(&self).saturating_sub(of(&before));
        ProcessorShares {
            program_ns: less(|one| one.program_ns),
            clients_ns: less(|one| one.clients_ns),
            kernel_ns: less(|one| one.kernel_ns),
            tracer_ns: less(|one| one.tracer_ns),
            ran_ns: less(|one| one.ran_ns),
            waited_ns: less(|one| one.waited_ns),
        }
    }

    /// The part of `busy_ns` of all processors that none of these used.
    pub fn others_ns(self, busy_ns: u64) -> u64 {
        [self.program_ns, self.clients_ns, self.kernel_ns, self.tracer_ns]
            .into_iter()
            .fold(busy_ns, |left, part| left.saturating_sub(part))
    }

    /// Whether other programs lengthened calls and the time between them, given the busy time and
    /// the total time of all processors.
    pub fn is_disturbed(self, busy_ns: u64, all_ns: u64) -> bool {
        let others = self.others_ns(busy_ns) as f64 >= ProcessorShares::DISTURBING * all_ns as f64;
        others && self.ran_share().is_none_or(|ran| 1.0 - ran >= ProcessorShares::WAITING)
    }

    /// The share of the time that program and clients ran of the time that they could have run;
    /// `None` where the kernel does not count it, or nothing ran.
    pub fn ran_share(self) -> Option<f64> {
        (self.ran_ns > 0).then(|| self.ran_ns as f64 / (self.ran_ns as f64 + self.waited_ns as f64))
    }
}

/// Another program, neither traced nor a client, that used processor time meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProgramBeside {
    /// The name of its processes.
    pub name: String,
    /// Their processor time, ns.
    pub used_ns: u64,
}

/// The last thing in the file of a whole trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct End {
    /// How long was traced, ns.
    pub elapsed_ns: u64,
    /// Operations in the file.
    pub operations: u64,
    /// Bytes that the program's calls read according to the kernel, and the bytes of these in this
    /// trace; `None` if they were not counted.
    #[serde(default)]
    pub read_bytes: Option<(u64, u64)>,
    /// The same of writes.
    #[serde(default)]
    pub written_bytes: Option<(u64, u64)>,
    /// The block devices beneath the files; empty if they were not sampled, or there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceBytes>,
    /// Samples of the processors during the trace, one every second or more; empty if none were
    /// taken, or tracing itself kept the processors busy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<ProcessorSample>,
    /// The other programs that used most processor time, in descending order; empty if not sampled,
    /// or names are hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<ProgramBeside>,
    /// What is not in the trace.
    #[serde(default)]
    pub unseen: Vec<Unseen>,
    /// How the command ended, in words.
    #[serde(default)]
    pub outcome: String,
}

impl End {
    /// The share of the moved bytes that this trace lacks; `None` if they were not counted, or
    /// nothing moved.
    pub fn unseen_share(&self) -> Option<f64> {
        let (all_read, seen_read) = self.read_bytes?;
        let (all_written, seen_written) = self.written_bytes?;
        let all = all_read.saturating_add(all_written);
        let seen = seen_read.min(all_read).saturating_add(seen_written.min(all_written));
        (all > 0).then(|| (all - seen) as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_disturb_who_has_to_wait_for_a_processor() {
        let shares = |others: u64, waited_ns: u64| {
            let ran_ns = if waited_ns == u64::MAX { 0 } else { 100 };
            ProcessorShares { program_ns: 90 - others, ran_ns, waited_ns, ..ProcessorShares::default() }
        };
        for (others, waited_ns, is_disturbed) in [(20, 30, true), (20, 5, false), (5, 30, false), (20, u64::MAX, true)]
        {
            assert_eq!(shares(others, waited_ns).is_disturbed(90, 100), is_disturbed, "{others} {waited_ns}");
        }
    }
}
