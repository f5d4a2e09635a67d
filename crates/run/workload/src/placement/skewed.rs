//! A separate distribution for each direction, with repetitions: a map would distort the
//! distribution.

use iolab_plan::{Direction, Distribution, WorkloadPlan};

use super::{Placement, Spot};
use crate::WorkloadError;
use crate::distribution::{Domain, Laws, Sampler};
use crate::random::{Generator, Role, derive};
use crate::shape::Shape;

/// Samplers of all files and directions.
#[derive(Debug, Clone)]
pub(crate) struct Skewed {
    samplers: Box<[[Sampler; 3]]>,
    lengths: Box<[u64]>,
    align: [u64; 3],
    generator: Generator,
    /// Memory of the tables that samplers share.
    tables_bytes: usize,
}

impl Skewed {
    /// Creates the samplers. Those of files without room for a block are never used.
    pub(crate) fn new(plan: &WorkloadPlan, shape: &Shape, lengths: &[u64]) -> Result<Skewed, WorkloadError> {
        let mut samplers = Vec::with_capacity(lengths.len());
        let mut laws = Laws::new();
        for (file, length) in lengths.iter().enumerate() {
            let mut each = [Sampler::Uniform(0), Sampler::Uniform(0), Sampler::Uniform(0)];
            for direction in shape.used.iter().filter(|_| *length >= shape.least_of_all()) {
                each[direction.index()] = sampler(plan, shape, &mut laws, *direction, file, *length)?;
            }
            samplers.push(each);
        }
        let (samplers, lengths) = (samplers.into(), lengths.into());
        let (generator, tables_bytes) = (Generator::new(0), laws.memory_bytes());
        Ok(Skewed { samplers, lengths, align: shape.align, generator, tables_bytes })
    }
}

fn sampler(
    plan: &WorkloadPlan,
    shape: &Shape,
    laws: &mut Laws,
    direction: Direction,
    file: usize,
    length: u64,
) -> Result<Sampler, WorkloadError> {
    let index = direction.index();
    let domain = Domain { count: shape.places(index, length), step_bytes: shape.align[index] };
    // A pair uses the writes' distribution if only that was changed.
    let mut distribution = &plan.distributions[index];
    if plan.pattern.trim_then_write && *distribution == Distribution::Uniform {
        distribution = &plan.distributions[Direction::Write.index()];
    }
    // All directions have the same hot blocks.
    let seed = derive(plan.seed, Role::Map, file as u64);
    Sampler::new(distribution, domain, seed, laws).map_err(|reason| WorkloadError::Distribution { direction, reason })
}

impl Placement for Skewed {
    fn is_endless(&self) -> bool {
        true
    }

    #[inline(always)]
    fn place(&mut self, file: usize, direction: usize) -> Option<Spot> {
        let offset = self.samplers[file][direction].draw(&mut self.generator) * self.align[direction];
        let room = self.lengths[file] - offset;
        Some(Spot { offset, room, free: room, random: true })
    }

    #[inline]
    fn commit(&mut self, _file: usize, _direction: usize, _offset: u64, _length: u64) {}

    fn reseed(&mut self, seed: u64) {
        self.generator = Generator::new(derive(seed, Role::Offset, 0));
    }

    fn begin(&mut self, file: usize, _seed: u64) {
        self.samplers[file].iter_mut().for_each(Sampler::restart);
    }

    fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&*self.samplers) + self.lengths.len() * 8 + self.tables_bytes
    }
}
