//! The target of a new file system, and what speaks against creating one there.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use iolab_guard::{Danger, Hazard, SIGNATURE_BYTES, hazards_at, signatures};
use iolab_observe::System;

use crate::ImageError;

/// A reason not to create a file system somewhere. `Display` gives a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// It is in use at this moment; this cannot be overridden.
    InUse(Hazard),
    /// It holds data that would be lost.
    Holds(String),
}

impl std::fmt::Display for Objection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Objection::InUse(hazard) => hazard.fmt(f),
            Objection::Holds(what) => f.write_str(what),
        }
    }
}

/// All reasons against creating a file system at a path.
///
/// # Errors
/// [`ImageError::NoImage`] where none is possible, [`ImageError::Io`] when it cannot be examined.
pub fn objections(path: &Path) -> Result<Vec<Objection>, ImageError> {
    let kind = std::fs::metadata(path).map(|metadata| metadata.file_type());
    if kind.is_ok_and(|kind| !kind.is_file() && !kind.is_block_device()) {
        return Err(ImageError::NoImage(path.to_owned()));
    }
    let hazards = hazards_at(&System::live(), path);
    let signed = signatures(&start_of(path)?);
    let mut found: Vec<Objection> = Vec::new();
    for hazard in hazards {
        match hazard.danger {
            // The signature says more about the content.
            Danger::Foreign { .. } if !signed.is_empty() => {}
            Danger::Foreign { .. } | Danger::Partitioned { .. } => found.push(Objection::Holds(hazard.to_string())),
            _ => found.push(Objection::InUse(hazard)),
        }
    }
    found.extend(signed.into_iter().map(|name| Objection::Holds(format!("{}: holds {name}", path.display()))));
    Ok(found)
}

/// The first bytes of a file or device; empty if it does not exist.
fn start_of(path: &Path) -> Result<Vec<u8>, ImageError> {
    let failed = |source| ImageError::Io { path: path.to_owned(), what: "reading its contents", source };
    let mut start = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(SIGNATURE_BYTES as u64).read_to_end(&mut start).map(drop).map_err(failed)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    Ok(start)
}

/// Creates a sparse file of this size; fails if it exists.
///
/// # Errors
/// [`ImageError::Io`].
pub fn make_file(path: &Path, size_bytes: u64) -> Result<(), ImageError> {
    let failed = |source| ImageError::Io { path: path.to_owned(), what: "making it", source };
    let file = File::create_new(path).map_err(failed)?;
    file.set_len(size_bytes).map_err(failed)
}

/// User ID and group ID of this process.
pub fn user() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_holds_speaks_against_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        assert_eq!(objections(&path).unwrap(), []);
        make_file(&path, 1 << 20).unwrap();
        assert_eq!(objections(&path).unwrap(), []);
        assert!(matches!(make_file(&path, 1), Err(ImageError::Io { .. })));
        std::fs::write(&path, b"IOLABLFS and more").unwrap();
        let found = objections(&path).unwrap();
        assert!(matches!(&found[..], [Objection::Holds(what)] if what.contains("a logfs file system")), "{found:?}");
        std::fs::write(&path, b"a letter").unwrap();
        let found = objections(&path).unwrap();
        assert!(matches!(&found[..], [Objection::Holds(what)] if what.contains("8 bytes")), "{found:?}");
    }
}
