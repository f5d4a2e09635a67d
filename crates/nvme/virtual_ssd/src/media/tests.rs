//! Tests of media in memory and in files, and of truncated files.

use std::fs::OpenOptions;
use std::path::Path;

use super::*;
use crate::Unreachable;
use crate::command_error::CommandError;
use iolab_nvme_spec::SubmissionEntry;

/// A host with one buffer. The window consists of its first bytes, or is unreachable.
struct Host {
    buffer: SharedBytes,
    bytes: usize,
    is_reachable: bool,
}

impl Host {
    fn new(bytes: usize) -> Host {
        Host { buffer: SharedBytes::anonymous(8192).unwrap(), bytes, is_reachable: true }
    }

    fn reached(&self) -> Result<(), Unreachable> {
        self.is_reachable.then_some(()).ok_or(Unreachable)
    }
}

impl DataWindow for Host {
    fn locate(&mut self, _: &SubmissionEntry, _: DataDirection, bytes: usize) -> Result<(), CommandError> {
        self.bytes = bytes;
        Ok(())
    }

    fn len(&self) -> usize {
        self.bytes
    }

    fn read(&mut self, to: &mut [u8]) -> Result<(), Unreachable> {
        self.buffer.read(0, to);
        self.reached()
    }

    fn write(&mut self, from: &[u8]) -> Result<(), Unreachable> {
        self.buffer.write(0, from);
        self.reached()
    }

    fn copy_to(&mut self, to: &SharedBytes, offset: usize) -> Result<(), Unreachable> {
        self.reached()?;
        self.buffer.copy_to(0, to, offset, self.bytes);
        Ok(())
    }

    fn copy_from(&mut self, from: &SharedBytes, offset: usize) -> Result<(), Unreachable> {
        self.reached()?;
        from.copy_to(offset, &self.buffer, 0, self.bytes);
        Ok(())
    }
}

/// Media in a file, which is created if it does not exist.
fn in_file(path: &Path, bytes: u64) -> Result<Media, ConfigError> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
    Media::open(&MediaKind::File(path.to_owned()), Some(file), bytes, MemoryPages::default(), None)
}

#[test]
fn what_is_written_is_read_and_discarded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("media");
    let memory = Media::open(&MediaKind::Memory, None, 1 << 20, MemoryPages::default(), None);
    for (kind, media) in [("memory", memory), ("file", in_file(&path, 1 << 20))] {
        let media = media.unwrap();
        let mut host = Host::new(4608);
        host.buffer.fill(0, 8192, 7);
        media.copy_from_host(512, &mut host, false).unwrap();
        media.copy_within(512, 100_000, 4608).unwrap();
        let mut seen = vec![0; 4608];
        media.read(100_000, &mut seen).unwrap();
        assert!(seen.iter().all(|byte| *byte == 7), "{kind:?}");
        media.discard(512, 4096).unwrap();
        host.buffer.fill(0, 8192, 9);
        media.copy_to_host(512, &mut host).unwrap();
        host.buffer.read(0, &mut seen);
        assert!(seen[..4096].iter().all(|byte| *byte == 0) && seen[4096..].iter().all(|byte| *byte == 7));
        media.flush().unwrap();
        assert_eq!(media.copy_to_host((1 << 20) - 512, &mut host), Err(CopyError::Media));
        host.is_reachable = false;
        assert_eq!(media.copy_to_host(0, &mut host), Err(CopyError::Host));
        assert_eq!(media.copy_from_host(0, &mut host, false), Err(CopyError::Host));
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
        Media::open(&kind, Some(file), bytes, MemoryPages::default(), None).unwrap_err().to_string()
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
    let mut host = Host::new(4096);
    media.copy_from_host(0, &mut host, false).unwrap();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(64 << 10).unwrap();
    let mut bytes = vec![0; 4096];
    let lost = Err(CopyError::Lost);
    assert_eq!(media.copy_to_host(512 << 10, &mut host), lost);
    assert_eq!(media.copy_from_host(512 << 10, &mut host, false), Err(CopyError::NotWritten));
    assert_eq!(media.read(512 << 10, &mut bytes), lost);
    assert_eq!(media.copy_within(0, 512 << 10, 4096), lost);
    assert_eq!(media.copy_within(512 << 10, 0, 4096), lost);
    assert_eq!(media.discard((512 << 10) + 512, 512), lost);
    assert_eq!(media.read(0, &mut bytes), Ok(()));
    assert_eq!(media.copy_from_host(60 << 10, &mut host, false), Ok(()));
}
