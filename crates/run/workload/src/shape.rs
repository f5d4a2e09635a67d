//! The checked inputs of placements: sizes, alignment and the lengths of the files.

use iolab_plan::{BlockSizes, Direction, WorkloadPlan};

use crate::WorkloadError;

/// How much one pass moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassLimits {
    /// Bytes to move. The operation that reaches this number is whole, as in fio. If this exceeds
    /// the extents, they begin again; otherwise, a pass also ends when every block has been
    /// visited.
    pub io_bytes: u64,
    /// Most operations (syncs not counted); `None`: no limit.
    pub io_count: Option<u64>,
}

/// Sizes and alignment of the directions that occur; the values of others are unused.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Directions that occur.
    pub(crate) used: Vec<Direction>,
    /// Room that an operation needs at its offset.
    pub(crate) least: [u64; 3],
    /// Longest operation.
    pub(crate) most: [u64; 3],
    /// Random offsets are multiples of this.
    pub(crate) align: [u64; 3],
}

impl Shape {
    /// Checks sizes and alignment.
    pub(crate) fn new(plan: &WorkloadPlan) -> Result<Shape, WorkloadError> {
        let used = used_directions(plan)?;
        let mut shape = Shape { used: used.clone(), least: [1; 3], most: [1; 3], align: [1; 3] };
        let mut sources = used.clone();
        if plan.sizes_by_randomness {
            sources = vec![Direction::Read, Direction::Write];
        }
        for direction in &sources {
            check_sizes(*direction, &plan.block_sizes[direction.index()])?;
        }
        for direction in used {
            let index = direction.index();
            if plan.align_bytes[index] == 0 {
                return Err(WorkloadError::Align { direction });
            }
            shape.align[index] = plan.align_bytes[index];
            (shape.least[index], shape.most[index]) =
                if plan.sizes_by_randomness { either(plan) } else { span(&plan.block_sizes[index]) };
        }
        Ok(shape)
    }

    /// Length that a file needs for an operation of every direction.
    pub(crate) fn least_of_all(&self) -> u64 {
        self.used.iter().map(|direction| self.least[direction.index()]).max().unwrap_or(1)
    }

    /// Longest operation of any direction.
    pub(crate) fn most_of_all(&self) -> u64 {
        self.used.iter().map(|direction| self.most[direction.index()]).max().unwrap_or(1)
    }

    /// Number of aligned offsets at which the smallest operation fits into `length` bytes.
    pub(crate) fn places(&self, direction: usize, length: u64) -> u64 {
        places(length, self.least[direction], self.align[direction])
    }

    /// Whether all directions that occur have equal sizes and alignment. Each size may be fixed or
    /// not.
    pub(crate) fn is_alike(&self) -> bool {
        let mut kinds = self.used.iter().map(|direction| {
            let index = direction.index();
            (self.least[index], self.most[index], self.align[index])
        });
        let first = kinds.next();
        kinds.all(|kind| Some(kind) == first)
    }

    /// Whether every direction has one size.
    pub(crate) fn is_fixed(&self) -> bool {
        self.used.iter().all(|direction| self.least[direction.index()] == self.most[direction.index()])
    }

    /// The alignment, if all directions that occur share it.
    pub(crate) fn common_align(&self) -> Option<u64> {
        let first = self.align[self.used.first()?.index()];
        self.used.iter().all(|direction| self.align[direction.index()] == first).then_some(first)
    }
}

/// Number of multiples of `align` from 0 at which `least` bytes fit into `length`.
pub(crate) fn places(length: u64, least: u64, align: u64) -> u64 {
    if length < least { 0 } else { (length - least) / align + 1 }
}

fn used_directions(plan: &WorkloadPlan) -> Result<Vec<Direction>, WorkloadError> {
    // A pair is placed once, as its trim.
    let used: Vec<Direction> = if plan.pattern.trim_then_write {
        vec![Direction::Trim]
    } else {
        Direction::ALL.into_iter().filter(|direction| plan.pattern.directions.contains(direction)).collect()
    };
    if used.is_empty() {
        return Err(WorkloadError::NoDirection { word: plan.pattern.word.clone() });
    }
    Ok(used)
}

/// Smallest and largest bytes that can be drawn. An entry of a split with a share of 0 is never
/// drawn.
fn span(sizes: &BlockSizes) -> (u64, u64) {
    let BlockSizes::Split(parts) = sizes else { return (sizes.min(), sizes.max()) };
    let drawn = parts.iter().filter(|part| part.1 > 0).map(|part| part.0);
    (drawn.clone().min().unwrap_or(1), drawn.max().unwrap_or(1))
}

/// If randomness chooses the sizes, any place must have room for the smallest of either kind.
fn either(plan: &WorkloadPlan) -> (u64, u64) {
    let (sequential, random) = (span(&plan.block_sizes[0]), span(&plan.block_sizes[1]));
    (sequential.0.max(random.0), sequential.1.max(random.1))
}

fn check_sizes(direction: Direction, sizes: &BlockSizes) -> Result<(), WorkloadError> {
    let wrong = |reason: &str| Err(WorkloadError::BlockSize { direction, reason: reason.to_owned() });
    if sizes.min() == 0 {
        return wrong("the block size must not be 0");
    }
    if sizes.max() > u64::from(u32::MAX) {
        return wrong("the block size must be less than 4 GiB");
    }
    match sizes {
        BlockSizes::Range { min, max } if min > max => wrong("the first value of the range is larger than the second"),
        BlockSizes::Split(parts) => {
            let total: u64 = parts.iter().map(|part| u64::from(part.1)).sum();
            match total {
                0 => wrong("the shares of the split sum to 0"),
                1..=10_000 => Ok(()),
                _ => wrong("the shares of the split sum to far more than 100 percent"),
            }
        }
        _ => Ok(()),
    }
}
