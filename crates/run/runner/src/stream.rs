//! The main thread's side of the partial recording. It writes the beginning and the workers that
//! have ended. At the end of the run, it reads the intervals back into the recording. Workers
//! append their intervals themselves.
//!
//! An error of the file never ends a run: it becomes a warning in the recording.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};

use iolab_recording::partial::{self, Partial};
use iolab_recording::{Event, IntervalLatencies, Recording, Redaction, WorkerOutcome, WorkerRecording};

/// The partial recording of a run, if one is kept.
#[derive(Debug)]
pub(crate) struct Stream {
    file: Option<Arc<File>>,
    redaction: Redaction,
    trouble: Mutex<Option<String>>,
}

impl Stream {
    /// Writes the beginning. If that fails, the file is not used.
    pub(crate) fn begin(file: Option<File>, redaction: &Redaction, empty: &Recording) -> Stream {
        let redaction = redaction.clone();
        let mut stream = Stream { file: file.map(Arc::new), redaction, trouble: Default::default() };
        let mut kept = empty.clone();
        stream.redaction.recording(&mut kept);
        if !stream.append(&partial::start(&kept)) {
            stream.file = None;
        }
        stream
    }

    /// The file that workers append to.
    pub(crate) fn file(&self) -> Option<&Arc<File>> {
        self.file.as_ref()
    }

    /// Writes what a killed run must not lose. Workers append intervals themselves, and the
    /// beginning is already written.
    pub(crate) fn take(&self, event: &Event<'_>) {
        if self.file.is_none() {
            return;
        }
        match event {
            Event::Begun { unix_ns } => self.append(&partial::begun(*unix_ns)),
            Event::WorkerEnded(recording) => {
                let mut kept = (*recording).clone();
                self.redaction.worker(&mut kept);
                self.append(&partial::worker(&kept))
            }
            Event::Observed(news) => self.append(&partial::observed(news)),
            Event::LaidOut { .. }
            | Event::Planned(_)
            | Event::StateChanged { .. }
            | Event::IntervalEnded { .. }
            | Event::Progress(_)
            | Event::SoFar(_) => true,
        };
    }

    /// A reader of what workers append from now on, if they append anything.
    pub(crate) fn new_intervals(&self) -> Option<NewIntervals<'_>> {
        let file = self.file.as_deref()?;
        Some(NewIntervals { file, at_byte: file.metadata().ok()?.len() })
    }

    fn append(&self, bytes: &[u8]) -> bool {
        let Some(file) = &self.file else { return true };
        let Err(error) = write_once(file, bytes) else { return true };
        if let Ok(mut trouble) = self.trouble.lock() {
            trouble.get_or_insert(format!("the partial recording could not be written: {error}"));
        }
        false
    }

    /// Puts the intervals into the recording. Recordings of crashed workers also get the totals of
    /// their intervals.
    pub(crate) fn fill(&self, recording: &mut Recording) {
        if let Ok(mut trouble) = self.trouble.lock() {
            recording.warnings.extend(trouble.take());
        }
        let Some(file) = &self.file else { return };
        let partial = read_whole(file).map_err(|error| error.to_string());
        let partial = partial.and_then(|bytes| Partial::read(&bytes).map_err(|error| error.to_string()));
        match partial {
            Ok(mut partial) => {
                recording.workers.iter_mut().for_each(|worker| fill_worker(worker, &mut partial));
                if let Some(damage) = partial.damage {
                    lose(recording, &format!("latencies of intervals are missing: {damage}"));
                }
            }
            Err(error) => lose(recording, &format!("latencies of intervals are missing: {error}")),
        }
    }
}

/// Reads what workers append to the partial recording during the run.
#[derive(Debug)]
pub(crate) struct NewIntervals<'a> {
    file: &'a File,
    at_byte: u64,
}

impl NewIntervals<'_> {
    /// The intervals since the last call. A file that cannot be read has none; the end of the run
    /// reports it.
    pub(crate) fn read(&mut self) -> Vec<(u32, IntervalLatencies)> {
        let end = self.file.metadata().map_or(self.at_byte, |metadata| metadata.len());
        let mut bytes = vec![0; end.saturating_sub(self.at_byte) as usize];
        if bytes.is_empty() || self.file.read_exact_at(&mut bytes, self.at_byte).is_err() {
            return Vec::new();
        }
        let (intervals, taken) = partial::intervals_of(&bytes);
        self.at_byte += taken as u64;
        intervals
    }
}

/// Records the loss of intervals whose worker is unknown: all workers write to one file.
fn lose(recording: &mut Recording, what: &str) {
    if let Some(first) = recording.workers.first_mut() {
        first.note_lost(what);
    }
}

fn fill_worker(worker: &mut WorkerRecording, partial: &mut Partial) {
    let intervals = partial.take_intervals(worker.number);
    let left_nothing = worker.runtime_ns == 0 && matches!(worker.outcome, WorkerOutcome::Crashed { .. });
    if !left_nothing || intervals.is_empty() {
        worker.interval_latencies = intervals;
        return;
    }
    let rebuilt = partial::worker_from(worker.number, intervals);
    let note = "its results cover the intervals that were complete when it died".to_owned();
    *worker = WorkerRecording { pid: worker.pid, outcome: worker.outcome.clone(), notes: vec![note], ..rebuilt };
}

fn write_once(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    loop {
        match file.write(bytes) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(_) => return Err(ErrorKind::StorageFull.into()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn read_whole(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; file.metadata()?.len() as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}
