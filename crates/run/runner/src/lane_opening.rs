//! How a worker opens its lane, and lanes of several engines that share one loop.
//!
//! A loop is compiled for each type of lane. For an engine whose operations take a microsecond or
//! more (a system call with a seek before it, a library, a network), a call through a pointer is
//! not measurable, but a further copy of the loop costs compile time and a larger program. So such
//! engines put their lanes into a [`BoxedLane`]; and so do all engines for detailed jobs
//! ([`crate::choice::is_detailed`]), whose loops do more for each operation.

use iolab_engine::{
    Completions, Extent, Lane, LaneError, LaneRequest, Op, OpenError, Submission, TrimRanges, Wait, ZoneCall,
};
use iolab_plan::{Direction, FilePlan, WorkerPlan};

use crate::trouble::Fatal;

/// Opens one lane for the calling thread.
pub(crate) type OpenLane<L> = fn(&LaneRequest<'_>) -> Result<L, OpenError>;

/// What a worker says about a lane that cannot be opened.
pub(crate) fn not_opened(error: OpenError) -> Fatal {
    Fatal { errno: error.errno.unwrap_or(libc::EINVAL), message: error.message }
}

/// The ranges of its files that the worker uses.
pub(crate) fn extents(plan: &WorkerPlan) -> Vec<Extent> {
    let of = |file: &FilePlan| Extent { start_bytes: file.start_bytes, length_bytes: file.length_bytes };
    plan.files.iter().map(of).collect()
}

/// Tells the lane where the ranges of trims are, if trims have several.
pub(crate) fn set_trim_ranges<L: Lane>(plan: &WorkerPlan, lane: &mut L) -> Result<(), Fatal> {
    let Some(count) = plan.workload.trim_ranges else { return Ok(()) };
    let files = extents(plan);
    let range_bytes = plan.workload.block_sizes[Direction::Trim.index()].min() / u64::from(count);
    let seed = plan.workload.pattern.random.then_some(plan.workload.seed);
    lane.set_trim_ranges(TrimRanges::new(count, range_bytes, &files, seed))
        .map_err(|errno| Fatal { errno, message: "the engine cannot trim several ranges at once".to_owned() })
}

/// The methods of [`Lane`] that can be called through a pointer.
trait PointedLane {
    fn submit(&mut self, op: &Op) -> Submission;
    fn flush(&mut self) -> Result<(), LaneError>;
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError>;
    fn flush_and_reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError>;
    fn perform(&mut self, op: &Op) -> Result<i32, i32>;
    fn set_trim_ranges(&mut self, ranges: TrimRanges) -> Result<(), i32>;
    fn zone_call(&mut self, file: u32, call: ZoneCall<'_>) -> Result<(), i32>;
    fn ends(&self) -> bool;
    fn notes(&self) -> &[String];
}

impl<L: Lane> PointedLane for L {
    fn submit(&mut self, op: &Op) -> Submission {
        Lane::submit(self, op)
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        Lane::flush(self)
    }

    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        Lane::reap(self, wait, out)
    }

    fn flush_and_reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        Lane::flush_and_reap(self, wait, out)
    }

    fn perform(&mut self, op: &Op) -> Result<i32, i32> {
        Lane::perform(self, op)
    }

    fn set_trim_ranges(&mut self, ranges: TrimRanges) -> Result<(), i32> {
        Lane::set_trim_ranges(self, ranges)
    }

    fn zone_call(&mut self, file: u32, call: ZoneCall<'_>) -> Result<(), i32> {
        Lane::zone_call(self, file, call)
    }

    fn ends(&self) -> bool {
        Lane::ends(self)
    }

    fn notes(&self) -> &[String] {
        Lane::notes(self)
    }
}

/// A lane of any engine, reached through a pointer.
pub(crate) struct BoxedLane {
    inner: Box<dyn PointedLane>,
    synchronous: bool,
    fuses: bool,
    performs: bool,
}

impl BoxedLane {
    pub(crate) fn new<L: Lane + 'static>(lane: L) -> Self {
        BoxedLane { inner: Box::new(lane), synchronous: L::SYNCHRONOUS, fuses: L::FUSES, performs: L::PERFORMS }
    }
}

impl Lane for BoxedLane {
    /// What lanes have in common that can be any.
    const SYNCHRONOUS: bool = false;

    #[inline]
    fn is_synchronous(&self) -> bool {
        self.synchronous
    }

    #[inline]
    fn fuses(&self) -> bool {
        self.fuses
    }

    #[inline]
    fn performs(&self) -> bool {
        self.performs
    }

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        self.inner.submit(op)
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        self.inner.flush()
    }

    #[inline]
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.inner.reap(wait, out)
    }

    #[inline]
    fn flush_and_reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.inner.flush_and_reap(wait, out)
    }

    #[inline]
    fn perform(&mut self, op: &Op) -> Result<i32, i32> {
        self.inner.perform(op)
    }

    fn set_trim_ranges(&mut self, ranges: TrimRanges) -> Result<(), i32> {
        self.inner.set_trim_ranges(ranges)
    }

    fn zone_call(&mut self, file: u32, call: ZoneCall<'_>) -> Result<(), i32> {
        self.inner.zone_call(file, call)
    }

    fn ends(&self) -> bool {
        self.inner.ends()
    }

    fn notes(&self) -> &[String] {
        self.inner.notes()
    }
}
