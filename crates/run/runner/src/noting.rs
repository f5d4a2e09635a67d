//! Notes every operation that a worker hands over, for an iolog.
//!
//! This is a checker of the loop, so that a job that notes nothing pays nothing. Each operation
//! costs the loop a record in a buffer. A full buffer goes to a thread of the worker, which writes
//! it to a temporary file. The loop never waits for that thread. The number of buffers is fixed;
//! when all of them wait to be written, operations are counted as lost, and the job fails.

use std::fs::File;
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use iolab_engine::{Op, OpKind};
use iolab_recording::{NotedAction, NotedOperation};

use crate::hot_loop::checker::Checker;
use crate::open_files;
use crate::task::Task;
use crate::trouble::Fatal;

/// Buffers of one worker.
const BUFFERS: usize = 64;
/// Records in a buffer.
const RECORDS: usize = 4096;

type Buffer = Vec<u8>;

/// The notes of one worker.
#[derive(Debug)]
pub(crate) struct Notes {
    origin_ns: u64,
    /// The buffer being filled; it has no capacity while no buffer is free.
    buffer: Buffer,
    full: Option<SyncSender<Buffer>>,
    empty: Receiver<Buffer>,
    writer: Option<JoinHandle<std::io::Result<()>>>,
    lost: u64,
}

impl Notes {
    /// The notes of a worker, if its operations are to be noted.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn of(task: &Task<'_>) -> Result<Option<Notes>, Fatal> {
        let Some(file) = &task.spools.operations else { return Ok(None) };
        let notes = file.try_clone().and_then(Notes::begin);
        notes.map(Some).map_err(|error| open_files::fatal("write_iolog", &error))
    }

    /// Starts the thread that writes to `file`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn begin(mut file: File) -> std::io::Result<Notes> {
        let (full, filled) = sync_channel::<Buffer>(BUFFERS);
        let (emptied, empty) = sync_channel::<Buffer>(BUFFERS);
        for _ in 1..BUFFERS {
            // The channel has room for all of them.
            let _ = emptied.try_send(Vec::with_capacity(RECORDS * NotedOperation::BYTES));
        }
        let write = move || {
            let mut written = Ok(());
            for mut buffer in filled {
                if written.is_ok() {
                    written = file.write_all(&buffer);
                }
                buffer.clear();
                let _ = emptied.try_send(buffer);
            }
            written
        };
        let writer = std::thread::Builder::new().name("iolog".to_owned()).spawn(write)?;
        let buffer = Vec::with_capacity(RECORDS * NotedOperation::BYTES);
        Ok(Notes { origin_ns: 0, buffer, full: Some(full), empty, writer: Some(writer), lost: 0 })
    }

    /// Sets the origin of the noted times.
    pub(crate) fn count_from(mut self, origin_ns: u64) -> Notes {
        self.origin_ns = origin_ns;
        self
    }

    /// Writes the remaining notes. Returns a sentence about what the notes lack, if anything.
    pub(crate) fn end(&mut self) -> Option<String> {
        if !self.buffer.is_empty()
            && let Some(full) = &self.full
        {
            // The job has ended, so waiting affects no operation.
            let _ = full.send(std::mem::take(&mut self.buffer));
        }
        self.full = None;
        let written = self.writer.take().map_or(Ok(Ok(())), JoinHandle::join);
        match written {
            Ok(Err(error)) => Some(format!(
                "write_iolog: operations are missing in the iolog: {error}: make room in the folder of temporary files (TMPDIR)"
            )),
            Err(_) => Some("write_iolog: operations are missing in the iolog: its thread has died".to_owned()),
            Ok(Ok(())) if self.lost > 0 => Some(format!(
                "write_iolog: the iolog lacks {}, because temporary files were written too slowly: put them on a faster \
                 device (TMPDIR), or lower the rate",
                iolab_text::counted(self.lost, "operation")
            )),
            Ok(Ok(())) => None,
        }
    }

    /// The next buffer, if one has been written.
    #[cold]
    fn next_buffer(&mut self) -> bool {
        match self.empty.try_recv() {
            Ok(buffer) => {
                let full = std::mem::replace(&mut self.buffer, buffer);
                if full.capacity() > 0
                    && let Some(sender) = &self.full
                {
                    // The channel has room for all buffers.
                    let _ = sender.try_send(full);
                }
                true
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                self.lost += 1;
                false
            }
        }
    }
}

impl Checker for Notes {
    const CHECKS: bool = true;
    const FILLS: bool = false;

    fn check(&mut self, _read: &Op, _bytes: &[u8]) -> Result<(), i32> {
        Ok(())
    }

    fn lost(&mut self) -> Option<String> {
        self.end()
    }

    #[inline]
    fn accepted(&mut self, op: &Op, begun_ns: u64) {
        let action = match op.kind {
            OpKind::Read => NotedAction::Read,
            OpKind::Write => NotedAction::Write,
            OpKind::Trim => NotedAction::Trim,
            OpKind::Sync => NotedAction::Sync,
            OpKind::DataSync => NotedAction::DataSync,
            // fio's iolog has no word for this that can be read back.
            OpKind::SyncFileRange => return,
        };
        let (begun_ns, moves) = (begun_ns.saturating_sub(self.origin_ns), !op.kind.is_sync());
        let (offset, length) = if moves { (op.offset, op.length) } else { (0, 0) };
        if self.buffer.len() + NotedOperation::BYTES > self.buffer.capacity() && !self.next_buffer() {
            return;
        }
        let noted = NotedOperation { begun_ns, offset, length, file: op.file, action };
        self.buffer.extend_from_slice(&noted.encode());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    fn op(number: u64) -> Op {
        let kind = if number.is_multiple_of(3) { OpKind::Sync } else { OpKind::Write };
        Op { offset: number * 512, length: 512, buffer_offset: 0, file: 2, slot: 0, kind, priority: 0 }
    }

    #[test]
    fn everything_is_noted_in_order_beyond_one_buffer() {
        let memory = rustix::fs::memfd_create("notes", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = File::from(memory);
        let mut notes = Notes::begin(file.try_clone().unwrap()).unwrap().count_from(100);
        let count = RECORDS as u64 * 3 + 5;
        for number in 0..count {
            notes.accepted(&op(number), 100 + number);
        }
        assert_eq!(notes.end(), None);
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        let (records, rest) = bytes.as_chunks::<{ NotedOperation::BYTES }>();
        assert!(rest.is_empty());
        assert_eq!(records.len() as u64, count);
        for (number, record) in (0..).zip(records) {
            let noted = NotedOperation::decode(record).unwrap();
            let is_sync = number % 3 == 0;
            let action = if is_sync { NotedAction::Sync } else { NotedAction::Write };
            let (offset, length) = if is_sync { (0, 0) } else { (number * 512, 512) };
            assert_eq!(noted, NotedOperation { begun_ns: number, offset, length, file: 2, action });
        }
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        let mut notes = Notes::begin(full).unwrap();
        notes.accepted(&op(1), 0);
        let said = notes.end().unwrap();
        assert!(said.contains("No space left") && said.contains("TMPDIR"), "{said}");
    }

    #[test]
    fn the_loop_does_not_wait_for_the_thread_that_writes() {
        // This pipe is never read, so the thread blocks on its first buffers.
        let (_reader, writer) = std::io::pipe().unwrap();
        let mut notes = Notes::begin(File::from(std::os::fd::OwnedFd::from(writer))).unwrap();
        for number in 0..(RECORDS * (BUFFERS + 1)) as u64 {
            notes.accepted(&op(number), 0);
        }
        assert!(notes.lost > 0 && notes.lost <= RECORDS as u64 * 2, "{}", notes.lost);
        drop(_reader);
        assert!(notes.end().is_some());
    }
}
