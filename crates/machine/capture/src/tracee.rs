//! The traced command: starting, seizing and steering it, and reading its memory.
//!
//! Unsafe: forks, calls ptrace(2), waits for what it stops, and copies out of the memory of another
//! process. Between fork and exec the child makes system calls only and takes no lock, so that the
//! caller may have other threads.
#![allow(unsafe_code, reason = "island: fork, ptrace, wait4, process_vm_readv")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use iolab_clock::Clock;

use crate::filter;

/// Why a thread stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It ended: an exit status, or the signal that killed it.
    Ended { status: Option<i32>, signal: Option<i32> },
    /// Before a call of the filter.
    CallBegins,
    /// After a call.
    CallEnds,
    /// It made a process or thread of this number.
    Makes(i32),
    /// It runs another program now; before, its thread had this number.
    Runs(i32),
    /// It is about to end.
    Ends,
    /// It is stopped with its whole process, by job control.
    StandsStill,
    /// It was stopped by the tracer, or has just been made.
    Other,
    /// A signal is to be delivered.
    Signal(i32),
}

/// The result of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// A thread stopped.
    For(i32, Stop),
    /// None did yet.
    Nothing,
    /// A signal came.
    Interrupted,
    /// There is none left.
    NoneLeft,
}

/// A call as ptrace shows it: number and arguments before it, result and whether it failed after
/// it.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct CallInfo {
    kind: u8,
    padding: [u8; 3],
    machine: u32,
    instruction: u64,
    stack: u64,
    words: [u64; 8],
}

const INFO_EXIT: u8 = 2;
const INFO_SECCOMP: u8 = 3;

/// What the child does.
pub(crate) enum Body<'a> {
    /// Runs a program, found as a shell finds it.
    Command(&'a [CString]),
    /// Measures what being traced costs.
    Trial(&'a Clock),
}

/// A child that is seized and has not begun.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) pid: i32,
    /// What the child says: the error of exec, or times of a trial. Its end is closed by exec.
    pub(crate) says: OwnedFd,
    go: OwnedFd,
}

/// Calls of each kind in a round of a trial, and rounds: the quickest counts, since other programs
/// use the machine at times.
pub(crate) const TRIAL_CALLS: u64 = 80;
const TRIAL_ROUNDS: u64 = 5;

/// `PTRACE_GET_SYSCALL_INFO` (linux/ptrace.h, since 5.3), which not every C library knows.
const PTRACE_GET_SYSCALL_INFO: u32 = 0x420e;

const OPTIONS: i32 = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT
    | libc::PTRACE_O_EXITKILL;

impl Child {
    /// Forks and seizes.
    pub(crate) fn make(body: &Body<'_>) -> io::Result<Child> {
        let (wait, go) = pipe()?;
        let (says, say) = pipe()?;
        let program = filter::program();
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
        let arguments: Vec<*const libc::c_char> = match body {
            Body::Command(words) => words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect(),
            Body::Trial(_) => Vec::new(),
        };
        // SAFETY: the child calls `begin` and nothing else, which makes system calls only.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => return Err(io::Error::last_os_error()),
            0 => begin(body, &arguments, &filter, ChildPipes { wait: &wait, go: &go, say: &say }),
            _ => {}
        }
        drop((wait, say));
        let child = Child { pid, says, go };
        // SAFETY: seizing takes no address; the data are options.
        let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, OPTIONS as libc::c_long) };
        if seized == -1 {
            let error = io::Error::last_os_error();
            iolab_process::kill(pid, libc::SIGKILL);
            iolab_process::wait_for_child(pid);
            return Err(error);
        }
        Ok(child)
    }

    /// Lets it begin.
    pub(crate) fn begin(&self) {
        let go = [1_u8];
        // SAFETY: one byte of our memory is read. A child that is gone already is told so by
        // waiting.
        unsafe { libc::write(self.go.as_raw_fd(), go.as_ptr().cast(), 1) };
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written into the array.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were just made and belong to nobody else.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// The ends of pipes that a child has.
struct ChildPipes<'a> {
    /// A byte comes here when it may begin.
    wait: &'a OwnedFd,
    /// The other end of `wait`, which is the parent's: closed at once.
    go: &'a OwnedFd,
    /// Where it writes its messages.
    say: &'a OwnedFd,
}

/// In the child: waits until it is seized, installs the filter and performs its body.
fn begin(
    body: &Body<'_>,
    arguments: &[*const libc::c_char],
    filter: &libc::sock_fprog,
    ChildPipes { wait, go, say }: ChildPipes<'_>,
) -> ! {
    let mut byte = [0_u8];
    let mut said = [0_u64; 3];
    // SAFETY: system calls with memory of this process; `arguments` end with a null pointer and
    // point to strings that live; `_exit` does not return. Descriptors are closed as numbers, their
    // owners are never dropped here.
    unsafe {
        libc::close(go.as_raw_fd());
        if libc::read(wait.as_raw_fd(), byte.as_mut_ptr().cast(), 1) != 1 {
            libc::_exit(127);
        }
        if let Body::Trial(clock) = body {
            said[0] = time_of(clock, || libc::syscall(libc::SYS_getppid));
        }
        let answer = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        let filtered = libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const *filter);
        if answer == 0 && filtered == 0 {
            match body {
                Body::Command(_) => drop(libc::execvp(arguments[0], arguments.as_ptr())),
                Body::Trial(clock) => {
                    said[1] = time_of(clock, || libc::syscall(libc::SYS_getppid));
                    said[2] = time_of(clock, || libc::lseek(-1, 0, 0));
                    libc::write(say.as_raw_fd(), said.as_ptr().cast(), size_of_val(&said));
                    libc::_exit(0);
                }
            }
        }
        let errno = *libc::__errno_location();
        libc::write(say.as_raw_fd(), (&raw const errno).cast(), size_of_val(&errno));
        libc::_exit(127)
    }
}

/// How long the calls of the quickest round of a trial take, ns.
fn time_of(clock: &Clock, mut call: impl FnMut() -> i64) -> u64 {
    let mut quickest_ns = u64::MAX;
    for _ in 0..TRIAL_ROUNDS {
        let begun_ns = clock.now_ns();
        for _ in 0..TRIAL_CALLS {
            call();
        }
        quickest_ns = quickest_ns.min(clock.now_ns() - begun_ns);
    }
    quickest_ns
}

/// Waits for any thread that this thread traces.
pub(crate) fn wait(blocking: bool) -> Waited {
    let mut status = 0;
    let options = libc::__WALL | libc::__WNOTHREAD | if blocking { 0 } else { libc::WNOHANG };
    // SAFETY: the status is written into a variable of ours; no use of resources is asked for.
    let thread = unsafe { libc::wait4(-1, &raw mut status, options, ptr::null_mut()) };
    match thread {
        0 => Waited::Nothing,
        -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => Waited::Interrupted,
        -1 => Waited::NoneLeft,
        _ => Waited::For(thread, stop_of(thread, status)),
    }
}

fn stop_of(thread: i32, status: i32) -> Stop {
    if libc::WIFEXITED(status) {
        return Stop::Ended { status: Some(libc::WEXITSTATUS(status)), signal: None };
    }
    if libc::WIFSIGNALED(status) {
        return Stop::Ended { status: None, signal: Some(libc::WTERMSIG(status)) };
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        libc::PTRACE_EVENT_SECCOMP => Stop::CallBegins,
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
            Stop::Makes(event_message(thread) as i32)
        }
        libc::PTRACE_EVENT_EXEC => Stop::Runs(event_message(thread) as i32),
        libc::PTRACE_EVENT_EXIT => Stop::Ends,
        libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Stop::Other,
        libc::PTRACE_EVENT_STOP => Stop::StandsStill,
        0 if signal == libc::SIGTRAP | 0x80 => Stop::CallEnds,
        0 => Stop::Signal(signal),
        _ => Stop::Other,
    }
}

fn event_message(thread: i32) -> u64 {
    let mut message = 0_u64;
    // SAFETY: the message is written into a variable of ours.
    unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, thread, 0, &raw mut message) };
    message
}

/// How to resume a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resume {
    /// Until the next call of the filter.
    On,
    /// Until the end of the call that it is in.
    ToEndOfCall,
    /// It stays stopped until job control continues it.
    Listen,
}

/// Continues a thread, with a signal or 0. If it was killed meanwhile, waiting reports it.
pub(crate) fn resume(thread: i32, how: Resume, signal: i32) {
    let request = match how {
        Resume::On => libc::PTRACE_CONT,
        Resume::ToEndOfCall => libc::PTRACE_SYSCALL,
        Resume::Listen => libc::PTRACE_LISTEN,
    };
    // SAFETY: no address is given; the data are the number of a signal.
    unsafe { libc::ptrace(request, thread, 0, libc::c_long::from(signal)) };
}

/// Number and arguments of the call that begins.
pub(crate) fn call_that_begins(thread: i32) -> Option<(u64, [u64; 6])> {
    let info = call_info(thread).filter(|info| info.kind == INFO_SECCOMP)?;
    let [number, a, b, c, d, e, f, _] = info.words;
    Some((number, [a, b, c, d, e, f]))
}

/// Result of the call that ended; an error as its negative number.
pub(crate) fn result_of_call(thread: i32) -> Option<i64> {
    call_info(thread).filter(|info| info.kind == INFO_EXIT).map(|info| info.words[0] as i64)
}

fn call_info(thread: i32) -> Option<CallInfo> {
    let mut info = CallInfo::default();
    let bytes = size_of::<CallInfo>();
    // SAFETY: at most `bytes` are written, into a structure of that size made of numbers.
    let answer = unsafe { libc::ptrace(PTRACE_GET_SYSCALL_INFO as _, thread, bytes, &raw mut info) };
    (answer > 0).then_some(info)
}

/// Copies out of the memory of a thread; false if not all of it is there.
pub(crate) fn read_memory(thread: i32, address: u64, into: &mut [u8]) -> bool {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: the kernel writes at most `into.len()` bytes to where `into` is; the other address is
    // of the other process, and only the kernel looks there.
    let count = unsafe { libc::process_vm_readv(thread, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(count).is_ok_and(|count| count == into.len())
}
