//! Which interval, and what it must hold.

/// Where an interval is, and what of it belongs to one write only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Number of the file in its worker.
    pub file: u32,
    /// Where it begins, bytes.
    pub offset: u64,
}

/// What an interval must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedContent {
    /// Whatever somebody wrote there with the same options.
    Valid,
    /// What this run wrote there, of this generation.
    Generation(u32),
    /// The same, by an earlier run of the same job.
    EarlierRun(u32),
    /// Zeroes.
    Zeroes,
}
