//! What a load measures: operations, bytes and latencies by class.

use iolab_histogram::Histogram;

/// Counts of one class of operations.
#[derive(Debug, Default)]
pub struct Class {
    /// What it is: `small write`, or a job's name.
    pub name: String,
    /// Operations.
    pub operations: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// From the begin of an operation to its end, ns.
    pub latency: Box<Histogram>,
}

impl Class {
    pub(crate) fn new(name: &str) -> Class {
        Class { name: name.to_owned(), ..Class::default() }
    }

    pub(crate) fn add(&mut self, bytes: u64, latency_ns: u64) {
        self.operations += 1;
        self.bytes += bytes;
        self.latency.add(latency_ns);
    }

    /// Adds what another thread measured of the same class.
    pub(crate) fn merge(&mut self, other: &Class) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
    }
}

/// All classes of a load, and how long it took.
#[derive(Debug, Default)]
pub struct MeasuredLoad {
    /// From the common begin to the end of the last sync, ns.
    pub elapsed_ns: u64,
    /// By class.
    pub classes: Vec<Class>,
}

impl MeasuredLoad {
    /// What several threads measured that began together: the time of the slowest, the sums of
    /// everything else. All have the same classes.
    pub(crate) fn joined<'all>(all: impl IntoIterator<Item = &'all MeasuredLoad>) -> MeasuredLoad {
        let mut joint = MeasuredLoad::default();
        for one in all {
            joint.elapsed_ns = joint.elapsed_ns.max(one.elapsed_ns);
            if joint.classes.is_empty() {
                joint.classes = one.classes.iter().map(|class| Class::new(&class.name)).collect();
            }
            joint.classes.iter_mut().zip(&one.classes).for_each(|(sum, class)| sum.merge(class));
        }
        joint
    }
}
