//! Every kind of store of this build. Adding one: its crate, its conformance tests, one line here,
//! and a feature if it is built in.

use std::path::Path;

use iolab_kv::{Holds, StoreError, StoreKind, holds};

/// All kinds, the preferred one first.
pub static KINDS: &[&dyn StoreKind] = &[
    &iolab_kv_rocksdb::RocksDb,
    #[cfg(feature = "fjall")]
    &iolab_kv_fjall::Fjall,
    #[cfg(feature = "redb")]
    &iolab_kv_redb::Redb,
    &iolab_kv_null::Null,
];

/// The kind of this name.
pub fn kind(name: &str) -> Option<&'static dyn StoreKind> {
    KINDS.iter().copied().find(|kind| kind.description().name == name)
}

/// The names of all kinds, for messages.
pub fn names() -> String {
    KINDS.iter().map(|kind| kind.description().name).collect::<Vec<_>>().join(", ")
}

/// The kind of store in a folder, as recognised by the kinds themselves.
pub fn holds_any(folder: &Path) -> Result<Holds, StoreError> {
    holds(folder, KINDS)
}

/// The default kind: the first one that works on this machine. Also says why those before it do not
/// work.
pub fn preferred() -> (&'static dyn StoreKind, Vec<StoreError>) {
    let mut reasons = Vec::new();
    for kind in KINDS {
        match kind.version() {
            Ok(_) => return (*kind, reasons),
            Err(error) => reasons.push(error),
        }
    }
    (&iolab_kv_null::Null, reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_single_and_lead_to_their_kind() {
        for known in KINDS {
            let name = known.description().name;
            assert_eq!(kind(name).map(|kind| kind.description().name), Some(name));
            assert_eq!(KINDS.iter().filter(|kind| kind.description().name == name).count(), 1);
        }
        assert!(kind("leveldb").is_none());
    }

    #[cfg(any(feature = "fjall", feature = "redb"))]
    #[test]
    fn something_that_keeps_data_is_always_there() {
        let (kind, reasons) = preferred();
        assert!(kind.description().keeps_data, "{reasons:?}");
        assert!(reasons.iter().all(|reason| reason.kind == iolab_kv::ErrorKind::NotInstalled));
    }
}
