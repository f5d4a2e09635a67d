//! Errors of the library, which are texts, sorted by their first words.

use std::path::Path;

use iolab_kv::{ErrorKind, StoreError};

/// What an error text of RocksDB means, for a store in `folder`.
pub(crate) fn error_of(folder: &Path, doing: &str, text: &str) -> StoreError {
    let path = folder.display();
    let is_lock = text.contains("lock hold by current process") || text.contains("While lock file");
    let (kind, message) = if is_lock {
        (ErrorKind::Busy, format!("{path}: the store is open in another program or job ({text})"))
    } else if text.contains("error_if_exists is true") {
        let advice = "use it with --use_existing_db, or destroy it with --destroy_db";
        (ErrorKind::Folder, format!("{path}: already holds a store; {advice}"))
    } else if text.contains("create_if_missing is false") {
        (ErrorKind::Folder, format!("{path}: holds no store; first make one with a benchmark that fills"))
    } else if text.contains("No space left on device") || text.contains("Disk quota exceeded") {
        (ErrorKind::Full, format!("{path}: cannot {doing}: the disk is full ({text}); free some space, or write less"))
    } else if text.starts_with("Corruption") {
        let advice = "the store is damaged; repair a copy of it with `ldb repair`, or make a new one";
        (ErrorKind::Corrupt, format!("{path}: cannot {doing}: RocksDB says {text}: {advice}"))
    } else if text.starts_with("Not implemented") || text.starts_with("Not supported") {
        (ErrorKind::Unsupported, format!("{path}: cannot {doing}: RocksDB says {text}"))
    } else if text.starts_with("Invalid argument") {
        (ErrorKind::Option, format!("{path}: cannot {doing}: RocksDB says {text}"))
    } else {
        (ErrorKind::Io, format!("{path}: cannot {doing}: RocksDB says {text}"))
    };
    StoreError::new(kind, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_sorted_by_who_can_mend_it() {
        for (text, kind) in [
            ("IO error: lock hold by current process, acquire time 1 acquiring thread 2: /a/LOCK", ErrorKind::Busy),
            ("IO error: While lock file: /a/LOCK: Resource temporarily unavailable", ErrorKind::Busy),
            ("IO error: No space left on device: While appending to file: /a/000004.log", ErrorKind::Full),
            ("Invalid argument: /a: exists (error_if_exists is true)", ErrorKind::Folder),
            ("Invalid argument: /a: does not exist (create_if_missing is false)", ErrorKind::Folder),
            ("Corruption: checksum mismatch in file /a/MANIFEST-000005", ErrorKind::Corrupt),
            ("Invalid argument: Compression type LZ4 is not linked with the binary.", ErrorKind::Option),
            ("Not implemented: Not supported operation in this mode.", ErrorKind::Unsupported),
            ("IO error: While fsync: /a: Input/output error", ErrorKind::Io),
        ] {
            assert_eq!(error_of(Path::new("/a"), "open the store", text).kind, kind, "{text}");
        }
    }
}
