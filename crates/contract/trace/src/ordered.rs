//! Operations in the order in which they began.
//!
//! A trace is written as operations end, so that one that took long stands behind others that
//! began later. Here so many are held back that the order is right unless more than that many ended
//! during one operation; those that come too late all the same are counted.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Read};

use crate::{Operation, Reader};

/// A reader whose operations ascend in time.
#[derive(Debug)]
pub struct Ordered<R> {
    reader: Reader<R>,
    window: usize,
    held: BinaryHeap<Reverse<(u64, u64)>>,
    /// The operations of `held`, by number; the first has the number `first`.
    operations: VecDeque<Option<Operation>>,
    first: u64,
    last_ns: u64,
    late: u64,
}

impl<R: Read> Ordered<R> {
    /// Holds back this many operations.
    pub fn new(reader: Reader<R>, window: usize) -> Ordered<R> {
        let (held, operations) = (BinaryHeap::new(), VecDeque::new());
        Ordered { reader, window: window.max(1), held, operations, first: 0, last_ns: 0, late: 0 }
    }

    /// The next operation.
    ///
    /// # Errors
    /// Those of the input.
    pub fn next_operation(&mut self) -> io::Result<Option<Operation>> {
        while self.held.len() < self.window {
            let Some(operation) = self.reader.next_operation()? else { break };
            self.held.push(Reverse((operation.time_ns, self.first + self.operations.len() as u64)));
            self.operations.push_back(Some(operation));
        }
        let Some(Reverse((time_ns, number))) = self.held.pop() else { return Ok(None) };
        self.late += u64::from(time_ns < self.last_ns);
        self.last_ns = self.last_ns.max(time_ns);
        let operation = self.operations[(number - self.first) as usize].take();
        while self.operations.front().is_some_and(Option::is_none) {
            self.operations.pop_front();
            self.first += 1;
        }
        Ok(operation)
    }

    /// Operations that came out of order all the same.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// The reader, for tables and the end.
    pub fn reader(&self) -> &Reader<R> {
        &self.reader
    }
}
