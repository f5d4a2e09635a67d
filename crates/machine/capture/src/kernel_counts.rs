//! The kernel's counters of a thread (`/proc/PID/task/TID/io`, proc_pid_io(5)), for comparison with
//! the captured calls.

use iolab_trace::Call;

/// Bytes that calls read and wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

impl Counts {
    /// Of a thread, while it exists.
    pub(crate) fn of(process: i32, thread: i32) -> Option<Counts> {
        Counts::parse(&std::fs::read_to_string(format!("/proc/{process}/task/{thread}/io")).ok()?)
    }

    /// Of all threads of a process, those that have ended included.
    pub(crate) fn of_process(process: i32) -> Option<Counts> {
        Counts::parse(&std::fs::read_to_string(format!("/proc/{process}/io")).ok()?)
    }

    fn parse(text: &str) -> Option<Counts> {
        let count = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Counts { read: count("rchar:")?, written: count("wchar:")? })
    }

    pub(crate) fn add(&mut self, other: Counts) {
        self.read = self.read.saturating_add(other.read);
        self.written = self.written.saturating_add(other.written);
    }

    /// What came since an earlier look.
    pub(crate) fn since(self, earlier: Counts) -> Counts {
        Counts { read: self.read.saturating_sub(earlier.read), written: self.written.saturating_sub(earlier.written) }
    }
}

/// Whether the kernel counts a call's bytes there: it does for calls that read and write
/// themselves, `copy_file_range` and `sendfile`, but not for `splice`, native AIO and io_uring.
pub(crate) fn is_counted(call: Call) -> bool {
    use Call::{CopyRead, CopyWrite, Pread, Preadv, Preadv2, Pwrite, Pwritev, Pwritev2, Read, Readv, SendfileRead};
    use Call::{SendfileWrite, Write, Writev};
    matches!(
        call,
        Read | Write
            | Pread
            | Pwrite
            | Readv
            | Writev
            | Preadv
            | Pwritev
            | Preadv2
            | Pwritev2
            | CopyRead
            | CopyWrite
            | SendfileRead
            | SendfileWrite
    )
}
