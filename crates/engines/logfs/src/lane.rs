//! The lane of a worker: on a domain of its own, or on the file system that all workers share.

use iolab_engine::{Completions, Lane, LaneError, LaneRequest, Op, OpenError, Submission, Wait};

use crate::options::Requested;
use crate::own_lane::OwnLane;
use crate::shared_lane::SharedLane;

/// A lane on files of a file system.
#[derive(Debug)]
pub struct LogfsLane(Kind);

#[derive(Debug)]
enum Kind {
    Own(Box<OwnLane>),
    Shared(Box<SharedLane>),
}

impl LogfsLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<LogfsLane, OpenError> {
        let requested = Requested::of(request.options);
        Ok(LogfsLane(match requested.is_shared {
            false => Kind::Own(Box::new(OwnLane::open(request, &requested)?)),
            true => Kind::Shared(Box::new(SharedLane::open(request, &requested)?)),
        }))
    }
}

impl Lane for LogfsLane {
    const SYNCHRONOUS: bool = false;
    const FUSES: bool = true;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        match &mut self.0 {
            Kind::Own(lane) => lane.submit(op),
            Kind::Shared(lane) => lane.submit(op),
        }
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        match &mut self.0 {
            Kind::Own(lane) => lane.flush(),
            Kind::Shared(lane) => lane.flush(),
        }
    }

    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        match &mut self.0 {
            Kind::Own(lane) => lane.reap(wait, out),
            Kind::Shared(lane) => lane.reap(wait, out),
        }
    }

    fn flush_and_reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.reap(wait, out)
    }

    fn notes(&self) -> &[String] {
        match &self.0 {
            Kind::Own(lane) => lane.notes(),
            Kind::Shared(lane) => lane.notes(),
        }
    }
}
