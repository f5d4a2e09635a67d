//! Counters of a model, in the terms of a drive's own counters.
//!
//! Guarantees: counters only grow; levels (free lines, buffer) are current values.

/// Counters and levels of a model. Models without flash leave the flash part at zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Bytes that the host has read.
    pub host_read_bytes: u64,
    /// Bytes that the host has written, as accepted.
    pub host_written_bytes: u64,
    /// Bytes of whole pages that the host has deallocated and that were mapped.
    pub trimmed_bytes: u64,
    /// Bytes of flash pages used for host data (a partly written page counts as a whole).
    pub flash_host_bytes: u64,
    /// Bytes of flash pages used for data that collection has moved.
    pub flash_moved_bytes: u64,
    /// Bytes of flash pages left empty because a flush had to program an unfinished word line.
    pub flash_filler_bytes: u64,
    /// Lines that collection has emptied.
    pub collected_lines: u64,
    /// How many of these were emptied while the device was idle.
    pub collected_idle_lines: u64,
    /// Blocks erased.
    pub erased_blocks: u64,
    /// The largest erase count of a line.
    pub most_erases: u64,
    /// Free lines.
    pub free_lines: u64,
    /// All lines.
    pub lines: u64,
    /// Bytes of the write buffer in use.
    pub buffer_used_bytes: u64,
    /// Size of the write buffer.
    pub buffer_bytes: u64,
    /// How many times a command found no room in the buffer.
    pub refused: u64,
}

impl Statistics {
    /// Bytes of flash pages taken for any reason.
    pub fn flash_written_bytes(&self) -> u64 {
        self.flash_host_bytes + self.flash_moved_bytes + self.flash_filler_bytes
    }

    /// Write amplification: bytes written to flash per byte written by the host. `None` before the
    /// first write.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.host_written_bytes > 0).then(|| self.flash_written_bytes() as f64 / self.host_written_bytes as f64)
    }

    /// The counters since `earlier`; levels are current values.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host_read_bytes: self.host_read_bytes - earlier.host_read_bytes,
            host_written_bytes: self.host_written_bytes - earlier.host_written_bytes,
            trimmed_bytes: self.trimmed_bytes - earlier.trimmed_bytes,
            flash_host_bytes: self.flash_host_bytes - earlier.flash_host_bytes,
            flash_moved_bytes: self.flash_moved_bytes - earlier.flash_moved_bytes,
            flash_filler_bytes: self.flash_filler_bytes - earlier.flash_filler_bytes,
            collected_lines: self.collected_lines - earlier.collected_lines,
            collected_idle_lines: self.collected_idle_lines - earlier.collected_idle_lines,
            erased_blocks: self.erased_blocks - earlier.erased_blocks,
            refused: self.refused - earlier.refused,
            ..*self
        }
    }
}
