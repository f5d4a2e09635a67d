//! What each file or device of a job had of its operations.

use iolab_histogram::SparseHistogram;
use iolab_plan::{Direction, PerDirection};

use crate::members::Member;
use crate::throughput::Throughput;

/// One file of a worker, or of a group of workers.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedFile {
    /// Its path, or the name of the device.
    pub path: String,
    /// Read, write, trim.
    pub directions: PerDirection<FileDirection>,
}

/// One direction of one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileDirection {
    /// What was done, in the time of the worker.
    pub done: Throughput,
    /// Completion latency, ns.
    pub clat: SparseHistogram,
}

impl CountedFile {
    /// All directions together.
    pub fn whole(&self) -> FileDirection {
        let mut sum = FileDirection::default();
        self.directions.iter().for_each(|direction| sum.add(direction));
        sum
    }
}

impl FileDirection {
    fn add(&mut self, other: &FileDirection) {
        self.done = self.done.beside(other.done);
        self.clat.merge(&other.clat);
    }
}

/// The files of workers that counted them, each path once, in the order in which they are named.
pub fn counted_files(members: &[Member<'_>]) -> Vec<CountedFile> {
    let mut all: Vec<CountedFile> = Vec::new();
    for (plan, worker) in members {
        for (file, counted) in plan.files.iter().zip(&worker.files) {
            let path = file.path.display().to_string();
            let of = |direction: Direction| {
                let index = direction.index();
                let clat = counted.clat[index].clone();
                let runtime_ns = if clat.is_empty() { 0 } else { worker.directions[index].runtime_ns };
                let done = Throughput { ios: clat.count, bytes: counted.bytes[index], runtime_ns };
                FileDirection { done, clat }
            };
            let directions = Direction::ALL.map(of);
            match all.iter_mut().find(|own| own.path == path) {
                Some(own) => own.directions.iter_mut().zip(&directions).for_each(|(own, more)| own.add(more)),
                None => all.push(CountedFile { path, directions }),
            }
        }
    }
    all
}
