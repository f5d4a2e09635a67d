//! A read transaction as ranges in both directions.

use std::ops::Bound;
use std::path::Path;

use iolab_kv::{Bytes, Ranges, StoreError, Way};
use redb::{Range, ReadOnlyTable, StorageError};

use crate::error::storage_error;

/// The store as it was when a read transaction began.
pub(crate) struct View<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) entries: ReadOnlyTable<&'static [u8], &'static [u8]>,
}

/// Entries one way.
pub(crate) struct Entries<'a> {
    folder: &'a Path,
    range: Range<'static, &'static [u8], &'static [u8]>,
    way: Way,
}

impl<'a> Ranges for View<'a> {
    type Iter = Entries<'a>;

    fn range(&self, from: Bound<&[u8]>, way: Way) -> Result<Entries<'a>, StoreError> {
        let bounds = match way {
            Way::Forward => (from, Bound::Unbounded),
            Way::Back => (Bound::Unbounded, from),
        };
        let range = self.entries.range::<&[u8]>(bounds).map_err(|error| failed(self.folder, error))?;
        Ok(Entries { folder: self.folder, range, way })
    }
}

fn failed(folder: &Path, error: StorageError) -> StoreError {
    storage_error(folder, "read in order", error)
}

impl Iterator for Entries<'_> {
    type Item = Result<(Bytes, Bytes), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = match self.way {
            Way::Forward => self.range.next(),
            Way::Back => self.range.next_back(),
        };
        Some(match entry? {
            Ok((key, value)) => Ok((key.value().to_vec(), value.value().to_vec())),
            Err(error) => Err(failed(self.folder, error)),
        })
    }
}
