//! Media in memory and in files, and files that somebody cuts off.

use std::fs::OpenOptions;
use std::path::Path;

use super::*;
use iolab_pci_device::{DmaMapper, DmaTable};

/// Media in a file, which is made where there is none.
fn in_file(path: &Path, bytes: u64) -> Result<Media, ConfigError> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
    Media::open(&MediaKind::File(path.to_owned()), Some(file), bytes, MemoryPages::default())
}

#[test]
fn what_is_written_is_read_and_discarded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("media");
    let memory = Media::open(&MediaKind::Memory, None, 1 << 20, MemoryPages::default());
    for (kind, media) in [("memory", memory), ("file", in_file(&path, 1 << 20))] {
        let media = media.unwrap();
        let mut table = DmaTable::new();
        let buffer = table.allocate(8192).unwrap();
        buffer.memory.fill(0, 8192, 7);
        let pieces = [Piece::new(buffer.address, 4096), Piece::new(buffer.address + 4096, 512)];
        media.copy_from_host(512, &mut table, &pieces).unwrap();
        media.copy_within(512, 100_000, 4608).unwrap();
        let mut seen = vec![0; 4608];
        media.read(100_000, &mut seen).unwrap();
        assert!(seen.iter().all(|byte| *byte == 7), "{kind:?}");
        media.discard(512, 4096).unwrap();
        buffer.memory.fill(0, 8192, 9);
        media.copy_to_host(512, &mut table, &pieces).unwrap();
        buffer.memory.read(0, &mut seen);
        assert!(seen[..4096].iter().all(|byte| *byte == 0) && seen[4096..].iter().all(|byte| *byte == 7));
        media.flush().unwrap();
        assert_eq!(media.copy_to_host((1 << 20) - 512, &mut table, &pieces), Err(CopyError::Media));
        assert_eq!(media.copy_to_host(0, &mut table, &[Piece::new(64, 512)]), Err(CopyError::Host));
        assert_eq!(media.discard(u64::MAX, 2), Err(CopyError::Media));
    }
    let again = in_file(&path, 1 << 20).unwrap();
    let mut byte = [0];
    again.read(100_000, &mut byte).unwrap();
    assert_eq!(byte, [7], "a file survives");
}

#[test]
fn media_that_cannot_be_opened_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |file: File, bytes| {
        let kind = MediaKind::File(folder.path().to_owned());
        Media::open(&kind, Some(file), bytes, MemoryPages::default()).unwrap_err().to_string()
    };
    let said = refused(File::open(folder.path()).unwrap(), 4096);
    assert!(said.contains("regular file"), "{said}");
    let said = in_file(&folder.path().join("huge"), 1 << 60).unwrap_err().to_string();
    assert!(said.contains("no room"), "{said}");
}

#[test]
fn what_is_cut_off_the_file_is_lost_and_the_rest_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("media");
    let media = in_file(&path, 1 << 20).unwrap();
    let mut table = DmaTable::new();
    let buffer = table.allocate(4096).unwrap();
    let pieces = [Piece::new(buffer.address, 4096)];
    media.copy_from_host(0, &mut table, &pieces).unwrap();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(64 << 10).unwrap();
    let mut bytes = vec![0; 4096];
    let lost = Err(CopyError::Lost);
    assert_eq!(media.copy_to_host(512 << 10, &mut table, &pieces), lost);
    assert_eq!(media.copy_from_host(512 << 10, &mut table, &pieces), Err(CopyError::NotWritten));
    assert_eq!(media.read(512 << 10, &mut bytes), lost);
    assert_eq!(media.copy_within(0, 512 << 10, 4096), lost);
    assert_eq!(media.copy_within(512 << 10, 0, 4096), lost);
    assert_eq!(media.discard((512 << 10) + 512, 512), lost);
    assert_eq!(media.read(0, &mut bytes), Ok(()));
    assert_eq!(media.copy_from_host(60 << 10, &mut table, &pieces), Ok(()));
}
