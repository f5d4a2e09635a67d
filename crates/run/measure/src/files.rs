//! Counters for each file of a worker, for jobs that ask for them (`per_file_stats`).
//!
//! Jobs that do not ask pay nothing: their recorders are other types, or hold no counters.

use iolab_histogram::Histogram;
use iolab_recording::{FileRecording, WorkerRecording};

use crate::recorder::{FullRecorder, Recorder, Run, Sample};
use crate::{LatencyExceeded, WorkerCounters};

/// Counters of every file, in the order of the plan.
#[derive(Debug)]
pub(crate) struct FileCounters {
    files: Box<[FileCounter]>,
}

/// One file, by direction. The histograms count the operations.
#[derive(Debug, Clone, Default)]
struct FileCounter {
    bytes: [u64; 3],
    clat: [Histogram; 3],
}

impl FileCounters {
    pub(crate) fn new(files: usize) -> FileCounters {
        FileCounters { files: vec![FileCounter::default(); files].into() }
    }

    #[inline(always)]
    pub(crate) fn count(&mut self, sample: &Sample) {
        let index = sample.direction.index();
        let Some(file) = self.files.get_mut(sample.file as usize) else { return };
        file.bytes[index] += u64::from(sample.bytes);
        file.clat[index].add(sample.reaped_ns.saturating_sub(sample.submitted_ns));
    }

    pub(crate) fn clear(&mut self) {
        for file in &mut self.files {
            file.bytes = [0; 3];
            file.clat.iter_mut().for_each(Histogram::clear);
        }
    }

    pub(crate) fn write_to(&self, recording: &mut WorkerRecording) {
        let of = |file: &FileCounter| FileRecording {
            bytes: file.bytes,
            clat: std::array::from_fn(|index| file.clat[index].to_sparse()),
        };
        recording.files = self.files.iter().map(of).collect();
    }
}

/// All three latencies of every operation, and counters of each file.
#[derive(Debug)]
pub struct PerFileRecorder {
    whole: FullRecorder,
    files: FileCounters,
}

impl PerFileRecorder {
    /// A recorder around these counters, for this number of files; `slat` as in [`FullRecorder`].
    pub fn new(tally: WorkerCounters, slat: bool, files: usize) -> PerFileRecorder {
        PerFileRecorder { whole: FullRecorder::new(tally, slat), files: FileCounters::new(files) }
    }
}

impl Recorder for PerFileRecorder {
    const STAMPS: bool = true;
    const EACH: bool = true;

    fn tally(&mut self) -> &mut WorkerCounters {
        self.whole.tally()
    }

    #[inline(always)]
    fn completed(&mut self, sample: &Sample) {
        self.whole.completed(sample);
        self.files.count(sample);
    }

    fn completed_run(&mut self, run: &Run) {
        // The loop reports each operation to this recorder (EACH), which needs its file.
        self.whole.completed_run(run);
    }

    fn start_measuring(&mut self, now_ns: u64) {
        self.whole.start_measuring(now_ns);
        self.files.clear();
    }

    fn tick(&mut self, now_ns: u64) {
        self.whole.tick(now_ns);
    }

    fn next_tick_ns(&self) -> u64 {
        self.whole.next_tick_ns()
    }

    fn exceeded(&self) -> Option<LatencyExceeded> {
        self.whole.exceeded()
    }

    fn finish(&mut self, now_ns: u64) {
        self.whole.finish(now_ns);
    }

    fn write_to(&self, runtime_ns: u64, recording: &mut WorkerRecording) {
        self.whole.write_to(runtime_ns, recording);
        self.files.write_to(recording);
    }
}
