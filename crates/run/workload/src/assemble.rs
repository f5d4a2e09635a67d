//! Assembles the parts of a stream from a plan: checks and combines them once.

use iolab_plan::{BlockSizes, Distribution, RandomGenerator, RandomMap, Sequencer, WorkloadPlan};

use crate::cadence::Cadence;
use crate::directions::{Directions, MixedDirections, OneDirection};
use crate::files::{Files, ServedFiles, SingleFile};
use crate::lfsr::ShiftRegisterWalk;
use crate::pairs::Pairs;
use crate::permutation::PermutedWalk;
use crate::placement::{Mapped, Once, Placement, Sequenced, Sequential, Skewed, Skipping, Sprandom, Strided, Uniform};
use crate::priorities::Prioritised;
use crate::shape::Shape;
use crate::sizes::{DrawnSizes, FixedSizes, Sizes};
use crate::stream::{Budget, Source, Stream};
use crate::{Extent, PassLimits, WorkloadError};

/// The whole stream of a plan.
pub(crate) fn assemble(
    plan: &WorkloadPlan,
    files: &[Extent],
    limits: PassLimits,
) -> Result<Box<dyn Source>, WorkloadError> {
    let shape = Shape::new(plan)?;
    let list = check_files(&shape, files)?;
    let within = if plan.pattern.trim_then_write { pair_limits(limits) } else { limits };
    let total = files.iter().fold(0_u64, |sum, extent| sum.saturating_add(extent.length_bytes));
    let budget = Budget::new(within, total, shape.most_of_all());
    let mut source = Assembly { plan, files, list, shape, budget }.placed()?;
    if plan.pattern.trim_then_write {
        source = Box::new(Pairs::new(source, limits.io_count.unwrap_or(u64::MAX), files.len()));
    }
    if Cadence::is_asked(&plan.sync) {
        source = Box::new(Cadence::new(source, &plan.sync, files.len()));
    }
    if let Some(priorities) = &plan.priorities {
        source = Box::new(Prioritised::new(source, priorities, plan.seed));
    }
    Ok(source)
}

/// A pair moves its bytes once and counts as two operations.
fn pair_limits(limits: PassLimits) -> PassLimits {
    PassLimits { io_count: limits.io_count.map(|count| count.div_ceil(2)), ..limits }
}

/// The files that have room for a block.
fn check_files(shape: &Shape, files: &[Extent]) -> Result<Vec<u32>, WorkloadError> {
    if files.is_empty() {
        return Err(WorkloadError::NoFiles);
    }
    for (file, extent) in files.iter().enumerate() {
        let end_bytes = u128::from(extent.start_bytes) + u128::from(extent.length_bytes);
        if end_bytes > i64::MAX as u128 {
            return Err(WorkloadError::BeyondOffsets { file, end_bytes });
        }
    }
    let block_bytes = shape.least_of_all();
    let list: Vec<u32> =
        (0_u32..).zip(files).filter(|(_, extent)| extent.length_bytes >= block_bytes).map(|(file, _)| file).collect();
    if list.is_empty() {
        let largest_bytes = files.iter().map(|extent| extent.length_bytes).max().unwrap_or(0);
        return Err(WorkloadError::NoRoom { block_bytes, largest_bytes });
    }
    Ok(list)
}

/// The placement that decides offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sequential,
    Skipping,
    Uniform,
    Permuted,
    ShiftRegister,
    Mapped,
    Skewed,
}

impl Kind {
    fn of(plan: &WorkloadPlan, shape: &Shape) -> Kind {
        if !plan.pattern.random {
            return if plan.pattern.skip_bytes == 0 { Kind::Sequential } else { Kind::Skipping };
        }
        let skewed = |index: usize| plan.distributions[index] != Distribution::Uniform;
        let pair = plan.pattern.trim_then_write && skewed(1);
        if pair || shape.used.iter().any(|direction| skewed(direction.index())) {
            return Kind::Skewed;
        }
        if plan.generator == RandomGenerator::Lfsr {
            return Kind::ShiftRegister;
        }
        // Starts closer together than a block's length overlap anyway: then each start occurs once.
        let overlapping = shape.used.iter().any(|used| shape.align[used.index()] < shape.least[used.index()]);
        match plan.random_map {
            RandomMap::Off => Kind::Uniform,
            RandomMap::On if shape.is_fixed() || overlapping => Kind::Permuted,
            RandomMap::On => Kind::Mapped,
        }
    }
}

struct Assembly<'a> {
    plan: &'a WorkloadPlan,
    files: &'a [Extent],
    list: Vec<u32>,
    shape: Shape,
    budget: Budget,
}

impl Assembly<'_> {
    /// The most frequent placements, with blocks of fixed sizes, are compiled into streams of their
    /// own. The others are called through a pointer: they draw or look up more for each operation
    /// than such a call takes, and their streams would be four times as much code.
    fn placed(self) -> Result<Box<dyn Source>, WorkloadError> {
        let lengths: Vec<u64> = self.files.iter().map(|extent| extent.length_bytes).collect();
        let shape = self.shape.clone();
        match (self.fixed_sizes(), self.kind()) {
            (Some(sizes), Some(Kind::Sequential)) => self.directed(Sequential::new(&shape, &lengths), sizes),
            (Some(sizes), Some(Kind::Uniform)) => self.directed(Uniform::new(&shape, &lengths), sizes),
            (Some(sizes), Some(Kind::Permuted)) => self.directed(Once::<PermutedWalk>::new(&shape, &lengths), sizes),
            (Some(sizes), Some(Kind::ShiftRegister)) => {
                self.directed(Once::<ShiftRegisterWalk>::new(&shape, &lengths), sizes)
            }
            (Some(sizes), _) => {
                let placement = self.boxed(&lengths)?;
                self.directed(placement, sizes)
            }
            (None, _) => {
                let (placement, sizes) = (self.boxed(&lengths)?, DrawnSizes::new(self.plan));
                self.directed(placement, sizes)
            }
        }
    }

    /// The kind of a placement that is not wrapped in others.
    fn kind(&self) -> Option<Kind> {
        let is_plain = !self.is_sequenced() && self.plan.stride.is_none() && self.plan.sprandom.is_none();
        is_plain.then(|| Kind::of(self.plan, &self.shape))
    }

    /// Whether random and sequential operations are mixed, or offsets repeated.
    fn is_sequenced(&self) -> bool {
        let pattern = &self.plan.pattern;
        if !pattern.random {
            return pattern.every > 1 && pattern.sequencer == Sequencer::Identical;
        }
        let partly = self.shape.used.iter().any(|direction| self.plan.random_percent[direction.index()] < 100);
        pattern.every > 1 || partly
    }

    fn boxed(&self, lengths: &[u64]) -> Result<Box<dyn Placement>, WorkloadError> {
        let (plan, shape) = (self.plan, &self.shape);
        if let Some(fill) = &plan.sprandom
            && plan.stride.is_none()
            && !self.is_sequenced()
        {
            return Ok(match plan.generator {
                RandomGenerator::Default => Box::new(Sprandom::<PermutedWalk>::new(fill, shape, lengths)),
                RandomGenerator::Lfsr => Box::new(Sprandom::<ShiftRegisterWalk>::new(fill, shape, lengths)),
            });
        }
        let Some(stride) = plan.stride else { return self.perhaps_sequenced(lengths) };
        let least = shape.least_of_all();
        if stride.range_bytes < least {
            return Err(WorkloadError::Stride { range_bytes: stride.range_bytes, block_bytes: least });
        }
        let zones = Strided::zone_lengths(&stride, least, lengths);
        let within = self.perhaps_sequenced(&zones)?;
        Ok(Box::new(Strided::new(stride, shape, lengths, within)))
    }

    fn perhaps_sequenced(&self, lengths: &[u64]) -> Result<Box<dyn Placement>, WorkloadError> {
        let (plan, shape) = (self.plan, &self.shape);
        let within = of_kind(plan, shape, lengths)?;
        if !self.is_sequenced() {
            return Ok(within);
        }
        Ok(Box::new(Sequenced::new(plan, shape, lengths, within)))
    }

    /// The sizes, if each direction has one.
    fn fixed_sizes(&self) -> Option<FixedSizes> {
        let fixed = |index: usize| match self.plan.block_sizes[index] {
            BlockSizes::Fixed(bytes) => Some(bytes),
            _ => None,
        };
        let all_fixed = self.shape.used.iter().all(|direction| fixed(direction.index()).is_some());
        (all_fixed && !self.plan.sizes_by_randomness)
            .then(|| FixedSizes([0, 1, 2].map(|index| fixed(index).unwrap_or(0))))
    }

    fn directed<P, S>(self, placement: P, sizes: S) -> Result<Box<dyn Source>, WorkloadError>
    where
        P: Placement + 'static,
        S: Sizes + 'static,
    {
        if let [direction] = self.shape.used[..] {
            return self.filed(OneDirection(direction), placement, sizes);
        }
        let directions = MixedDirections::new(self.plan, &self.shape.used);
        self.filed(directions, placement, sizes)
    }

    fn filed<D, P, S>(self, directions: D, placement: P, sizes: S) -> Result<Box<dyn Source>, WorkloadError>
    where
        D: Directions + 'static,
        P: Placement + 'static,
        S: Sizes + 'static,
    {
        if let [file] = self.list[..] {
            let start_bytes = self.files.get(file as usize).map_or(0, |extent| extent.start_bytes);
            let files = SingleFile { file: [file], start_bytes };
            return Ok(stream(self.plan, self.budget, (directions, files, placement, sizes)));
        }
        let files = ServedFiles::new(self.list, self.files, &self.plan.file_service, placement.is_endless())
            .map_err(|reason| WorkloadError::FileService { reason })?;
        Ok(stream(self.plan, self.budget, (directions, files, placement, sizes)))
    }
}

fn stream<D, F, P, S>(plan: &WorkloadPlan, budget: Budget, parts: (D, F, P, S)) -> Box<dyn Source>
where
    D: Directions + 'static,
    F: Files + 'static,
    P: Placement + 'static,
    S: Sizes + 'static,
{
    Box::new(Stream::new(plan, budget, parts))
}

fn of_kind(plan: &WorkloadPlan, shape: &Shape, lengths: &[u64]) -> Result<Box<dyn Placement>, WorkloadError> {
    Ok(match Kind::of(plan, shape) {
        Kind::Sequential => Box::new(Sequential::new(shape, lengths)),
        Kind::Skipping => Box::new(Skipping::new(shape, lengths, plan.pattern.skip_bytes)),
        Kind::Uniform => Box::new(Uniform::new(shape, lengths)),
        Kind::Permuted => Box::new(Once::<PermutedWalk>::new(shape, lengths)),
        Kind::ShiftRegister => Box::new(Once::<ShiftRegisterWalk>::new(shape, lengths)),
        Kind::Mapped => Box::new(Mapped::new(shape, lengths)),
        Kind::Skewed => Box::new(Skewed::new(plan, shape, lengths)?),
    })
}
