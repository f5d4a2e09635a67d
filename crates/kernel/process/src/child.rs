//! Forking, and collecting children.
//!
//! Unsafe because fork leaves the child with one thread, and with whatever locks the other threads
//! held.

use std::io;
use std::process::{Child, ExitStatus};

use iolab_clock::Clock;

/// How often a child is asked whether it has ended, ns.
const BETWEEN_LOOKS_NS: u64 = 2_000_000;

/// How long the kernel may take to end a program that was killed, ns.
const KILL_NS: u64 = 1_000_000_000;

/// The side of a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    /// In the parent: the child's process id.
    Parent(i32),
    /// In the child.
    Child,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildEnd {
    /// It has not ended.
    Running,
    /// It exited with this status.
    Exited(i32),
    /// A signal killed it.
    Killed(i32),
}

/// Forks this process. The child is killed when its parent dies, and leads its own session. The
/// terminal's signals therefore reach only the parent. Where the kernel groups processes by session
/// (autogroup), the child gets as large a share of the processor as any other session, as fio's
/// jobs do, instead of a part of its parent's share.
///
/// # Safety
/// The caller must have no other threads: the child would inherit locks that nobody will release.
pub unsafe fn fork() -> io::Result<Fork> {
    let parent = std::process::id();
    // SAFETY: the caller guarantees that this process has a single thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: prctl with these arguments only sets an attribute of this process, and setsid
            // touches no memory. A new child leads no group, so setsid cannot fail.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::setsid();
            }
            if std::os::unix::process::parent_id() != parent {
                // The parent died before the death signal was set.
                exit_now(1);
            }
            Ok(Fork::Child)
        }
        pid => Ok(Fork::Parent(pid)),
    }
}

/// Checks whether the child has ended. Does not wait.
pub fn reap_child(pid: i32) -> ChildEnd {
    end_of(pid, libc::WNOHANG)
}

/// Waits until the child has ended, even if signals arrive in the meantime.
pub fn wait_for_child(pid: i32) -> ChildEnd {
    end_of(pid, 0)
}

/// Waits until the program has ended, at most `patience_ns`. Returns its status if it has ended.
pub fn ended_within(child: &mut Child, patience_ns: u64) -> Option<ExitStatus> {
    let clock = Clock::monotonic();
    let until_ns = clock.now_ns().saturating_add(patience_ns);
    loop {
        // One that cannot be waited for has been collected by somebody else: it is as good as gone.
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if clock.now_ns() < until_ns => {
                clock.sleep_until(until_ns.min(clock.now_ns() + BETWEEN_LOOKS_NS), 0);
            }
            _ => return None,
        }
    }
}

/// Gives the program `patience_ns` to end by itself, and kills it then. Returns its status if it
/// ended by itself. One that cannot be killed (it waits for a device) is left to the kernel.
pub fn end_or_kill(child: &mut Child, patience_ns: u64) -> Option<ExitStatus> {
    let status = ended_within(child, patience_ns);
    if status.is_none() {
        // It may have ended meanwhile.
        let _ = child.kill();
        let _ = ended_within(child, KILL_NS);
    }
    status
}

fn end_of(pid: i32, options: i32) -> ChildEnd {
    let mut status = 0;
    let answer = loop {
        // SAFETY: `status` is a valid place for the result.
        let answer = unsafe { libc::waitpid(pid, &raw mut status, options) };
        if answer != -1 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break answer;
        }
    };
    if answer == 0 {
        ChildEnd::Running
    } else if answer == pid && libc::WIFSIGNALED(status) {
        ChildEnd::Killed(libc::WTERMSIG(status))
    } else if answer == pid {
        ChildEnd::Exited(libc::WEXITSTATUS(status))
    } else {
        ChildEnd::Exited(255)
    }
}

/// Ends this process at once, without destructors and exit handlers. This is for forked children,
/// which share both with their parent.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: _exit touches no memory of this process and does not return.
    unsafe { libc::_exit(status) }
}

/// Sends a signal. If the process is gone, this is not an error.
pub fn kill(pid: i32, signal: i32) {
    // SAFETY: kill touches no memory of this process.
    unsafe { libc::kill(pid, signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forked(body: fn() -> i32) -> i32 {
        // SAFETY: the child runs a body that takes no lock, and exits with _exit.
        match unsafe { fork() }.unwrap() {
            Fork::Parent(pid) => pid,
            Fork::Child => exit_now(body()),
        }
    }

    #[test]
    fn children_lead_sessions() {
        // SAFETY: both only read attributes of this process.
        let leads_none = || i32::from(unsafe { libc::getsid(0) != libc::getpid() });
        assert_eq!(wait_for_child(forked(leads_none)), ChildEnd::Exited(0));
    }

    #[test]
    fn children_end_by_status_or_signal() {
        assert_eq!(wait_for_child(forked(|| 7)), ChildEnd::Exited(7));
        let sleeper = forked(|| {
            std::thread::sleep(std::time::Duration::from_secs(60));
            0
        });
        assert_eq!(reap_child(sleeper), ChildEnd::Running);
        kill(sleeper, libc::SIGKILL);
        assert_eq!(wait_for_child(sleeper), ChildEnd::Killed(libc::SIGKILL));
    }

    #[test]
    fn programs_get_time_to_end_and_are_killed_then() {
        let start = |line: &str| std::process::Command::new("/bin/sh").args(["-c", line]).spawn().expect("a shell");
        let status = end_or_kill(&mut start("exit 5"), u64::MAX).expect("it ends by itself");
        assert_eq!(status.code(), Some(5));

        let mut sleeper = start("exec sleep 60");
        assert_eq!(ended_within(&mut sleeper, 0), None);
        assert_eq!(end_or_kill(&mut sleeper, 0), None);
        assert!(sleeper.try_wait().expect("collected").is_some());
    }
}
