//! Iterating over the keys of a store in order, and the cursor of stores that only have iterators.

use std::ops::Bound;

use crate::StoreError;

/// The target of a seek.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seek<'a> {
    /// The first key.
    First,
    /// The last key.
    Last,
    /// The first key that is this one or greater.
    AtLeast(&'a [u8]),
    /// The last key that is this one or less.
    AtMost(&'a [u8]),
}

/// The direction of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To greater keys.
    Forward,
    /// To lesser keys.
    Back,
}

/// A place among the keys of a store. A cursor belongs to one thread.
pub trait Cursor {
    /// Moves to the target, or off the keys if there is no such key.
    fn seek(&mut self, to: Seek<'_>) -> Result<(), StoreError>;

    /// Moves to the next key in that direction, or off the keys if there is none. A cursor that is
    /// off the keys stays so.
    fn step(&mut self, way: Way) -> Result<(), StoreError>;

    /// The current key and value; `None` if the cursor is off the keys.
    fn entry(&self) -> Option<(&[u8], &[u8])>;
}

/// Bytes as an iterator of a store returns them.
pub type Bytes = Vec<u8>;

/// A store, or a snapshot of one, that has iterators from a bound in both directions.
pub trait Ranges {
    /// An iterator over keys and values from a bound.
    type Iter: Iterator<Item = Result<(Bytes, Bytes), StoreError>>;

    /// Iterates from `from` to the end in this direction.
    fn range(&self, from: Bound<&[u8]>, way: Way) -> Result<Self::Iter, StoreError>;
}

/// A cursor made of iterators: a seek or a change of direction begins a new one.
#[derive(Debug)]
pub struct RangeCursor<R: Ranges> {
    ranges: R,
    /// The current iterator, and its direction.
    under_way: Option<(R::Iter, Way)>,
    entry: Option<(Bytes, Bytes)>,
}

impl<R: Ranges> RangeCursor<R> {
    /// A cursor over `ranges`, not yet on a key.
    pub fn new(ranges: R) -> RangeCursor<R> {
        RangeCursor { ranges, under_way: None, entry: None }
    }

    fn begin(&mut self, from: Bound<&[u8]>, way: Way) -> Result<(), StoreError> {
        self.under_way = None;
        self.under_way = Some((self.ranges.range(from, way)?, way));
        self.advance()
    }

    fn advance(&mut self) -> Result<(), StoreError> {
        self.entry = self.under_way.as_mut().and_then(|(entries, _)| entries.next()).transpose()?;
        Ok(())
    }
}

impl<R: Ranges> Cursor for RangeCursor<R> {
    fn seek(&mut self, to: Seek<'_>) -> Result<(), StoreError> {
        match to {
            Seek::First => self.begin(Bound::Unbounded, Way::Forward),
            Seek::Last => self.begin(Bound::Unbounded, Way::Back),
            Seek::AtLeast(key) => self.begin(Bound::Included(key), Way::Forward),
            Seek::AtMost(key) => self.begin(Bound::Included(key), Way::Back),
        }
    }

    fn step(&mut self, way: Way) -> Result<(), StoreError> {
        if self.under_way.as_ref().is_some_and(|(_, own)| *own == way) {
            return if self.entry.is_some() { self.advance() } else { Ok(()) };
        }
        match self.entry.take() {
            Some((key, _)) => self.begin(Bound::Excluded(&key), way),
            None => Ok(()),
        }
    }

    fn entry(&self) -> Option<(&[u8], &[u8])> {
        self.entry.as_ref().map(|(key, value)| (key.as_slice(), value.as_slice()))
    }
}
