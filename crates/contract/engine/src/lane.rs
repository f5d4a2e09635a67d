//! The hot half of an engine, and the inputs of opening it.

use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use iolab_memory::PoolView;
use iolab_options::Settings;

use crate::{Completion, DeviceZones, EngineDescription, Op, TrimRanges, ZoneCall};

/// An engine: constant facts and a way to open lanes.
pub trait Engine {
    /// The lane it opens.
    type Lane: Lane + 'static;

    /// Name, options and capabilities.
    const DESCRIPTION: EngineDescription;

    /// Opens one lane for the calling thread.
    fn open(request: &LaneRequest<'_>) -> Result<Self::Lane, OpenError>;

    /// Files and block devices that the engine opens by its own options, besides the job's files;
    /// they are sampled while the job runs.
    fn opens(_options: &Settings) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether a job with these options overwrites what [`Engine::opens`] names as a whole,
    /// regardless of its content.
    fn remakes(_options: &Settings) -> bool {
        false
    }

    /// The facts about a device named in a job, for engines with
    /// [`crate::FileUse::Devices`] or [`crate::FileUse::DeviceNamedBy`]. It is
    /// called before the run, with the engine's own options as the job set them, and changes
    /// nothing.
    fn device(name: &str, _options: &Settings) -> Result<DeviceFacts, OpenError> {
        let message = format!("{}: the engine {} does not open devices by name", name, Self::DESCRIPTION.name);
        Err(OpenError { message, errno: None })
    }

    /// How such a device is divided into zones; `None` if it is not.
    fn zones(_name: &str, _options: &Settings) -> Result<Option<DeviceZones>, OpenError> {
        Ok(None)
    }

    /// Why a job must not write to a device that the engine opens itself, because of its content;
    /// `None` if it may, if `allowed` names the device, or if the engine refuses the name anyway.
    fn overwrite_refusal(_device: &Path, _options: &Settings, _job: &str, _allowed: &[PathBuf]) -> Option<String> {
        None
    }

    /// The library of the machine that the engine loads at run time, if it needs one. It is loaded
    /// by this question.
    fn library() -> Option<EngineLibrary> {
        None
    }

    /// Tells the engine what the user allows to be overwritten, for engines that make files of
    /// their own.
    fn allow_overwriting(_paths: &[PathBuf]) {}
}

/// A library of the machine that an engine loads at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineLibrary {
    /// Its file.
    pub file: &'static str,
    /// Its version and where it was loaded from, or why it cannot be used.
    pub found: Result<String, String>,
    /// The command that installs it.
    pub install: &'static str,
}

/// The facts about a device that an engine opens by itself, as a plan needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Its size, bytes.
    pub size_bytes: u64,
    /// Every operation covers whole blocks of this many bytes.
    pub block_bytes: u32,
}

/// Everything that a lane may use. Files and buffers outlive the lane.
#[derive(Debug)]
pub struct LaneRequest<'a> {
    /// The job's files, in plan order; [`Op::file`] indexes them.
    pub files: &'a [TargetFile],
    /// Most operations in flight at once (the job's iodepth), at least 1.
    pub depth: usize,
    /// The slot buffers, one per unit of depth.
    pub buffers: PoolView,
    /// The engine's own options as the job set them.
    pub options: &'a Settings,
    /// Whether files were opened with `O_DIRECT`.
    pub direct: bool,
    /// Seed for engines that make random choices of their own.
    pub seed: u64,
    /// The number of the worker in its run, from 0: for engines that divide something among
    /// workers.
    pub worker: u32,
}

/// One file of a job as the engine sees it.
#[derive(Debug, Clone)]
pub struct TargetFile {
    /// Its path.
    pub path: PathBuf,
    /// Its descriptor, for engines with [`crate::FileUse::Descriptors`]; -1 otherwise.
    pub fd: RawFd,
    /// Its size when opened, bytes.
    pub size_bytes: u64,
    /// Whether it is a block device.
    pub is_block_device: bool,
}

/// Function not implemented, errno(3).
const ENOSYS: i32 = 38;

/// A lane: one thread's way to submit operations and collect completions.
///
/// The loop owns a slot until `submit` accepts an op that names it; the lane owns it until `reap`
/// returns it. Synchronous lanes finish the operation inside `submit` and return it at the next
/// `reap`.
pub trait Lane {
    /// Whether `submit` performs the operation before it returns.
    const SYNCHRONOUS: bool;

    /// Whether `flush_and_reap` submits and waits in one system call. The loop then stamps
    /// *submitted* just before that call, because there is no moment between the two.
    const FUSES: bool = false;

    /// Whether `perform` works.
    const PERFORMS: bool = false;

    /// [`Lane::SYNCHRONOUS`] of this lane: the loop asks the lane itself, because one loop serves
    /// lanes of several types behind a pointer. Only such a pointer overrides this.
    #[inline(always)]
    fn is_synchronous(&self) -> bool {
        Self::SYNCHRONOUS
    }

    /// [`Lane::FUSES`] of this lane.
    #[inline(always)]
    fn fuses(&self) -> bool {
        Self::FUSES
    }

    /// [`Lane::PERFORMS`] of this lane.
    #[inline(always)]
    fn performs(&self) -> bool {
        Self::PERFORMS
    }

    /// Takes one operation. It need not be visible to the device before `flush`.
    fn submit(&mut self, op: &Op) -> Submission;

    /// Makes all accepted operations visible, with one system call or doorbell where possible.
    fn flush(&mut self) -> Result<(), LaneError>;

    /// Appends completions to `out`, as `wait` says, and returns how many. Never more than `out`
    /// has room for.
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError>;

    /// `flush` and `reap` in one; engines whose kernel interface can do both in one call override
    /// it.
    #[inline]
    fn flush_and_reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.flush()?;
        self.reap(wait, out)
    }

    /// Performs one operation from beginning to end, while the lane holds no other. Returns the
    /// result of its completion, or the errno with which it is refused. Only for lanes with
    /// [`Lane::PERFORMS`]; it does the same as `submit` and `reap`, without the queue that one
    /// operation does not need.
    #[inline]
    fn perform(&mut self, _op: &Op) -> Result<i32, i32> {
        Err(ENOSYS)
    }

    /// From now on, trims have these ranges. Only for engines with
    /// [`crate::Capabilities::trims_ranges`]. Cold.
    ///
    /// # Errors
    /// The errno.
    fn set_trim_ranges(&mut self, _ranges: TrimRanges) -> Result<(), i32> {
        Err(ENOSYS)
    }

    /// Does what is asked of a zoned device that the lane opened itself, beside the operations in
    /// flight, and waits for it. From the first call on, trims of whole zones of the file reset
    /// them. Cold.
    ///
    /// # Errors
    /// The errno.
    fn zone_call(&mut self, _file: u32, _call: ZoneCall<'_>) -> Result<(), i32> {
        Err(ENOSYS)
    }

    /// Whether an operation that moves nothing is the end of all that there is, so that the job
    /// ends without an error, such as a stream whose other end has closed. Cold.
    fn ends(&self) -> bool {
        false
    }

    /// Remarks for the user about the opening of the lane, e.g. which faster way the kernel refused
    /// and why, and about its end. Whole sentences, for the warnings of the recording. Cold.
    fn notes(&self) -> &[String] {
        &[]
    }
}

/// The answer to `submit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submission {
    /// The lane owns the op.
    Accepted,
    /// No room: flush or reap, then offer it again.
    Full,
    /// The op cannot be done; the errno says why. The loop keeps the slot.
    Refused(i32),
}

/// How long `reap` waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Return only when this many completions are in `out` (or the timeout passed); 0 polls.
    pub at_least: usize,
    /// Give up after this many nanoseconds; `u64::MAX` waits forever.
    pub timeout_ns: u64,
}

impl Wait {
    /// Check, without waiting.
    pub const POLL: Wait = Wait { at_least: 0, timeout_ns: 0 };
}

/// A reusable batch of completions: fixed room, never grows.
#[derive(Debug)]
pub struct Completions {
    items: Box<[Completion]>,
    length: usize,
}

impl Completions {
    /// Room for `room` completions.
    pub fn with_room(room: usize) -> Completions {
        Completions { items: vec![Completion { slot: 0, result: 0 }; room].into(), length: 0 }
    }

    /// Adds one; the caller checks `room_left`.
    #[inline]
    pub fn push(&mut self, completion: Completion) {
        debug_assert!(self.length < self.items.len(), "a lane pushed more completions than there is room for");
        if let Some(item) = self.items.get_mut(self.length) {
            *item = completion;
            self.length += 1;
        }
    }

    /// Adds as many as there is room for, from the first; returns their number.
    #[inline(always)]
    pub fn extend(&mut self, completions: &[Completion]) -> usize {
        let free = &mut self.items[self.length..];
        let count = completions.len().min(free.len());
        match (completions, &mut *free) {
            // A copy of known length is an instruction or two, one of unknown length a call.
            ([only], [place, ..]) => *place = *only,
            _ => free[..count].copy_from_slice(&completions[..count]),
        }
        self.length += count;
        count
    }

    /// Adds those that `make` makes of the numbers below `count`, or of as many as there is room
    /// for; returns how many.
    #[inline(always)]
    pub fn extend_with(&mut self, count: usize, mut make: impl FnMut(usize) -> Completion) -> usize {
        let free = &mut self.items[self.length..];
        let count = count.min(free.len());
        for (index, place) in free[..count].iter_mut().enumerate() {
            *place = make(index);
        }
        self.length += count;
        count
    }

    /// How many more fit.
    #[inline]
    pub fn room_left(&self) -> usize {
        self.items.len() - self.length
    }

    /// The completions collected since `clear`.
    #[inline]
    pub fn as_slice(&self) -> &[Completion] {
        &self.items[..self.length]
    }

    /// The completions collected since `clear`, for a checker to change.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [Completion] {
        &mut self.items[..self.length]
    }

    /// Removes them.
    #[inline]
    pub fn clear(&mut self) {
        self.length = 0;
    }
}

/// Why a lane could not be opened.
#[derive(Debug)]
pub struct OpenError {
    /// What was tried and why it failed, in a sentence on which a user can act.
    pub message: String,
    /// The errno, if the kernel gave one; `EPERM` if the engine itself refuses, because something
    /// would be destroyed.
    pub errno: Option<i32>,
}

impl OpenError {
    /// Whether the engine refuses, for safety.
    pub fn is_refusal(&self) -> bool {
        const EPERM: i32 = 1;
        self.errno == Some(EPERM)
    }
}

/// A lane broke: no operation can be submitted or reaped any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneError {
    /// The call that failed, e.g. `io_uring_enter`.
    pub call: &'static str,
    /// Its errno.
    pub errno: i32,
}
