//! Going through the keys of a store in order, and the cursor of stores that only have iterators.

use std::ops::Bound;

use crate::StoreError;

/// Where a cursor goes at once.
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

/// Where a cursor goes step by step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To greater keys.
    Forward,
    /// To lesser keys.
    Back,
}

/// A place among the keys of a store. A cursor belongs to one thread.
pub trait Cursor {
    /// Goes there, or nowhere when no key is there.
    fn seek(&mut self, to: Seek<'_>) -> Result<(), StoreError>;

    /// Goes to the next key that way, or nowhere when there is none. A cursor that stands nowhere
    /// stays there.
    fn step(&mut self, way: Way) -> Result<(), StoreError>;

    /// The key and the value where it stands; `None` when it stands nowhere.
    fn entry(&self) -> Option<(&[u8], &[u8])>;
}

/// Bytes as an iterator of a store hands them out.
pub type Bytes = Vec<u8>;

/// A store, or a snapshot of one, that has iterators from a bound, both ways.
pub trait Ranges {
    /// The keys and values from the bound on, that way.
    type Iter: Iterator<Item = Result<(Bytes, Bytes), StoreError>>;

    /// Iterates from `from` on, that way, to the end.
    fn range(&self, from: Bound<&[u8]>, way: Way) -> Result<Self::Iter, StoreError>;
}

/// A cursor made of iterators: a seek and a turn of direction begin a new one.
#[derive(Debug)]
pub struct RangeCursor<R: Ranges> {
    ranges: R,
    /// The iterator under way, and its direction.
    under_way: Option<(R::Iter, Way)>,
    entry: Option<(Bytes, Bytes)>,
}

impl<R: Ranges> RangeCursor<R> {
    /// A cursor over `ranges`, standing nowhere.
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
