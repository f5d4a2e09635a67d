//! The stream itself: a loop that asks each part in turn, compiled for every combination of parts.

use iolab_engine::{Op, OpKind};
use iolab_plan::{Direction, WorkloadPlan};

use crate::directions::Directions;
use crate::files::{Ended, Files};
use crate::placement::{Placement, Spot};
use crate::random::{Role, derive};
use crate::sizes::Sizes;
use crate::{OpBatch, PassLimits};

/// A source of operations, in batches: generated from a plan by this crate, or from elsewhere.
pub trait Source: Send {
    /// Replaces the content of the batch ([`OpBatch::clear`], [`OpBatch::push`]); leaves it empty
    /// when the pass is over.
    ///
    /// Called between the first and the last operation of a worker: it must not allocate, block, or
    /// read a clock.
    fn fill(&mut self, out: &mut OpBatch);
    /// Begins the next pass.
    fn restart(&mut self);
    /// Files, by their number in the plan, that begin again with the first operation of the batch
    /// that was filled last: a batch ends before a file begins again. Empty for a source that goes
    /// through no file twice, or never reaches the end of one.
    fn begun_again(&self) -> &[u32] {
        &[]
    }
    /// Memory held, bytes.
    fn memory_bytes(&self) -> usize;
}

/// The limits of one pass.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    limits: PassLimits,
    /// The pass moves more bytes than the files hold.
    wraps: bool,
    /// With fewer bytes left than this, the files do not begin again.
    worth_bytes: u64,
    bytes_left: u64,
    ops_left: u64,
}

impl Budget {
    pub(crate) fn new(limits: PassLimits, total_bytes: u64, worth_bytes: u64) -> Budget {
        let mut budget =
            Budget { limits, wraps: limits.io_bytes > total_bytes, worth_bytes, bytes_left: 0, ops_left: 0 };
        budget.renew();
        budget
    }

    fn renew(&mut self) {
        self.bytes_left = self.limits.io_bytes;
        self.ops_left = self.limits.io_count.unwrap_or(u64::MAX);
    }

    /// How many of `room` operations the limits still allow.
    #[inline]
    fn ops_within(&self, room: usize) -> usize {
        usize::try_from(self.ops_left).map_or(room, |left| left.min(room))
    }

    /// What is left after `ops` operations.
    #[inline]
    fn spend(&mut self, ops: usize, bytes_left: u64) {
        self.bytes_left = bytes_left;
        self.ops_left -= ops as u64;
    }

    fn close(&mut self) {
        self.bytes_left = 0;
    }

    fn may_wrap(&self) -> bool {
        self.wraps && self.bytes_left >= self.worth_bytes
    }
}

/// Combines directions, files, placement and sizes.
pub(crate) struct Stream<D, F, P, S> {
    directions: D,
    files: F,
    placement: P,
    sizes: S,
    budget: Budget,
    plan_seed: u64,
    pass: u64,
    /// Counts how often files began within the pass.
    begun: u64,
    /// Files that begin again with the batch that is being filled.
    again: Vec<u32>,
    /// The pass has begun, and no batch of it has been filled.
    is_fresh: bool,
    /// A drawn direction for which a file has to begin again.
    held: Option<Direction>,
}

/// What to do when the current file has no place.
enum Elsewhere {
    At(usize, Spot),
    /// Files begin again first, but the batch has operations from before that.
    AfterThisBatch,
    Nowhere,
}

impl<D: Directions, F: Files, P: Placement, S: Sizes> Stream<D, F, P, S> {
    pub(crate) fn new(plan: &WorkloadPlan, budget: Budget, parts: (D, F, P, S)) -> Self {
        let (directions, files, placement, sizes) = parts;
        let again = Vec::with_capacity(files.list().len());
        let mut stream = Stream {
            directions,
            files,
            placement,
            sizes,
            budget,
            plan_seed: plan.seed,
            pass: 0,
            begun: 0,
            again,
            is_fresh: true,
            held: None,
        };
        stream.begin_pass();
        stream.again.clear();
        stream
    }

    fn pass_seed(&self) -> u64 {
        derive(self.plan_seed, Role::Sequence, self.pass)
    }

    fn begin_pass(&mut self) {
        let seed = self.pass_seed();
        self.budget.renew();
        self.begun = 0;
        self.directions.reseed(seed);
        self.sizes.reseed(seed);
        self.placement.reseed(seed);
        self.begin_files();
    }

    fn begin_files(&mut self) {
        let seed = derive(self.pass_seed(), Role::File, self.begun);
        self.files.begin(seed);
        for index in 0..self.files.list().len() {
            let file = self.files.list()[index] as usize;
            self.begin_file(file);
        }
    }

    fn begin_file(&mut self, file: usize) {
        self.begun += 1;
        // As many places as there are files. An endless file never begins again.
        if !self.placement.is_endless() && self.again.len() < self.again.capacity() {
            self.again.push(file as u32);
        }
        self.placement.begin(file, derive(self.pass_seed(), Role::Map, self.begun));
    }

    /// Fills the batch from the current file. Returns the direction for which the file has no place
    /// left; `None` when the batch is full or the pass is over.
    ///
    /// Calls only inlined functions, so that generators and counters stay in registers.
    #[inline]
    fn fill_from_current(&mut self, out: &mut OpBatch) -> Option<Direction> {
        let mut bytes_left = self.budget.bytes_left;
        let mut made = 0;
        let mut stuck = None;
        for place in out.places(self.budget.ops_within(out.room())) {
            if bytes_left == 0 {
                break;
            }
            let direction = self.directions.next();
            let file = self.files.current();
            let found = file.and_then(|file| Some((file, self.placement.place(file, direction.index())?)));
            let Some((file, spot)) = found else {
                stuck = Some(direction);
                break;
            };
            *place = self.settle(direction, file, spot);
            bytes_left = bytes_left.saturating_sub(u64::from(place.length));
            made += 1;
        }
        out.extend_by(made);
        self.budget.spend(made, bytes_left);
        stuck
    }

    /// The operation at this place, with a size.
    #[inline(always)]
    fn settle(&mut self, direction: Direction, file: usize, spot: Spot) -> Op {
        let index = direction.index();
        let length = self.sizes.draw(index, spot.random, spot.room).min(spot.free);
        self.placement.commit(file, index, spot.offset, length);
        self.files.served(length);
        self.directions.moved(direction);
        Op {
            offset: self.files.start_bytes(file) + spot.offset,
            length: length as u32,
            buffer_offset: 0,
            file: file as u32,
            slot: 0,
            kind: OpKind::from(direction),
            priority: 0,
        }
    }

    /// Where to continue when the current file has no place; `is_first` for an empty batch.
    #[cold]
    #[inline(never)]
    fn find_elsewhere(&mut self, direction: usize, is_first: bool) -> Elsewhere {
        let mut wrapped = false;
        loop {
            let ended = match self.files.current() {
                Some(file) => match self.placement.place(file, direction) {
                    Some(spot) => return Elsewhere::At(file, spot),
                    None => (self.files.ended(), file),
                },
                None => (Ended::All, 0),
            };
            match ended {
                (Ended::Next, _) => {}
                (Ended::Again, _) if !is_first => return Elsewhere::AfterThisBatch,
                (Ended::Again, file) => {
                    self.begin_file(file);
                    return match self.placement.place(file, direction) {
                        Some(spot) => Elsewhere::At(file, spot),
                        None => Elsewhere::Nowhere,
                    };
                }
                (Ended::All, _) => {
                    if wrapped || !self.budget.may_wrap() {
                        return Elsewhere::Nowhere;
                    }
                    if !is_first {
                        return Elsewhere::AfterThisBatch;
                    }
                    wrapped = true;
                    self.begin_files();
                }
            }
        }
    }
}

impl<D: Directions, F: Files, P: Placement, S: Sizes> Source for Stream<D, F, P, S> {
    fn fill(&mut self, out: &mut OpBatch) {
        out.clear();
        if !std::mem::take(&mut self.is_fresh) {
            self.again.clear();
        }
        while let Some(direction) = self.held.take().or_else(|| self.fill_from_current(out)) {
            let (file, spot) = match self.find_elsewhere(direction.index(), out.is_empty()) {
                Elsewhere::At(file, spot) => (file, spot),
                Elsewhere::AfterThisBatch => {
                    self.held = Some(direction);
                    return;
                }
                Elsewhere::Nowhere => {
                    self.budget.close();
                    return;
                }
            };
            let op = self.settle(direction, file, spot);
            self.budget.spend(1, self.budget.bytes_left.saturating_sub(u64::from(op.length)));
            out.push(op);
        }
    }

    fn restart(&mut self) {
        self.pass += 1;
        self.again.clear();
        self.is_fresh = true;
        self.held = None;
        self.begin_pass();
    }

    fn begun_again(&self) -> &[u32] {
        &self.again
    }

    fn memory_bytes(&self) -> usize {
        std::mem::size_of::<Self>() + self.placement.memory_bytes() + self.files.memory_bytes()
    }
}
