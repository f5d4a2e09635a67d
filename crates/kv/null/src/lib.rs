//! The store `null`: it keeps nothing and answers at once, so that only the load generator is
//! measured.
//!
//! Puts, deletions and batches succeed and are forgotten. With `keys=N` it pretends to hold the N
//! keys of a load, without looking at the key: every lookup finds a value of `value_size` bytes,
//! and a cursor has N steps each way over one and the same entry. It makes no file and no folder.

use std::path::Path;

use iolab_kv::{
    Access, Batch, Cursor, Durability, Maintenance, OpenRequest, Seek, Store, StoreDescription, StoreError, StoreFacts,
    StoreFigures, StoreKind, Way, judge, number, options_of, remove_owned, unknown_option,
};

/// The kind.
#[derive(Debug)]
pub struct Null;

static DESCRIPTION: StoreDescription = StoreDescription {
    name: "null",
    summary: "Stores nothing; measures the cost of the benchmark loop",
    details: "Options: keys (number of keys it pretends to hold), value_size (length of their values).",
    install: "",
    keeps_data: false,
};

/// Longest value that it shows.
const LONGEST: usize = 1 << 20;

#[derive(Debug)]
struct NullStore {
    keys: u64,
    value: Vec<u8>,
}

#[derive(Debug)]
struct NullCursor<'a> {
    store: &'a NullStore,
    /// The number of the current key.
    at: Option<u64>,
}

impl StoreKind for Null {
    fn description(&self) -> &'static StoreDescription {
        &DESCRIPTION
    }

    fn version(&self) -> Result<String, StoreError> {
        Ok(env!("CARGO_PKG_VERSION").to_owned())
    }

    fn recognises(&self, _: &Path) -> bool {
        false
    }

    fn owns(&self, _: &str) -> bool {
        false
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn Store>, StoreError> {
        judge(self, request)?;
        let (mut keys, mut value_size) = (0, 0);
        for (name, value) in options_of(request.options)? {
            match name {
                "keys" => keys = number(name, value)?,
                "value_size" => value_size = number(name, value)?,
                _ => return Err(unknown_option("null", name, &["keys", "value_size"])),
            }
        }
        Ok(Box::new(NullStore { keys, value: vec![0; LONGEST.min(value_size as usize)] }))
    }

    fn destroy(&self, folder: &Path) -> Result<(), StoreError> {
        remove_owned(self, folder)
    }
}

impl Access for NullStore {
    fn put(&self, _: &[u8], _: &[u8], _: Durability) -> Result<(), StoreError> {
        Ok(())
    }

    fn delete(&self, _: &[u8], _: Durability) -> Result<(), StoreError> {
        Ok(())
    }

    fn write(&self, _: &Batch, _: Durability) -> Result<(), StoreError> {
        Ok(())
    }

    fn get(&self, _: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, StoreError> {
        if self.keys > 0 {
            visit(&self.value);
        }
        Ok(self.keys > 0)
    }

    fn cursor(&self) -> Result<Box<dyn Cursor + '_>, StoreError> {
        Ok(Box::new(NullCursor { store: self, at: None }))
    }
}

impl Cursor for NullCursor<'_> {
    fn seek(&mut self, to: Seek<'_>) -> Result<(), StoreError> {
        let last = self.store.keys.checked_sub(1);
        self.at = match to {
            Seek::First | Seek::AtLeast(_) => last.map(|_| 0),
            Seek::Last | Seek::AtMost(_) => last,
        };
        Ok(())
    }

    fn step(&mut self, way: Way) -> Result<(), StoreError> {
        self.at = match way {
            Way::Forward => self.at.map(|at| at + 1).filter(|at| *at < self.store.keys),
            Way::Back => self.at.and_then(|at| at.checked_sub(1)),
        };
        Ok(())
    }

    fn entry(&self) -> Option<(&[u8], &[u8])> {
        self.at.map(|_| (&[0_u8; 16][..], self.store.value.as_slice()))
    }
}

impl Store for NullStore {
    fn maintain(&self, _: Maintenance) -> Result<(), StoreError> {
        Ok(())
    }

    fn facts(&self) -> StoreFacts {
        StoreFacts { version: env!("CARGO_PKG_VERSION").to_owned(), ..StoreFacts::default() }
    }

    fn figures(&self) -> StoreFigures {
        StoreFigures::default()
    }

    fn property(&self, _: &str) -> Option<String> {
        None
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    iolab_kv::kv_conformance_suite!(conformance, &Null);

    #[test]
    fn it_pretends_to_hold_as_many_keys_as_told() {
        let folder = Path::new("/nonexistent/null");
        let request = OpenRequest { folder, options: "keys=3;value_size=7", existing: iolab_kv::Existing::Either };
        let store = Null.open(&request).unwrap();
        let mut length = 0;
        assert_eq!(store.get(b"any", &mut |value| length = value.len()), Ok(true));
        assert_eq!(length, 7);
        for (from, way) in [(Seek::First, Way::Forward), (Seek::Last, Way::Back)] {
            let mut cursor = store.cursor().unwrap();
            cursor.seek(from).unwrap();
            let mut steps = 0;
            while cursor.entry().is_some() {
                steps += 1;
                cursor.step(way).unwrap();
            }
            assert_eq!(steps, 3);
        }
        assert!(!folder.exists());
    }
}
