//! How a worker's recording reaches the main thread: through a memory file that both have open,
//! whether the worker is a thread or a process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use iolab_recording::WorkerRecording;

const HEADER_BYTES: u64 = 8;

/// One worker's mailbox.
#[derive(Debug)]
pub(crate) struct Mailbox {
    file: File,
}

impl Mailbox {
    pub(crate) fn new(worker: usize) -> io::Result<Mailbox> {
        let fd = rustix::fs::memfd_create(format!("iolab-worker-{worker}"), rustix::fs::MemfdFlags::CLOEXEC)?;
        Ok(Mailbox { file: File::from(fd) })
    }

    /// Stores a recording in place of the last one. A reader finds the last one until the new one
    /// is complete: the new one is written before or after it, and then the header is changed to
    /// point to it.
    pub(crate) fn put(&self, recording: &WorkerRecording) -> io::Result<()> {
        let text = serde_json::to_vec(recording)?;
        let length = u32::try_from(text.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let last = self.place().unwrap_or(Place { offset: HEADER_BYTES as u32, length: 0 });
        let fits_before = u64::from(last.offset) >= HEADER_BYTES + u64::from(length);
        let behind = last.offset.checked_add(last.length).ok_or(io::ErrorKind::FileTooLarge)?;
        let offset = if fits_before { HEADER_BYTES as u32 } else { behind };
        self.file.write_all_at(&text, u64::from(offset))?;
        self.file.write_all_at(&(u64::from(offset) << 32 | u64::from(length)).to_le_bytes(), 0)
    }

    /// The last recording stored, if there is one.
    pub(crate) fn take(&self) -> Option<WorkerRecording> {
        let place = self.place()?;
        let mut text = vec![0; place.length as usize];
        self.file.read_exact_at(&mut text, u64::from(place.offset)).ok()?;
        iolab_deserialize::json(&text).ok()
    }

    fn place(&self) -> Option<Place> {
        let mut header = [0; HEADER_BYTES as usize];
        self.file.read_exact_at(&mut header, 0).ok()?;
        let header = u64::from_le_bytes(header);
        (header != 0).then_some(Place { offset: (header >> 32) as u32, length: header as u32 })
    }
}

/// The place of the last recording in the file.
struct Place {
    offset: u32,
    length: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_letter_counts() {
        let mailbox = Mailbox::new(0).unwrap();
        assert_eq!(mailbox.take(), None);
        let long = WorkerRecording { notes: vec!["x".repeat(1000)], ..WorkerRecording::default() };
        mailbox.put(&long).unwrap();
        assert_eq!(mailbox.take(), Some(long));
        let short = WorkerRecording { number: 3, ..WorkerRecording::default() };
        mailbox.put(&short).unwrap();
        assert_eq!(mailbox.take(), Some(short));
    }

    #[test]
    fn a_letter_that_is_half_written_is_not_seen() {
        let mailbox = Mailbox::new(0).unwrap();
        let mut last = None;
        for (number, words) in [(1, 10), (2, 500), (3, 1), (4, 2000), (5, 100), (6, 100)] {
            let notes = vec!["word ".repeat(words)];
            let letter = WorkerRecording { number, notes, ..WorkerRecording::default() };
            let header = mailbox.place().map(|place| u64::from(place.offset) << 32 | u64::from(place.length));
            mailbox.put(&letter).unwrap();
            if let Some(header) = header {
                // As if the writer had died before it wrote the header.
                mailbox.file.write_all_at(&header.to_le_bytes(), 0).unwrap();
                assert_eq!(mailbox.take(), last, "letter {number} was written over the one before");
                mailbox.put(&letter).unwrap();
            }
            assert_eq!(mailbox.take().as_ref(), Some(&letter));
            last = Some(letter);
        }
        let length = mailbox.file.metadata().unwrap().len();
        assert!(length < 50_000, "places are used again: {length}");
    }
}
