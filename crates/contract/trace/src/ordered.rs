//! Operations in the order in which they began.
//!
//! A trace is written as operations end, so a long operation comes after others that began later.
//! This reader holds operations back to restore the order. If more operations end during a single
//! one than are held back, it comes too late; such operations are counted.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Read};

use crate::{Operation, Reader};

/// A reader whose operations ascend in time.
#[derive(Debug)]
pub struct Ordered<R> {
    reader: Reader<R>,
    window: usize,
    /// Operations that are already in order, as most are: they need no heap.
    in_order: VecDeque<(u64, Operation)>,
    /// The others, by time and number.
    others: BinaryHeap<Reverse<Other>>,
    number: u64,
    last_ns: u64,
    late: u64,
}

/// An operation that began before one that was read before it.
#[derive(Debug)]
struct Other {
    number: u64,
    operation: Operation,
}

impl Other {
    fn key(&self) -> (u64, u64) {
        (self.operation.time_ns, self.number)
    }
}

impl PartialEq for Other {
    fn eq(&self, other: &Other) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Other {}

impl PartialOrd for Other {
    fn partial_cmp(&self, other: &Other) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Other {
    fn cmp(&self, other: &Other) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<R: Read> Ordered<R> {
    /// Holds back this many operations.
    pub fn new(reader: Reader<R>, window: usize) -> Ordered<R> {
        let (in_order, others) = (VecDeque::new(), BinaryHeap::new());
        Ordered { reader, window: window.max(1), in_order, others, number: 0, last_ns: 0, late: 0 }
    }

    /// The next operation.
    ///
    /// # Errors
    /// Those of the input.
    pub fn next_operation(&mut self) -> io::Result<Option<Operation>> {
        while self.in_order.len() + self.others.len() < self.window {
            let Some(operation) = self.reader.next_operation()? else { break };
            let number = self.number;
            self.number += 1;
            if self.in_order.back().is_none_or(|(_, last)| last.time_ns <= operation.time_ns) {
                self.in_order.push_back((number, operation));
            } else {
                self.others.push(Reverse(Other { number, operation }));
            }
        }
        let first = self.in_order.front().map(|(number, operation)| (operation.time_ns, *number));
        let other = self.others.peek().map(|Reverse(other)| other.key());
        let from_others = match (first, other) {
            (Some(first), Some(other)) => other < first,
            (first, _) => first.is_none(),
        };
        let next = if from_others {
            self.others.pop().map(|Reverse(other)| other.operation)
        } else {
            self.in_order.pop_front().map(|(_, operation)| operation)
        };
        if let Some(operation) = &next {
            self.late += u64::from(operation.time_ns < self.last_ns);
            self.last_ns = self.last_ns.max(operation.time_ns);
        }
        Ok(next)
    }

    /// Operations that came too late to be put in order.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// The reader, for tables and the end.
    pub fn reader(&self) -> &Reader<R> {
        &self.reader
    }
}
