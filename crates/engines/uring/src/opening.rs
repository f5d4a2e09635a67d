//! Opens a ring: the fastest set-up that this kernel and these limits allow, and a list of what was
//! given up.
//!
//! Features that the job did not request are silently left out if the kernel is too old. Requested
//! features that are unavailable, and features prevented by a limit of the process, become notes.

use iolab_engine::{LaneRequest, OpenError, PoolView};

use crate::abi::{self, Params, feature, setup};
use crate::options::Requested;
use crate::ring::Ring;

/// A ring ready for a lane.
#[derive(Debug)]
pub(crate) struct Opened<const WIDE: bool = false> {
    pub(crate) ring: Ring<WIDE>,
    /// Flags the ring was set up with.
    pub(crate) setup_flags: u32,
    /// Whether operations name buffers and files by their registered index.
    pub(crate) fixed_buffers: bool,
    pub(crate) fixed_files: bool,
    pub(crate) notes: Vec<String>,
}

/// Sets up a ring for `request.depth` operations and registers what can be registered.
pub(crate) fn open<const WIDE: bool>(
    request: &LaneRequest<'_>,
    requested: &Requested,
) -> Result<Opened<WIDE>, OpenError> {
    if request.depth == 0 || request.depth > abi::MAX_ENTRIES {
        let message = format!("io_uring supports an iodepth of 1 to {}, not {}", abi::MAX_ENTRIES, request.depth);
        return Err(OpenError { message, errno: None });
    }
    let (ring, params) = set_up(request.depth, requested)?;
    if params.features & feature::EXT_ARG == 0 {
        let message = "this kernel's io_uring cannot wait with a timeout (Linux 5.11 can); use ioengine=libaio".into();
        return Err(OpenError { message, errno: None });
    }
    let notes = missing(&params, requested);
    let mut opened = Opened { ring, setup_flags: params.flags, fixed_buffers: false, fixed_files: false, notes };
    opened.register(request, requested);
    Ok(opened)
}

/// The sets of flags to try, best first.
fn candidates(requested: &Requested) -> Vec<u32> {
    let allowed = |wish: Option<bool>| wish != Some(false);
    let mut always = setup::CQSIZE;
    if requested.poll_device {
        always |= setup::IOPOLL;
    }
    if requested.poll_thread {
        always |= setup::SQPOLL;
        if requested.poll_thread_cpu.is_some() {
            always |= setup::SQ_AFF;
        }
    }
    let issuer = if allowed(requested.single_issuer) { setup::SINGLE_ISSUER } else { 0 };
    let mut list = Vec::new();
    // The kernel combines neither way of running task work with a submission thread.
    if !requested.poll_thread {
        let work = setup::TASKRUN_FLAG | setup::SUBMIT_ALL;
        if issuer != 0 && allowed(requested.defer_taskrun) {
            list.push(issuer | setup::DEFER_TASKRUN | work);
        }
        if allowed(requested.coop_taskrun) {
            list.extend([issuer | setup::COOP_TASKRUN | work, setup::COOP_TASKRUN | work]);
        }
    }
    list.extend([issuer | setup::SUBMIT_ALL, setup::SUBMIT_ALL, 0]);
    list.iter_mut().for_each(|flags| *flags |= always);
    list
}

fn set_up<const WIDE: bool>(depth: usize, requested: &Requested) -> Result<(Ring<WIDE>, Params), OpenError> {
    let entries = depth.next_power_of_two() as u32;
    let mut errno = libc::EINVAL;
    for flags in candidates(requested) {
        let mut params = Params {
            flags,
            cq_entries: 2 * entries,
            sq_thread_cpu: requested.poll_thread_cpu.unwrap_or(0),
            sq_thread_idle: requested.poll_thread_idle_ms,
            ..Params::default()
        };
        match Ring::new(entries, &mut params) {
            Ok(ring) => return Ok((ring, params)),
            Err(libc::EINVAL) => {}
            Err(other) => {
                errno = other;
                break;
            }
        }
    }
    Err(OpenError { message: explain(errno, depth, requested), errno: Some(errno) })
}

/// The meaning of a failed set-up for users.
fn explain(errno: i32, depth: usize, requested: &Requested) -> String {
    let why = match errno {
        libc::EPERM => {
            "io_uring is disabled, by sysctl kernel.io_uring_disabled or by a container's seccomp filter; use \
            ioengine=libaio, or allow io_uring"
        }
        libc::ENOSYS => {
            "this kernel has no io_uring, or a seccomp filter hides it (as in containers); use ioengine=libaio"
        }
        libc::ENOMEM => "not enough memory for the ring: raise the locked-memory limit (ulimit -l) or lower iodepth",
        libc::EMFILE | libc::ENFILE => "no file descriptor left for the ring: raise ulimit -n or lower numjobs",
        libc::EINVAL if requested.poll_thread_cpu.is_some() => "check that the CPU in sqthread_poll_cpu exists",
        libc::EINVAL => "the kernel supports none of the setup flags tried",
        _ => "the kernel rejected the ring",
    };
    format!("io_uring_setup for iodepth {depth} failed (errno {errno}): {why}")
}

/// A note for each flag that the job requested by name but the ring lacks.
fn missing(params: &Params, requested: &Requested) -> Vec<String> {
    let asked = [
        ("single_issuer", requested.single_issuer, setup::SINGLE_ISSUER),
        ("defer_taskrun", requested.defer_taskrun, setup::DEFER_TASKRUN),
        // The stronger of the two ways of running task work contains the weaker.
        ("coop_taskrun", requested.coop_taskrun, setup::COOP_TASKRUN | setup::DEFER_TASKRUN),
    ];
    asked
        .into_iter()
        .filter(|(_, wish, flags)| *wish == Some(true) && params.flags & flags == 0)
        .map(|(name, ..)| format!("{name}=1 has no effect: the kernel does not support it with the other options"))
        .collect()
}

impl<const WIDE: bool> Opened<WIDE> {
    fn register(&mut self, request: &LaneRequest<'_>, requested: &Requested) {
        if requested.register_files != Some(false) && !request.files.is_empty() {
            let mut fds: Vec<i32> = request.files.iter().map(|file| file.fd.max(-1)).collect();
            match self.ring.register_files(&mut fds) {
                Ok(()) => self.fixed_files = true,
                Err(errno) => self.note(format!(
                    "could not register {} files (errno {errno}; see ulimit -n); using plain descriptors",
                    fds.len()
                )),
            }
        }
        let wants_buffers = requested.fixed_buffers.unwrap_or(!requested.vectored);
        if wants_buffers && request.buffers.slots() >= request.depth && request.buffers.slot_bytes() > 0 {
            self.register_buffers(&request.buffers, request.depth);
        }
        if requested.register_ring != Some(false)
            && let Err(errno) = self.ring.register_ring_fd()
            && requested.register_ring == Some(true)
        {
            self.note(format!("register_ring=1 has no effect: the kernel rejected it (errno {errno})"));
        }
    }

    fn register_buffers(&mut self, pool: &PoolView, slots: usize) {
        let bytes = pool.slot_bytes();
        let refused = if slots > abi::MAX_BUFFERS {
            format!("the kernel registers at most {} buffers", abi::MAX_BUFFERS)
        } else {
            let entry = |slot| libc::iovec { iov_base: pool.slot_ptr(slot).cast(), iov_len: bytes };
            let mut buffers: Vec<libc::iovec> = (0..slots).map(entry).collect();
            match self.ring.register_buffers(&mut buffers) {
                Ok(()) => {
                    self.fixed_buffers = true;
                    return;
                }
                Err(libc::ENOMEM) => "they exceed the locked-memory limit (ulimit -l)".to_owned(),
                Err(errno) => format!("errno {errno}"),
            }
        };
        self.note(format!("could not register {slots} buffers of {bytes} bytes ({refused}); using plain buffers"));
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_engine::conformance::ConformanceSetup;

    #[test]
    fn refusals_name_the_cause_and_a_way_out() {
        let requested = Requested::of(&ConformanceSetup::default().options);
        for (errno, cause, way) in [
            (libc::EPERM, "io_uring_disabled", "libaio"),
            (libc::ENOSYS, "seccomp", "libaio"),
            (libc::ENOMEM, "locked-memory limit", "iodepth"),
            (libc::EMFILE, "descriptor", "numjobs"),
        ] {
            let message = explain(errno, 8, &requested);
            assert!(message.contains(cause) && message.contains(way), "{message}");
        }
    }

    #[test]
    fn switches_rule_flags_out() {
        let all_of = |setup: ConformanceSetup| {
            candidates(&Requested::of(&setup.options)).into_iter().fold(0, |all, one| all | one)
        };
        let automatic = all_of(ConformanceSetup::default());
        assert_ne!(automatic & setup::DEFER_TASKRUN, 0);
        for (name, flag) in [
            ("single_issuer", setup::SINGLE_ISSUER | setup::DEFER_TASKRUN),
            ("defer_taskrun", setup::DEFER_TASKRUN),
            ("coop_taskrun", setup::COOP_TASKRUN),
        ] {
            assert_eq!(all_of(ConformanceSetup::default().flag(name, false)) & flag, 0, "{name}=0");
        }
        let thread = all_of(ConformanceSetup::default().flag("sqthread_poll", true));
        assert_eq!(thread & (setup::DEFER_TASKRUN | setup::COOP_TASKRUN | setup::TASKRUN_FLAG), 0);
    }
}
