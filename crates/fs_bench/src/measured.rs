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
}

/// All classes of a load, and how long it took.
#[derive(Debug, Default)]
pub struct Measured {
    /// From the first operation to the end of the last sync, ns.
    pub elapsed_ns: u64,
    /// By class.
    pub classes: Vec<Class>,
}
