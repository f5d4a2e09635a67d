//! Counts trims and errors of each block, for jobs that ask for it (`block_error_percentiles`).

use iolab_plan::{Direction, FilePlan};
use iolab_recording::{BlockErrors, WorkerRecording};

use crate::Sample;

/// The two highest bits of a block's word say how it ended; the others count its trims.
const WRITE_FAILED: u32 = 1 << 31;
const TRIM_FAILED: u32 = 1 << 30;
const TRIMS: u32 = TRIM_FAILED - 1;

/// A word for each block of each file, in the order of the plan.
#[derive(Debug)]
pub(crate) struct BlockCounters {
    files: Box<[FileBlocks]>,
    block_bytes: u64,
}

#[derive(Debug)]
struct FileBlocks {
    start_bytes: u64,
    words: Box<[u32]>,
}

impl BlockCounters {
    pub(crate) fn new(files: &[FilePlan], block_bytes: u64) -> BlockCounters {
        let of = |file: &FilePlan| FileBlocks {
            start_bytes: file.start_bytes,
            words: vec![0; file.length_bytes.div_ceil(block_bytes) as usize].into(),
        };
        BlockCounters { files: files.iter().map(of).collect(), block_bytes }
    }

    /// The blocks of a range.
    fn blocks(&mut self, file: u32, offset: u64, bytes: u64) -> &mut [u32] {
        let Some(file) = self.files.get_mut(file as usize) else { return &mut [] };
        let from = offset.saturating_sub(file.start_bytes) / self.block_bytes;
        let until = (offset + bytes).saturating_sub(file.start_bytes).div_ceil(self.block_bytes);
        let until = (until as usize).min(file.words.len());
        &mut file.words[(from as usize).min(until)..until]
    }

    /// A trim of intact blocks is counted.
    #[inline]
    pub(crate) fn completed(&mut self, sample: &Sample) {
        if sample.direction == Direction::Trim {
            for word in self.blocks(sample.file, sample.offset, sample.bytes.into()) {
                *word += u32::from(*word < TRIMS);
            }
        }
    }

    /// The first error of a block is its end.
    pub(crate) fn failed(&mut self, direction: Direction, file: u32, offset: u64, bytes: u64) {
        let end = match direction {
            Direction::Read => return,
            Direction::Write => WRITE_FAILED,
            Direction::Trim => TRIM_FAILED,
        };
        for word in self.blocks(file, offset, bytes) {
            if *word <= TRIMS {
                *word |= end;
            }
        }
    }

    pub(crate) fn write_to(&self, recording: &mut WorkerRecording) {
        let mut found = BlockErrors { block_bytes: self.block_bytes, ..BlockErrors::default() };
        for word in self.files.iter().flat_map(|file| &file.words).filter(|word| **word != 0) {
            let end = match word & !TRIMS {
                WRITE_FAILED => &mut found.write_failed,
                TRIM_FAILED => &mut found.trim_failed,
                _ => &mut found.intact,
            };
            end.add(word & TRIMS, 1);
        }
        recording.block_errors = Some(found);
    }
}
