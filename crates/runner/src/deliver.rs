//! How a worker's recording reaches the main thread: through a memory file that both hold, whether the worker is
//! a thread or a process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use iolab_recording::WorkerRecording;

const HEADER_BYTES: u64 = 8;

/// One worker's letter box.
#[derive(Debug)]
pub(crate) struct LetterBox {
    file: File,
}

impl LetterBox {
    pub(crate) fn new(worker: usize) -> io::Result<LetterBox> {
        let fd = rustix::fs::memfd_create(format!("iolab-worker-{worker}"), rustix::fs::MemfdFlags::CLOEXEC)?;
        Ok(LetterBox { file: File::from(fd) })
    }

    /// Puts a recording in, replacing the last one.
    pub(crate) fn put(&self, recording: &WorkerRecording) -> io::Result<()> {
        let text = serde_json::to_vec(recording)?;
        self.file.write_all_at(&text, HEADER_BYTES)?;
        self.file.write_all_at(&(text.len() as u64).to_le_bytes(), 0)
    }

    /// The last recording put in, if any was.
    pub(crate) fn take(&self) -> Option<WorkerRecording> {
        let mut header = [0; HEADER_BYTES as usize];
        self.file.read_exact_at(&mut header, 0).ok()?;
        let mut text = vec![0; u64::from_le_bytes(header) as usize];
        self.file.read_exact_at(&mut text, HEADER_BYTES).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_letter_counts() {
        let letters = LetterBox::new(0).unwrap();
        assert_eq!(letters.take(), None);
        let long = WorkerRecording { notes: vec!["x".repeat(1000)], ..WorkerRecording::default() };
        letters.put(&long).unwrap();
        assert_eq!(letters.take(), Some(long));
        let short = WorkerRecording { number: 3, ..WorkerRecording::default() };
        letters.put(&short).unwrap();
        assert_eq!(letters.take(), Some(short));
    }
}
