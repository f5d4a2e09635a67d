//! Forking and collecting children.
//!
//! Unsafe because fork leaves the child with one thread and whatever the others had locked.

use std::io;

/// Which side of a fork this is.
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

/// Forks this process. The child is killed when its parent dies, and leads a session of its own:
/// the terminal's signals reach the parent only, and where the kernel groups processes by session
/// (autogroup) the child gets a share of the processor as large as any other session, as fio's jobs
/// do, instead of a part of its parent's.
///
/// # Safety
/// The caller must have no other threads: the child would inherit locks that nobody will release.
pub unsafe fn fork() -> io::Result<Fork> {
    let parent = std::process::id();
    // SAFETY: the caller vouches that this process has a single thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: prctl with these arguments only sets an attribute of this process, and setsid
            // touches no memory; a fresh child leads no group, so it cannot fail.
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

/// Looks whether the child has ended; does not wait.
pub fn reap_child(pid: i32) -> ChildEnd {
    end_of(pid, libc::WNOHANG)
}

/// Waits until the child has ended, whatever signals come meanwhile.
pub fn wait_for_child(pid: i32) -> ChildEnd {
    end_of(pid, 0)
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

/// Ends this process at once: no destructors, no exit handlers. For forked children, which share
/// both with their parent.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: _exit touches no memory of ours and does not return.
    unsafe { libc::_exit(status) }
}

/// Sends a signal; a process that is gone is no error.
pub fn kill(pid: i32, signal: i32) {
    // SAFETY: kill touches no memory of ours.
    unsafe { libc::kill(pid, signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forked(body: fn() -> i32) -> i32 {
        // SAFETY: the child runs a body that takes no lock and leaves by _exit.
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
}
